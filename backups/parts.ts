// A backup's file is a row of parts. Each part is a zstd frame of whole lines, behind a header in a skippable frame, which `zstd -d`
// passes over. The header has the frame's length and a checksum of this part and of all before it, so that a reader knows a damaged
// part before it decompresses anything of it, and names its place.
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';

/** A part ends with the line that brings it to this many characters. */
const PART_CHARS = 2 ** 20;
/** The most bytes of a part's lines: the last of them may be an event of 1 MiB. */
const MAX_TEXT_BYTES = 8 * 2 ** 20;
const MAX_FRAME_BYTES = MAX_TEXT_BYTES + 2 ** 16;
/** The first of the 16 magic numbers of skippable frames (RFC 8878, 3.1.2), little endian. */
const SKIPPABLE = 0x184d2a50;
const PREFIX_BYTES = 8;
const MAX_HEADER_BYTES = 256;
/** The fastest level: it compresses events as well as the default one, in a third of the time. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

const compress = promisify<Buffer, object, Buffer>(zstdCompress);
const decompress = promisify<Buffer, object, Buffer>(zstdDecompress);

/** The file is no backup, or was cut or changed. Nothing of it may be used. */
export class DamagedBackup extends Error {
  readonly code = 'damaged_backup';
}

interface PartHeader {
  part: number;
  size_bytes: number;
  /** Of the previous part's checksum and this part's frame, in hexadecimal. */
  sha256: string;
}

export interface Part {
  number: number;
  /** The part's place in the file, header included. */
  from_byte: number;
  to_byte: number;
  lines: string[];
}

/** Cuts the lines, which come without line feeds, into parts. Yields the bytes of the file, one part at a time. */
export async function* toParts(lines: AsyncIterable<string>): AsyncGenerator<Buffer, void> {
  let checksum = '';
  let part = 0;
  let held: string[] = [];
  let chars = 0;
  const end = async () => {
    const frame = await compress(Buffer.from(`${held.join('\n')}\n`), COMPRESSION);
    checksum = chained(checksum, frame);
    const header: PartHeader = { part, size_bytes: frame.length, sha256: checksum };
    part += 1;
    [held, chars] = [[], 0];
    return Buffer.concat([skippable(JSON.stringify(header)), frame]);
  };
  for await (const line of lines) {
    held.push(line);
    chars += line.length + 1;
    if (chars >= PART_CHARS) yield await end();
  }
  if (held.length > 0) yield await end();
}

/** Reads the parts of a file, each of them checked. Throws `DamagedBackup` at the first part that was changed or is cut. */
export async function* readParts(file: AsyncIterable<Uint8Array>): AsyncGenerator<Part, void> {
  const bytes = new ByteReader(file);
  try {
    yield* partsOf(bytes);
  } finally {
    await bytes.close();
  }
}

async function* partsOf(bytes: ByteReader): AsyncGenerator<Part, void> {
  let checksum = '';
  for (let number = 0; ; number += 1) {
    const from_byte = bytes.read_bytes;
    const prefix = await bytes.take(PREFIX_BYTES);
    if (prefix.length === 0) return;
    const damaged = (what: string) =>
      new DamagedBackup(`part ${number}, which begins at byte ${from_byte}, ${what}: the file was cut or changed`);
    if (prefix.length < PREFIX_BYTES) throw damaged('has no whole header');
    const header_bytes = prefix.readUInt32LE(4);
    if (prefix.readUInt32LE(0) !== SKIPPABLE || header_bytes > MAX_HEADER_BYTES) throw damaged('has no header');
    const header = parseHeader(await bytes.take(header_bytes));
    if (header === null || header.part !== number) throw damaged('has a damaged header');
    const frame = await bytes.take(header.size_bytes);
    const to_byte = bytes.read_bytes;
    if (frame.length < header.size_bytes) throw damaged(`has ${frame.length} of its ${header.size_bytes} bytes`);
    checksum = chained(checksum, frame);
    if (checksum !== header.sha256) throw damaged(`and ends at byte ${to_byte}, does not have its checksum`);
    const text = await decompress(frame, { maxOutputLength: MAX_TEXT_BYTES }).catch(() => {
      throw damaged('cannot be decompressed');
    });
    yield { number, from_byte, to_byte, lines: text.toString('utf8').split('\n').slice(0, -1) };
  }
}

const chained = (before: string, frame: Buffer): string => hash('sha256', Buffer.concat([Buffer.from(before), frame]));

function skippable(text: string): Buffer {
  const content = Buffer.from(text);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32LE(SKIPPABLE, 0);
  prefix.writeUInt32LE(content.length, 4);
  return Buffer.concat([prefix, content]);
}

function parseHeader(content: Buffer): PartHeader | null {
  try {
    const { part, size_bytes, sha256 } = JSON.parse(content.toString('utf8')) as Partial<PartHeader>;
    const is_size = Number.isSafeInteger(size_bytes) && size_bytes! > 0 && size_bytes! <= MAX_FRAME_BYTES;
    return is_size && typeof part === 'number' && typeof sha256 === 'string'
      ? { part, size_bytes: size_bytes!, sha256 }
      : null;
  } catch {
    return null;
  }
}

/** Takes exact numbers of bytes from a stream of chunks. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held: Uint8Array[] = [];
  #held_bytes = 0;
  read_bytes = 0;

  constructor(file: AsyncIterable<Uint8Array>) {
    this.#chunks = file[Symbol.asyncIterator]();
  }

  /** Frees the file, which nobody reads further. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  /** Fewer bytes only at the end of the file. */
  async take(count: number): Promise<Buffer> {
    while (this.#held_bytes < count) {
      const next = await this.#chunks.next();
      if (next.done) break;
      this.#held.push(next.value);
      this.#held_bytes += next.value.length;
    }
    const all = Buffer.concat(this.#held);
    const taken = all.subarray(0, count);
    const rest = all.subarray(count);
    this.#held = rest.length > 0 ? [rest] : [];
    this.#held_bytes = rest.length;
    this.read_bytes += taken.length;
    return taken;
  }
}
