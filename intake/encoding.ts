// Tells the encoding of a text from its bytes: by its marks, by UTF-8's own structure, by what HTML or XML declares, else by the letters
// that the bytes would be in each code page.
import { isAscii, isUtf8 } from 'node:buffer';
import { analyse } from 'chardet';

/** A label of the Encoding Standard in its standard case; each is one that TextDecoder takes. */
export type TextEncoding = string;

/** Supersets that browsers take for these names, or a page with more letters at the same places. */
const SUPERSETS: Readonly<Record<string, string>> = {
  'iso-8859-8': 'windows-1255',
};
const XML_ENCODING = /\sencoding ?= ?["']([\w.:-]{2,40})/;
const META_CHARSET = /charset ?= ?["']? ?([\w.:-]{2,40})/i;
const DECLARED_CHARS = 4096;
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
/** Of the bytes that are no ASCII, at least this share is valid UTF-8 in a file in which few are damaged. */
const MOSTLY = 0.5;

/** The encoding's name as TextDecoder gives it back; null for a name that it does not take. */
export function knownEncoding(label: string): TextEncoding | null {
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch {
    return null;
  }
}

/** Detects the encoding of a text by its beginning; `is_whole`: no more comes behind it. */
export function encodingOf(head: Buffer, is_whole = true): TextEncoding {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const zeros = [0, 0];
  for (let i = 0; i < head.length; i++) if (head[i] === 0) zeros[i & 1]!++;
  // A URL is mostly ASCII: in UTF-16 nearly every other byte of it is zero; in other encodings no byte is.
  const many = head.length / 4;
  if (zeros[1]! > many && zeros[0]! < many / 16) return 'utf-16le';
  if (zeros[0]! > many && zeros[1]! < many / 16) return 'utf-16be';
  const whole = is_whole ? head : upToWholeCharacter(head);
  if (isAscii(whole) || isUtf8(whole) || isMostlyUtf8(head)) return 'utf-8';
  const declared = declaredIn(head.toString('latin1', 0, DECLARED_CHARS));
  const named = declared && knownEncoding(declared);
  // What is no UTF-8 is not, whatever it says of itself; and UTF-16 has zeros.
  if (named && !named.startsWith('utf-')) return named;
  return codePageOf(linesBeyondAscii(head));
}

/** The encoding that XML or HTML names. */
function declaredIn(text: string): string | null {
  const start = text.trimStart();
  if (start.startsWith('<?xml')) return XML_ENCODING.exec(start.slice(0, start.indexOf('>')))?.[1] ?? null;
  const meta = start.search(/<meta/i);
  return meta === -1 ? null : (META_CHARSET.exec(start.slice(meta))?.[1] ?? null);
}

/** Lines without other characters tell nothing, and hide those that have some. */
function linesBeyondAscii(head: Buffer): Buffer {
  const lines = head
    .toString('latin1')
    .split('\n')
    .filter((line) => BEYOND_ASCII.test(line));
  return Buffer.from(lines.join('\n'), 'latin1');
}
const BEYOND_ASCII = /[\x80-\xff]/;

function codePageOf(head: Buffer): TextEncoding {
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

/** Whether all but a few damaged characters are UTF-8. */
function isMostlyUtf8(head: Buffer): boolean {
  let [valid, bad] = [0, 0];
  for (let at = 0; at < head.length; at++) {
    const byte = head[at]!;
    if (byte < 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    if (length > 1 && isUtf8(head.subarray(at, at + length)) && at + length <= head.length) {
      valid++;
      at += length - 1;
    } else if (at + 4 <= head.length) bad++;
  }
  return valid > 0 && valid >= (valid + bad) * MOSTLY;
}

/** `head` may end in the middle of a UTF-8 character. */
function upToWholeCharacter(head: Buffer): Buffer {
  let end = head.length;
  while (end > head.length - 4 && end > 0 && (head[end - 1]! & 0xc0) === 0x80) end--;
  if (end > 0 && head[end - 1]! >= 0xc0) return head.subarray(0, end - 1);
  return head;
}
