// Reads an uploaded text file, inflated where it is compressed, in decoded pieces of bounded size. Detects its encoding.
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { IntakeError, WHAT_IS_READ } from './errors.ts';
import { assertInflation } from './inflation.ts';

/** Size of a piece: the work on it takes a few milliseconds. */
export const CHUNK_BYTES = 64 * 1024;

export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** A file of text, which may be compressed. */
export interface TextFile {
  path: string;
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

/** The bytes in order, inflated; each piece is valid until the next one is asked for. */
async function* bytesOf(file: TextFile): AsyncGenerator<Buffer> {
  if (file.is_gzip) yield* inflatedBytesOf(file);
  else yield* plainBytesOf(file.path);
}

async function* plainBytesOf(path: string): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  await using file: FileHandle = await open(path);
  for (;;) {
    // Each read yields to the event loop, which a buffering stream would not guarantee.
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
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

/** `head` may end in the middle of a UTF-8 character. */
function upToWholeCharacter(head: Buffer): Buffer {
  let end = head.length;
  while (end > head.length - 4 && end > 0 && (head[end - 1]! & 0xc0) === 0x80) end--;
  if (end > 0 && head[end - 1]! >= 0xc0) return head.subarray(0, end - 1);
  return head;
}
