// The ZIP archive that a workbook is: its parts by name, inflated as they are read and counted while they are, so that
// no size that the archive states about itself is believed.
import type { Readable } from 'node:stream';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { IntakeError } from '../errors.ts';

/** A workbook has a dozen parts, and a few for each sheet. */
const MAX_PARTS = 10_000;
/** Of an entry's name, comment and extra fields: what is kept of each of them in memory. */
const MAX_ENTRY_BYTES = 4_096;
/** Repetitive sheets come to 50:1 and DEFLATE ends at 1,032:1. Small parts may be as repetitive as they like. */
const MAX_INFLATION = 300;
const INFLATION_CHECKED_FROM_BYTES = 64 * 1024 * 1024;

export class XlsxPackage {
  readonly #zip: ZipFile;
  readonly #parts: ReadonlyMap<string, Entry>;
  readonly #max_inflated_bytes: number;
  /** By part: reading one a second time takes time, but no more of the budget. */
  readonly #inflated_bytes = new Map<string, number>();
  #total_bytes = 0;

  private constructor(zip: ZipFile, parts: ReadonlyMap<string, Entry>, max_inflated_bytes: number) {
    this.#zip = zip;
    this.#parts = parts;
    this.#max_inflated_bytes = max_inflated_bytes;
  }

  /** To be closed by the caller. Throws `broken_xlsx` for what is no ZIP archive. */
  static async open(path: string, max_inflated_bytes: number): Promise<XlsxPackage> {
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
      return new XlsxPackage(zip, parts, max_inflated_bytes);
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
    if (bytes > INFLATION_CHECKED_FROM_BYTES && bytes > entry.compressedSize * MAX_INFLATION) {
      throw new IntakeError('zip_bomb', 'The workbook inflates to far more than a workbook does. Upload a CSV file.');
    }
    const before = this.#inflated_bytes.get(name) ?? 0;
    if (bytes > before) {
      this.#inflated_bytes.set(name, bytes);
      this.#total_bytes += bytes - before;
    }
    if (this.#total_bytes > this.#max_inflated_bytes) throw tooLarge(this.#max_inflated_bytes);
  }
}

export function tooLarge(max_bytes: number): IntakeError {
  const megabytes = Math.floor(max_bytes / 1e6);
  return new IntakeError(
    'inflated_too_large',
    `The workbook holds more than ${megabytes} MB when unpacked. Upload its column of URLs alone, or a CSV file.`,
  );
}

/** What the ZIP and XML readers complain of is the file's fault; what the operating system does is not. */
export function throwBroken(error: unknown): never {
  if (error instanceof IntakeError || (error instanceof Error && 'syscall' in error)) throw error;
  const detail = error instanceof Error ? error.message : String(error);
  throw new IntakeError('broken_xlsx', `The workbook is damaged (${detail}). Save it again, or upload a CSV file.`, {
    cause: error,
  });
}
