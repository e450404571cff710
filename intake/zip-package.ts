// Reads the parts of a ZIP archive, which a workbook is. It counts the bytes as it inflates a part, because the sizes that an archive
// states may be false.
import type { Readable } from 'node:stream';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { IntakeError } from './errors.ts';
import { assertInflation } from './inflation.ts';

/** A workbook has a dozen parts, and a few for each sheet. */
const MAX_PARTS = 10_000;
/** Limit on an entry's name, comment and extra fields together, which stay in memory. */
const MAX_ENTRY_BYTES = 4_096;
export class ZipPackage {
  readonly #zip: ZipFile;
  readonly #parts: ReadonlyMap<string, Entry>;
  readonly #max_inflated_bytes: number;
  /** Inflated bytes by part. Reading a part again does not count again. */
  readonly #inflated_bytes = new Map<string, number>();
  #total_bytes = 0;

  private constructor(zip: ZipFile, parts: ReadonlyMap<string, Entry>, max_inflated_bytes: number) {
    this.#zip = zip;
    this.#parts = parts;
    this.#max_inflated_bytes = max_inflated_bytes;
  }

  /** Opens an archive, which the caller closes. Throws `broken_xlsx` for a file that is not a ZIP archive. */
  static async open(path: string, max_inflated_bytes: number): Promise<ZipPackage> {
    const zip = await openPromise(path, { autoClose: false }).catch(throwBroken);
    try {
      if (zip.entryCount > MAX_PARTS) {
        throw new IntakeError('broken_xlsx', `The workbook has over ${MAX_PARTS} parts.`);
      }
      const parts = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) {
        if (entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength > MAX_ENTRY_BYTES) {
          throw new IntakeError('broken_xlsx', 'The workbook has a part with a name longer than any real one.');
        }
        parts.set(entry.fileName.toLowerCase(), entry);
      }
      return new ZipPackage(zip, parts, max_inflated_bytes);
    } catch (error) {
      zip.close();
      return throwBroken(error);
    }
  }

  close(): void {
    this.#zip.close();
  }

  has(part: string): boolean {
    return this.#parts.has(part.toLowerCase());
  }

  /** The names of the parts that a pattern matches in lower case, in the order of the archive. */
  partsLike(pattern: RegExp): string[] {
    return [...this.#parts.keys()].filter((name) => pattern.test(name));
  }

  /** The bytes of a part. Throws `broken_xlsx`, `zip_bomb` or `inflated_too_large`. */
  async *read(part: string): AsyncGenerator<Buffer> {
    const name = part.toLowerCase();
    const entry = this.#parts.get(name);
    if (!entry) throw new IntakeError('broken_xlsx', `The workbook lacks its part ${part}. Save it again and retry.`);
    this.#assertWithinLimits(name, entry, entry.uncompressedSize);
    let stream: Readable | undefined;
    try {
      stream = await this.#zip.openReadStreamPromise(entry);
      let bytes = 0;
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        this.#assertWithinLimits(name, entry, bytes);
        yield chunk;
      }
    } catch (error) {
      throwBroken(error);
    } finally {
      stream?.destroy();
    }
  }

  #assertWithinLimits(name: string, entry: Entry, bytes: number): void {
    const before = this.#inflated_bytes.get(name) ?? 0;
    if (bytes > before) {
      this.#inflated_bytes.set(name, bytes);
      this.#total_bytes += bytes - before;
    }
    const sizes = { bytes, compressed_bytes: entry.compressedSize, max_inflated_bytes: this.#max_inflated_bytes };
    assertInflation(sizes);
    assertInflation({ ...sizes, bytes: this.#total_bytes, compressed_bytes: Number.POSITIVE_INFINITY });
  }
}

/** Throws an error of the ZIP and XML readers as `broken_xlsx`, and an error of the operating system as it is. */
export function throwBroken(error: unknown): never {
  if (error instanceof IntakeError || (error instanceof Error && 'syscall' in error)) throw error;
  const detail = error instanceof Error ? error.message : String(error);
  throw new IntakeError('broken_xlsx', `The workbook is damaged (${detail}). Save it again, or upload a CSV file.`, {
    cause: error,
  });
}
