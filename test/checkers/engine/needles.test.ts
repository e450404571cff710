// No text that an expression matches is passed over.
import test from 'ava';
import fc from 'fast-check';
import { mayMatchAny, needlesOf } from '../../../checkers/engine/needles.ts';

/** A part of an expression, and a text that it matches. */
type Part = [source: string, text: string];

const letters = fc.string({ unit: fc.constantFrom(...'aBcXyZ 09_-<>="'), minLength: 1, maxLength: 9 });
const parts: fc.Arbitrary<Part> = fc.oneof(
  letters.map((text): Part => [text, text]),
  fc.constantFrom<Part>(
    ['\\.', '.'],
    ['\\?', '?'],
    ['\\/', '/'],
    ['.', 'q'],
    ['\\d', '7'],
    ['\\w+', 'word'],
    ['\\s*', ''],
  ),
  fc.constantFrom<Part>(
    ['q?', ''],
    ['q*', 'qq'],
    ['q*?', 'q'],
    ['q+?', 'qq'],
    ['[^<]{1,5}', 'xyz'],
    ['[- ]', '-'],
    ['\\bq', 'q'],
    ['(?:un|in)?', 'in'],
  ),
  letters.map((text): Part => [`(?:other|${text})`, text]),
  letters.map((text): Part => [`(?!never)${text}{1,2}`, text]),
);
const alternatives = fc
  .tuple(fc.array(parts, { maxLength: 4 }), fc.array(parts, { maxLength: 4 }))
  .map(([before, after]) => [...before, ['needle', 'needle'] as Part, ...after])
  .map((all): Part => [all.map(([source]) => source).join(''), all.map(([, text]) => text).join('')]);

test('a text that an alternative matches may match, wherever it stands and whatever its case', (t) => {
  const around = fc.string({ unit: 'grapheme', maxLength: 20 });
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.array(alternatives, { minLength: 1, maxLength: 3 }), around, around, (all, before, after) => {
        const expression = new RegExp(all.map(([source]) => source).join('|'), 'i');
        const mayMatch = mayMatchAny([expression]);
        return all.every(([, text]) => {
          // A part may take more of the text than meant, so that another does not match.
          if (!expression.test(text)) return true;
          return mayMatch(before + text + after) && mayMatch(text.toUpperCase()) && mayMatch(text.toLowerCase());
        });
      }),
      { numRuns: 2000 },
    ),
  );
});

test('a text without a needle cannot match, and a needle is not looked for in parts', (t) => {
  const mayMatch = mayMatchAny([/error code: \d|<title>(?:Just|Wait)/i]);
  t.true(mayMatch('ERROR CODE: 7'));
  t.true(mayMatch('<html><title>Just a moment'));
  t.false(mayMatch('an error, and its code'));
  t.false(mayMatch('<titl e>'));
  t.false(mayMatch(''));
});

test('an expression whose alternatives have no needle is refused', (t) => {
  t.throws(() => needlesOf(/needle|KPSDK/), { message: /KPSDK/ });
  t.throws(() => needlesOf(/need.le/));
  t.throws(() => needlesOf(/needl\x65s/));
});
