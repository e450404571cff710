// Tells a code page by the letters that the bytes would be in each.
import { analyse } from 'chardet';
import { knownEncoding, type TextEncoding } from './text-encoding.ts';

/** Supersets that browsers take for these names, or a page with more letters at the same places. */
const SUPERSETS: Readonly<Record<string, string>> = {
  'iso-8859-8': 'windows-1255',
};
const WESTERN = 'äöüßéèêëàâáãåæçîïíìñôóòõøœûùúÿÄÖÜÉÈÊÀÂÁÅÆÇÎÍÑÔÓØŒÚ';
/** The code pages of Latin letters, with those that their languages have; of equals the first one is meant. */
const LATIN: readonly (readonly [encoding: string, letters: ReadonlySet<string>])[] = [
  ['windows-1252', new Set(WESTERN)],
  ['windows-1254', new Set('çğıöşüâîûÇĞİÖŞÜÂÎÛ')],
  ['windows-1250', new Set('ąćčďđęěëéíĺľłńňóôőöřŕśšşťţúůűüýźžżäáăâîçßĄĆČĎĘĚÉÍĹĽŁŃŇÓÔŐÖŘŚŠŞŤŢÚŮŰÜÝŹŽŻÄÁĂÂÎ')],
  ['iso-8859-2', new Set('ąćčďđęěëéíĺľłńňóôőöřŕśšşťţúůűüýźžżäáăâîçßĄĆČĎĘĚÉÍĹĽŁŃŇÓÔŐÖŘŚŠŞŤŢÚŮŰÜÝŹŽŻÄÁĂÂÎ')],
  ['windows-1257', new Set('ąčęėįšųūžāēģīķļņõäöüĄČĘĖĮŠŲŪŽĀĒĢĪĶĻŅÕÄÖÜ')],
];
/** Signs that every language has, at the same places in the code pages of Windows. */
const SIGNS = new Set('\u00a0«»°§€–—…“”„‘’‚•™®©');
/** What a detector calls texts of Latin letters. */
const IS_LATIN = /^(?:iso-8859-[1-49]|windows-125[0247]|iso-8859-1[0-6])$/;
/** Letters of Mac OS Roman behind a letter, where windows-1252 has capitals, signs or nothing, at least one of them. */
const MAC_LETTER = /[a-z][\x95\x99\x9a\x9c]*[\x87\x88\x8a\x8d-\x90\x9f\xa7][\x80-\x9f\xa7]*(?=[a-z\s,;.])/i;
const WINDOWS_LETTER = /[a-z][\xc0-\xff]|[\xc0-\xff][a-z]/i;
/** A euro of ISO 8859-15, where ISO 8859-1 has a sign that nobody uses. */
const EURO = /(?:\d\s?|[\s;,"])\xa4(?:[\s;,"]|\d|$)/;
/** Lines without other characters tell nothing, and hide those that have some. */
function linesBeyondAscii(head: Buffer): Buffer {
  const lines = head
    .toString('latin1')
    .split('\n')
    .filter((line) => BEYOND_ASCII.test(line));
  return Buffer.from(lines.join('\n'), 'latin1');
}
const BEYOND_ASCII = /[\x80-\xff]/;

/** The code page whose letters the bytes are most likely. */
export function codePageOf(text: Buffer): TextEncoding {
  const head = linesBeyondAscii(text);
  const bytes = head.toString('latin1');
  const names = analyse(head).map(({ name }) => name.toLowerCase());
  const name = names.find((one) => !/^(?:utf|ascii|iso-2022)/.test(one)) ?? 'windows-1252';
  if (!IS_LATIN.test(name)) {
    // Windows has letters where the standard has control characters.
    if (name === 'iso-8859-7' && /[\x80-\x9f\xa2]/.test(bytes)) return 'windows-1253';
    return knownEncoding(SUPERSETS[name] ?? name) ?? 'windows-1252';
  }
  if (MAC_LETTER.test(bytes) && !WINDOWS_LETTER.test(bytes)) return 'macintosh';
  let best = { encoding: 'windows-1252', score: Number.NEGATIVE_INFINITY };
  for (const [encoding, letters] of LATIN) {
    const score = likeness(new TextDecoder(encoding).decode(head), letters);
    if (score > best.score) best = { encoding, score };
  }
  return best.encoding === 'windows-1252' && EURO.test(bytes) ? 'iso-8859-15' : best.encoding;
}

/** How many characters beyond ASCII are letters of a language, less those that are not even signs. */
function likeness(text: string, letters: ReadonlySet<string>): number {
  let score = 0;
  for (const char of text) if (char > '\u007f' && !SIGNS.has(char)) score += letters.has(char) ? 1 : -1;
  return score;
}
