// Numbers in sentences.

/** @example count(1, 'entry', 'entries') // '1 entry' */
export const count = (number: number, one: string, more = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : more}`;

/** Control characters of terminals, and characters that change the order of a line. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** One line of a terminal: characters that would do something there are shown as their codes. */
export const printable = (text: string): string =>
  `${text.replace(UNPRINTABLE, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
