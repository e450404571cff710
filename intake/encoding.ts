// Tells the encoding of a text from its bytes: by its marks, by UTF-8's own structure, by what HTML or XML declares, else by the letters
// that the bytes would be in each code page.
import { isAscii, isUtf8 } from 'node:buffer';
import { knownEncoding, type TextEncoding } from './text-encoding.ts';

const XML_ENCODING = /\sencoding ?= ?["']([\w.:-]{2,40})/;
const META_CHARSET = /charset ?= ?["']? ?([\w.:-]{2,40})/i;
const DECLARED_CHARS = 4096;
/** Fewer zeros tell nothing: the shortest name of a host has as many letters. */
const FEWEST_ZEROS = 3;
/** Of the bytes that are no ASCII, at least this share is valid UTF-8 in a file in which few are damaged. */
const MOSTLY = 2 / 3;

/**
 * Detects the encoding of a text by its beginning; `is_whole`: no more comes behind it. The code pages are loaded with the first text that is in one.
 */
export async function encodingOf(head: Buffer, is_whole = true): Promise<TextEncoding> {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const zeros = [0, 0];
  for (let i = 0; i < head.length; i++) if (head[i] === 0) zeros[i & 1]!++;
  // A URL is mostly ASCII: in UTF-16 nearly every other byte of it is zero; in other encodings no byte is.
  const some = Math.max(head.length / 32, FEWEST_ZEROS);
  if (zeros[1]! > some && zeros[0]! < zeros[1]! / 8) return 'utf-16le';
  if (zeros[0]! > some && zeros[1]! < zeros[0]! / 8) return 'utf-16be';
  const whole = is_whole ? head : upToWholeCharacter(head);
  if (isAscii(whole) || isUtf8(whole) || isMostlyUtf8(head)) return 'utf-8';
  const declared = declaredIn(head.toString('latin1', 0, DECLARED_CHARS));
  const named = declared && knownEncoding(declared);
  // What is no UTF-8 is not, whatever it says of itself; and UTF-16 has zeros.
  if (named && !named.startsWith('utf-')) return named;
  return (await import('./code-pages.ts')).codePageOf(head);
}

/** The encoding that XML or HTML names. */
function declaredIn(text: string): string | null {
  const start = text.trimStart();
  if (start.startsWith('<?xml')) return XML_ENCODING.exec(start.slice(0, start.indexOf('>')))?.[1] ?? null;
  const meta = start.search(/<meta/i);
  return meta === -1 ? null : (META_CHARSET.exec(start.slice(meta))?.[1] ?? null);
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
