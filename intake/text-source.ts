// Reads an uploaded text file, inflated where it is compressed, in decoded pieces of bounded size. Detects its encoding.
import { isAscii } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { encodingOf } from './encoding.ts';
import { IntakeError, WHAT_IS_READ } from './errors.ts';
import { assertInflation, tooLarge } from './inflation.ts';
import type { TextEncoding } from './text-encoding.ts';
import type { ZipPackage } from './zip-package.ts';

/** Size of a piece: the work on it takes a few milliseconds. */
export const CHUNK_BYTES = 64 * 1024;

/** A file of text, which may be compressed. */
export interface TextFile {
  path: string;
  /** The number of the part of the ZIP archive at `path` that is the file, from 0. */
  part?: number;
  /** The archive while it is open for several files. */
  archive?: { opened: ZipPackage | null };
  is_gzip: boolean;
  /** The most bytes that a compressed file may inflate to. */
  max_inflated_bytes: number;
}

/** The first bytes of a file, inflated, at most `CHUNK_BYTES`. */
export async function readHead(file: TextFile): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const bytes of bytesOf(file)) {
    pieces.push(Buffer.from(bytes));
    length += bytes.length;
    if (length >= CHUNK_BYTES) break;
  }
  return Buffer.concat(pieces).subarray(0, CHUNK_BYTES);
}

/** All bytes of a file whose format is read in memory, inflated. Throws `inflated_too_large` beyond `max_bytes`. */
export async function wholeOf(file: TextFile, max_bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const bytes of bytesOf(file)) {
    length += bytes.length;
    if (length > max_bytes) throw tooLarge(max_bytes);
    pieces.push(Buffer.from(bytes));
  }
  return Buffer.concat(pieces, length);
}

/** The bytes in order, inflated; each piece is valid until the next one is asked for. */
async function* bytesOf(file: TextFile, chunk_bytes = CHUNK_BYTES): AsyncGenerator<Buffer> {
  const opened = file.archive?.opened;
  if (file.part !== undefined && opened) yield* opened.read(opened.partsLike(/^/)[file.part] ?? '');
  else if (file.part !== undefined) yield* partBytesOf(file, file.part);
  else if (file.is_gzip) yield* inflatedBytesOf(file);
  else yield* plainBytesOf(file.path, chunk_bytes);
}

async function* plainBytesOf(path: string, chunk_bytes: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(chunk_bytes);
  await using file: FileHandle = await open(path);
  for (;;) {
    // Each read yields to the event loop, which a buffering stream would not guarantee.
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* partBytesOf({ path, max_inflated_bytes }: TextFile, part: number): AsyncGenerator<Buffer> {
  const { ZipPackage } = await import('./zip-package.ts');
  const zip = await ZipPackage.open(path, max_inflated_bytes);
  try {
    yield* zip.read(zip.partsLike(/^/)[part] ?? '');
  } finally {
    zip.close();
  }
}

async function* inflatedBytesOf({ path, max_inflated_bytes }: TextFile): AsyncGenerator<Buffer> {
  const { size } = await stat(path);
  const inflater = createGunzip({ chunkSize: CHUNK_BYTES });
  const fed = pipeline(createReadStream(path), inflater);
  // The inflater throws the error too.
  fed.catch(() => {});
  let bytes = 0;
  try {
    for await (const piece of inflater as AsyncIterable<Buffer>) {
      bytes += piece.length;
      assertInflation({ bytes, compressed_bytes: size, max_inflated_bytes });
      yield piece;
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!code.startsWith('Z_')) throw error;
    throw new IntakeError(
      'broken_file',
      'The gzip file is damaged or cut off. Compress it again, or upload it as it is.',
      {
        cause: error,
      },
    );
  } finally {
    inflater.destroy();
  }
}

/** The most bytes to look through for the first one that tells the encoding, and how many of them at once. */
const MAX_LOOK_BYTES = 16 * 1024 * 1024;
const LOOK_BYTES = 1024 * 1024;

/** The encoding of a file; of one that begins in ASCII by the first piece that has more. */
export async function encodingOfFile(file: TextFile, head: Buffer): Promise<TextEncoding> {
  const encoding = await encodingOf(head, head.length < CHUNK_BYTES);
  if (encoding !== 'utf-8' || head.length < CHUNK_BYTES || !isAscii(head)) return encoding;
  let bytes = 0;
  for await (const piece of bytesOf(file, LOOK_BYTES)) {
    if (!isAscii(piece)) return encodingOf(fromFirstBeyondAscii(piece), false);
    bytes += piece.length;
    if (bytes >= MAX_LOOK_BYTES) break;
  }
  return 'utf-8';
}

/** As much as is judged at once. */
function fromFirstBeyondAscii(piece: Buffer): Buffer {
  let start = 0;
  while (isAscii(piece.subarray(start, start + CHUNK_BYTES))) start += CHUNK_BYTES;
  return piece.subarray(start, start + CHUNK_BYTES);
}

/** The text in order, without a byte order mark. Throws `not_a_table` at a NUL character. */
export async function* readText(file: TextFile, encoding: TextEncoding): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  const checked = (text: string) => {
    if (!text.includes('\0')) return text;
    throw new IntakeError('not_a_table', `The file holds NUL bytes, so it is not text. ${WHAT_IS_READ}`);
  };
  for await (const bytes of bytesOf(file)) {
    const text = checked(decoder.decode(bytes, { stream: true }));
    if (text.length > 0) yield text;
  }
  const last = checked(decoder.decode());
  if (last.length > 0) yield last;
}
