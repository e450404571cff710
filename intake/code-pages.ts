// Tells a code page by the letters that the bytes would be in each: the likeliest text wins. Decision 174 says why.
import { IDEOGRAPHIC, SCRIPTS } from './letters.ts';
import type { TextEncoding } from './text-encoding.ts';

/** As many bytes of lines beyond ASCII tell the code page. */
const JUDGED_BYTES = 4_096;
const BEYOND_ASCII = /[\x80-\xff]/;
/** A euro of ISO 8859-15, where ISO 8859-1 has a sign that nobody uses. */
const EURO = /(?:\d\s?|[\s;,"])\xa4(?:[\s;,"]|\d|$)/;
/** Signs that every language has. */
const SIGNS = new Set('\u00a0«»°§€–—…“”„‘’‚•™®©№¿¡ºª・、。「」：（），！？《》');

const BEFORE_WORDS = new Set('¡¿„“«');
const BEHIND_WORDS = new Set('”°™©®ªº');

// What a character costs in bits, about as much as the logarithm of its rarity.
const MOST_FREQUENT = 2.5;
const LEAST_FREQUENT = 8.5;
const CAPITAL = 2;
const CAPITAL_IN_WORD = 5;
const SIGN = 5;
const SYLLABLE = 7;
const FREQUENT_IDEOGRAM = 8;
const IDEOGRAM = 12;
const FOREIGN = 11;
const NO_TEXT = 16;
/** For each code page that is more usual for the same languages. */
const RARER = 2;
/** A letter of another script, or a sign, beside a letter. */
const MISPLACED = 10;

/** The code page whose letters the bytes are most likely. */
export function codePageOf(text: Buffer): TextEncoding {
  const head = linesBeyondAscii(text);
  let best = { encoding: 'windows-1252', cost: Number.POSITIVE_INFINITY };
  const consider = (encoding: string, cost: number) => {
    if (cost < best.cost) best = { encoding, cost };
  };
  for (const { encodings, languages } of LETTERS) {
    for (const [rarity, encoding] of encodings.entries()) {
      const decoded = new TextDecoder(encoding).decode(head);
      for (const costs of languages) consider(encoding, costOfLetters(decoded, costs) + rarity * RARER);
    }
  }
  for (const page of IDEOGRAPHIC)
    consider(page.encoding, costOfIdeograms(new TextDecoder(page.encoding).decode(head), page));
  return best.encoding === 'windows-1252' && EURO.test(head.toString('latin1')) ? 'iso-8859-15' : best.encoding;
}

/** Lines without other characters tell nothing, and hide those that have some. */
function linesBeyondAscii(text: Buffer): Buffer {
  const lines: string[] = [];
  let bytes = 0;
  for (const line of text.toString('latin1').split('\n')) {
    if (!BEYOND_ASCII.test(line)) continue;
    lines.push(line);
    bytes += line.length;
    if (bytes > JUDGED_BYTES) break;
  }
  // A character that the limit cuts would be no text.
  return Buffer.from(lines.join('\n').slice(0, 4 * JUDGED_BYTES), 'latin1');
}

/** What each letter costs in each language, and whether it is Latin. */
const LETTERS = SCRIPTS.map(({ encodings, languages }) => ({
  encodings,
  languages: languages.map((letters) => {
    const costs = new Map<string, number>();
    const all = [...letters];
    for (const [rank, letter] of all.entries()) {
      const cost = MOST_FREQUENT + ((LEAST_FREQUENT - MOST_FREQUENT) * rank) / all.length;
      costs.set(letter, cost);
      const capital = letter.toUpperCase();
      if (capital !== letter && capital.length === 1 && !costs.has(capital)) costs.set(capital, cost + CAPITAL);
    }
    return costs;
  }),
}));

function costOfLetters(text: string, costs: ReadonlyMap<string, number>): number {
  let total = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char <= '\u007f') continue;
    const before = text[at - 1] ?? ' ';
    const cost = costs.get(char);
    if (cost === undefined) {
      total += SIGNS.has(char) ? SIGN : /\p{L}/u.test(char) ? FOREIGN : NO_TEXT;
      if (SIGNS.has(char) && isMisplaced(char, before, text[at + 1] ?? ' ')) total += MISPLACED;
      continue;
    }
    total += cost;
    if (isMisplacedInWord(char, before, costs)) total += MISPLACED;
    if (isCapital(char) && isSmall(before)) total += CAPITAL_IN_WORD;
    // Scripts are not mixed in a word.
    if (char > '\u036f' && (isAsciiLetter(before) || isAsciiLetter(text[at + 1] ?? ' '))) total += MISPLACED;
  }
  return total;
}

/** Whether a letter or a mark of Vietnamese stands where that language has none: a mark behind no vowel, a đ that begins no syllable. */
const isMisplacedInWord = (char: string, before: string, costs: ReadonlyMap<string, number>): boolean =>
  (char >= '\u0300' && char <= '\u036f' && !/[aeiouyăâêôơư]/i.test(before)) ||
  (char === 'đ' && isLetter(before) && costs.has('\u0323'));

function isMisplaced(sign: string, before: string, after: string): boolean {
  if (BEFORE_WORDS.has(sign)) return isLetter(before);
  return isLetter(after) && (isLetter(before) || BEHIND_WORDS.has(sign));
}

const isLetter = (char: string): boolean => /\p{L}/u.test(char);
const isAsciiLetter = (char: string): boolean => /[a-z]/i.test(char);
const isCapital = (char: string): boolean => /\p{Lu}/u.test(char);
const isSmall = (char: string): boolean => /\p{Ll}/u.test(char);

function costOfIdeograms(text: string, { frequent, first_level, syllables }: (typeof IDEOGRAPHIC)[number]): number {
  let total = 0;
  for (const char of text) {
    if (char <= '\u007f') continue;
    if (syllables?.test(char)) total += SYLLABLE;
    else if (frequent.includes(char)) total += FREQUENT_IDEOGRAM;
    else if (first_level.test(char)) total += IDEOGRAM;
    else total += SIGNS.has(char) ? SIGN : NO_TEXT;
  }
  return total;
}
