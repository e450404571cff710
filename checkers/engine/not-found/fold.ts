// Folds a text and the patterns for it alike, so that people may leave out diacritics or type another form of a letter.

const LETTERS: Readonly<Record<string, string>> = {
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ø: 'o',
  ı: 'i',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  // Arabic letters that Persian, Urdu and others write as their own.
  ي: 'ی',
  ى: 'ی',
  ك: 'ک',
  ة: 'ه',
  '’': "'",
  '‘': "'",
  '`': "'",
  '´': "'",
  ʻ: "'",
  ʼ: "'",
};
const OTHER_LETTERS = /[łđðøıßæœيىكة’‘`´ʻʼ]/g;
export const NOT_ASCII = /[^\0-\x7f]/;
const DIACRITICS = /[\u0300-\u036f\u0640\u064b-\u0655\u0670]/g;
/** Soft hyphens and joiners of zero width. */
const INVISIBLE = /[\xad\u200b-\u200f\u2060\ufeff]/g;
/** Digits of other scripts; each block has its ten in order. */
const DIGITS = /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\uff10-\uff19]/g;
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xff10];

/** The text in lower case, without diacritics, with ASCII digits. It may be shorter or longer than the text. */
export function foldText(text: string): string {
  return foldLetters(text.toLowerCase());
}

/** The same for a pattern, whose escapes keep their case. */
export function foldLetters(text: string): string {
  if (!NOT_ASCII.test(text)) return text.replaceAll('`', "'");
  return text
    .normalize('NFD')
    .replace(DIACRITICS, '')
    .normalize('NFC')
    .replace(INVISIBLE, '')
    .replace(OTHER_LETTERS, (letter) => LETTERS[letter]!)
    .replace(DIGITS, digit);
}

function digit(char: string): string {
  const code = char.charCodeAt(0);
  return String(code - ZEROS.find((zero) => code >= zero && code < zero + 10)!);
}
