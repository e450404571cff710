// The form in which the administrators' search compares texts.
import test from 'ava';
import fc from 'fast-check';
import { foldText, searchLine } from '../../../readmodels/users/user-list.ts';

test('a search finds a name in any case, with and without accents', (t) => {
  for (const [name, search] of [
    ['İstanbul Ünal', 'istanbul unal'],
    ['Zoë', 'ZOE\u0308'],
    ['Οδοσσος', 'ΟΔΟΣ'],
    ['ΟΔΥΣΣΕΑΣ', 'οδυσσεας'],
    ['Strauß', 'STRAUSS'],
    ['ﬁnn  Ａｄａ', 'finn ada'],
  ] as const) {
    t.true(searchLine({ _id: 'id', email: null, name }).includes(foldText(search)), `${name} by ${search}`);
  }
});

test('each character folds by itself, so that every part of a text is found', (t) => {
  const text = fc.string({ unit: 'grapheme' });
  const folded = (each: string) => foldText(each).replaceAll(' ', '');
  fc.assert(fc.property(text, text, (a, b) => folded(a + b) === folded(a) + folded(b)));
  t.is(folded('ΣΑΣ'), folded('ΣΑ') + folded('Σ'));
});
