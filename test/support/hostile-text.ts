// Text as an enemy writes it: pieces of the syntax that a parser looks for, among characters that change their length when
// their case changes, halves of characters and long repeats, cut anywhere.
import vm from 'node:vm';
import fc from 'fast-check';

/** Each is longer or shorter in the other case, or is an ASCII letter there, or is half a character. */
const LENGTH_CHANGING = [
  'İ',
  'ı',
  'ſ',
  'K',
  'ß',
  'ẞ',
  'ŉ',
  'ǰ',
  'ΐ',
  'ﬀ',
  'ﬃ',
  'և',
  'ᾳ',
  'Ⱥ',
  '\ud800',
  '\udc00',
  'e\u0301',
  '👩‍👩‍👧',
];
const SPACES = ['\0', '\t', '\n', '\r', '\f', '\u00a0', '\u2028', '\ufeff', ' '];

/** `pieces`: what the parser looks for. */
export function hostileText(pieces: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...pieces) },
    // The one that is longer in lower case is what most likely misleads a parser.
    { weight: 2, arbitrary: fc.constant('İ') },
    { weight: 2, arbitrary: fc.constantFrom(...LENGTH_CHANGING, ...SPACES) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }) },
  );
  const times = fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 300 }));
  const repeated = fc.tuple(piece, times).map(([text, n]) => text.repeat(n));
  return fc
    .tuple(fc.array(repeated, { maxLength: 30 }), fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean())
    .map(([parts, cut, is_cut]) => {
      const text = parts.join('');
      return is_cut ? text.slice(0, Math.floor(cut * text.length)) : text;
    });
}

const context = vm.createContext({ work: null });
const script = new vm.Script('work()');
/** Far more than any of it takes on a machine that is busy with other things: only what never ends takes longer. */
const NEVER_ENDS_MS = 120_000;

/** Runs what must end; throws when it does not, where a test could only hang. */
export function bounded<T>(work: () => T): T {
  context.work = work;
  return script.runInContext(context, { timeout: NEVER_ENDS_MS }) as T;
}
