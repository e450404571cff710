// The inputs of a check as one list of unique URLs, each with the place that it was read from.
import { createHash } from 'node:crypto';
import { type BigIntStats, createReadStream, createWriteStream, fstatSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { LeftOut } from '../../commands/intake.ts';
import { INVALID_REASONS, type InvalidReason } from '../../intake/classify-url.ts';
import { collectUrls } from '../../intake/collect-urls.ts';
import { IntakeError } from '../../intake/errors.ts';
import { lettersOfColumn } from '../../intake/find-column.ts';
import type { IntakeLimits } from '../../intake/limits.ts';
import { openSheet } from '../../intake/open-sheet.ts';
import { type Cell, readingOf, type Sheet } from '../../intake/sheet.ts';
import { type Counts, type InputReading, type Rejected, STDIN_NAME } from './checked.ts';
import type { Input } from './command.ts';

/** An input of which nothing more comes: standard input is a file by then. */
export type OpenInput = { kind: 'url'; url: string } | OpenFile;

export interface OpenFile {
  kind: 'file';
  path: string;
  name: string;
  /** Of the file that the user gave, which no report may overwrite: for standard input not that of the copy. */
  id: string;
}

/** The same for every path and link to a file. */
export const fileId = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`;

export interface ListedUrl {
  url: string;
  file: string | null;
  row: number | null;
  cell: string | null;
}

/** An input cannot be read; the message names it. */
export class InputError extends Error {
  readonly code = 'input';
}

export interface ReadOptions {
  column: string | null;
  limits: Partial<IntakeLimits> & Pick<IntakeLimits, 'max_url_chars' | 'max_file_bytes'>;
  signal: AbortSignal;
}

/**
 * Finds the files, and copies standard input to one, which `forgetStdin` removes. Throws `InputError` for a file that cannot be
 * read.
 */
export async function openInputs(
  inputs: readonly Input[],
  max_file_bytes: number,
  signal: AbortSignal,
): Promise<{ inputs: OpenInput[]; forgetStdin: () => Promise<void> }> {
  let folder: string | null = null;
  const forgetStdin = async () => {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  };
  try {
    const opened: OpenInput[] = [];
    for (const input of inputs) {
      if (input.kind === 'url') opened.push(input);
      else if (input.kind === 'file') opened.push(await foundFile(input.path));
      else {
        folder = await mkdtemp(join(tmpdir(), 'url-checker-'));
        opened.push(await savedStdin(join(folder, STDIN_NAME), max_file_bytes, signal));
      }
    }
    return { inputs: opened, forgetStdin };
  } catch (error) {
    await forgetStdin();
    throw error;
  }
}

async function savedStdin(path: string, max_bytes: number, signal: AbortSignal): Promise<OpenInput> {
  const id = fileId(fstatSync(process.stdin.fd, { bigint: true }));
  let bytes = 0;
  async function* upToLimit(source: AsyncIterable<Buffer>) {
    for await (const piece of source) {
      bytes += piece.length;
      yield piece;
      // Intake refuses a file of this size.
      if (bytes > max_bytes) return;
    }
  }
  await pipeline(process.stdin, upToLimit, createWriteStream(path), { signal });
  return { kind: 'file', path, name: STDIN_NAME, id };
}

async function foundFile(path: string): Promise<OpenInput> {
  const found = await stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    const hint = LIKE_A_HOST.test(path) && !LIKE_A_LIST.test(path) ? `. If it is a URL: https://${path}` : '';
    throw new InputError(`${path}: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}${hint}`);
  });
  if (found.isDirectory()) throw new InputError(`${path}: it is a folder; name the files in it`);
  return { kind: 'file', path, name: path, id: fileId(found) };
}

/** A digest of all that decides which URLs are checked, in which order. */
export async function digestOf(inputs: readonly OpenInput[], { column, limits, signal }: ReadOptions): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([1, column, limits.max_url_chars]));
  for (const input of inputs) {
    if (input.kind === 'url') {
      hash.update(`\0url\0${input.url}`);
      continue;
    }
    hash.update('\0file\0');
    try {
      for await (const piece of createReadStream(input.path, { signal })) hash.update(piece as Buffer);
    } catch (error) {
      if (signal.aborted) throw error;
      throw new InputError(`${input.name}: ${(error as Error).message}`);
    }
  }
  return hash.digest('hex');
}

export interface UrlList extends AsyncIterable<readonly ListedUrl[]> {
  /** Complete after the last page. */
  readonly counts: Omit<Counts, 'completed_urls'>;
  readonly readings: readonly InputReading[];
  /** Complete after the last page. */
  readonly rejected: readonly Rejected[];
}

/** Reads the inputs to pages of unique URLs. `readings` tells how each file is read, and all files are opened before. */
export async function listUrls(inputs: readonly OpenInput[], options: ReadOptions): Promise<UrlList> {
  const { column, limits, signal } = options;
  const sheets: (Sheet | null)[] = [];
  for (const input of inputs) {
    if (input.kind === 'url') sheets.push(null);
    else sheets.push(await named(input.name, () => openSheet(input.path, basename(input.name), limits, { column })));
  }
  /** The cell that intake takes next: it asks for cells one at a time, and yields its URL before it asks for another one. */
  let place: Omit<ListedUrl, 'url'> = ON_COMMAND_LINE;
  const rejected: Rejected[] = [];
  const left_out = {
    add({ row, reason, value }: LeftOut) {
      const is_invalid = Object.hasOwn(INVALID_REASONS, reason) && place.file !== null;
      if (!is_invalid || rejected.length === MAX_REJECTED) return;
      rejected.push({ file: place.file!, row, value, reason: reason as InvalidReason });
    },
    drained: () => undefined,
  };
  async function* cells(): AsyncGenerator<Cell[]> {
    for (const [n, input] of inputs.entries()) {
      if (input.kind === 'url') {
        place = ON_COMMAND_LINE;
        yield [{ row: n + 1, value: input.url }];
        continue;
      }
      const sheet = sheets[n]!;
      const letter = sheet.table === undefined ? null : lettersOfColumn(sheet.column.index);
      const pages = sheet.cells()[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await named(input.name, () => pages.next());
        if (done) break;
        for (const cell of value) {
          place = { file: input.name, row: cell.row, cell: letter && `${letter}${cell.row}` };
          yield [cell];
        }
      }
    }
  }
  const urls = collectUrls(cells(), { ...limits, signal, left_out, page_size: 1 });
  return {
    rejected,
    readings: inputs.flatMap((input, n) =>
      input.kind === 'url' ? [] : [{ name: input.name, ...readingOf(sheets[n]!) }],
    ),
    get counts() {
      const { accepted, duplicates_removed, invalid_urls_rejected, blocked_urls_skipped } = urls.summary;
      return { total_urls: accepted, duplicates_removed, invalid_urls_rejected, blocked_urls_skipped };
    },
    async *[Symbol.asyncIterator]() {
      const names = inputs.map((input) => (input.kind === 'url' ? input.url : input.name));
      const pages = urls[Symbol.asyncIterator]();
      let page: ListedUrl[] = [];
      for (;;) {
        const { done, value } = await named(names.join(', '), () => pages.next());
        if (done) break;
        page.push({ url: value[0]!, ...place });
        if (page.length < PAGE) continue;
        yield page;
        page = [];
      }
      yield page;
    },
  };
}

const PAGE = 1000;
const MAX_REJECTED = 1000;
const ON_COMMAND_LINE = { file: null, row: null, cell: null };
const LIKE_A_HOST = /^[\w-]+(\.[\w-]+)+([/:?#]|$)/;
const LIKE_A_LIST = /\.(csv|tsv|txt|md|xlsx|ods|json|jsonl|ndjson|xml|html?|gz)$/i;

/** The error of a file that intake refuses names the file. */
async function named<R>(name: string, read: () => Promise<R>): Promise<R> {
  try {
    return await read();
  } catch (error) {
    const is_users = error instanceof IntakeError || (error as NodeJS.ErrnoException).syscall !== undefined;
    throw is_users ? new InputError(`${name}: ${(error as Error).message}`, { cause: error }) : error;
  }
}
