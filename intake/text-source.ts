// Reads an uploaded text file in decoded pieces of bounded size. Detects its encoding and refuses binary data.
import { isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { IntakeError } from './errors.ts';

/** Size of a piece: the work on it takes a few milliseconds. */
export const CHUNK_BYTES = 64 * 1024;

export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** The first bytes of a file, at most `CHUNK_BYTES`. */
export async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    length += bytesRead;
    if (bytesRead === 0 || length === buffer.length) return buffer.subarray(0, length);
  }
}

/** Detects the encoding by the byte order mark, else by the places of zero bytes, else by whether `head` is valid UTF-8. */
export function encodingOf(head: Buffer): TextEncoding {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const zeros = [0, 0];
  for (let i = 0; i < head.length; i++) if (head[i] === 0) zeros[i & 1]!++;
  // A URL is mostly ASCII: in UTF-16 nearly every other byte of it is zero; in other encodings no byte is.
  const many = head.length / 4;
  if (zeros[1]! > many && zeros[0]! < many / 16) return 'utf-16le';
  if (zeros[0]! > many && zeros[1]! < many / 16) return 'utf-16be';
  return isUtf8(upToWholeCharacter(head)) ? 'utf-8' : 'windows-1252';
}

/** The text in order, without a byte order mark. Throws `not_a_table` at a NUL character. */
export async function* readText(path: string, encoding: TextEncoding): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  await using file: FileHandle = await open(path);
  for (;;) {
    // Each read yields to the event loop, which a buffering stream would not guarantee.
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    const last = bytesRead === 0;
    const text = decoder.decode(buffer.subarray(0, bytesRead), { stream: !last });
    if (text.includes('\0')) {
      throw new IntakeError(
        'not_a_table',
        'The file holds NUL bytes, so it is not text. Upload a CSV, text or XLSX file.',
      );
    }
    if (text.length > 0) yield text;
    if (last) return;
  }
}

const SIGNATURES: [bytes: string, message: string][] = [
  ['\x89PNG', 'a PNG picture'],
  ['\xff\xd8\xff', 'a JPEG picture'],
  ['GIF8', 'a GIF picture'],
  ['%PDF-', 'a PDF document'],
  ['\x1f\x8b', 'a gzip archive'],
  ['7z\xbc\xaf', 'a 7z archive'],
  ['Rar!', 'a RAR archive'],
  ['\xd0\xcf\x11\xe0', 'an old Excel (.xls) or password-protected workbook'],
  ['SQLite format 3', 'an SQLite database'],
  ['PAR1', 'a Parquet file'],
];

const MARKUP = /^<(?:!doctype html|html)[\s>]/i;

/** Throws `not_a_table` for a file that is plainly not text, whatever its name. */
export function assertText(head: Buffer, encoding: TextEncoding): void {
  const start = head.toString('latin1', 0, 16);
  const known = SIGNATURES.find(([bytes]) => start.startsWith(bytes));
  if (known) throw new IntakeError('not_a_table', `The file is ${known[1]}. Upload a CSV, text or XLSX file.`);
  const text = new TextDecoder(encoding).decode(head);
  if (MARKUP.test(text)) {
    throw new IntakeError('not_a_table', 'The file is an HTML page. Upload a CSV, text or XLSX file.');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what tells binary data from text
  const control = text.match(/[\u0000-\u0008\u000e-\u001f]/g)?.length ?? 0;
  if (control > text.length / 100) {
    throw new IntakeError('not_a_table', 'The file is binary data, not text. Upload a CSV, text or XLSX file.');
  }
}

/** `head` may end in the middle of a UTF-8 character. */
function upToWholeCharacter(head: Buffer): Buffer {
  let end = head.length;
  while (end > head.length - 4 && end > 0 && (head[end - 1]! & 0xc0) === 0x80) end--;
  if (end > 0 && head[end - 1]! >= 0xc0) return head.subarray(0, end - 1);
  return head;
}
