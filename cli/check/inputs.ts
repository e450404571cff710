// The inputs of a check as one list of unique URLs, each with the place that it was read from.
import { createHash } from 'node:crypto';
import { type BigIntStats, createReadStream, createWriteStream, fstatSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { LeftOut } from '../../commands/jobs/intake.ts';
import { INVALID_REASONS, type InvalidReason } from '../../intake/classify-url.ts';
import { collectUrls } from '../../intake/collect-urls.ts';
import { IntakeError } from '../../intake/errors.ts';
import { isNamedLikeList } from '../../intake/formats.ts';
import type { IntakeLimits } from '../../intake/limits.ts';
import type { Cell } from '../../intake/sheet.ts';
import { type Counts, type InputReading, type Rejected, STDIN_NAME } from './checked.ts';
import type { Input } from './command.ts';
import { type Exclusion, exclusionOf, findFiles } from './find-files.ts';
import { DOCUMENT, type ReadFile, readFile } from './read-file.ts';

/** An input of which nothing more comes: standard input is a file by then. */
export type OpenInput = { kind: 'url'; url: string } | OpenFile;

export interface OpenFile {
  kind: 'file';
  path: string;
  name: string;
  /** Of the file that the user gave, which no report may overwrite: for standard input not that of the copy. */
  id: string;
  /** Whether it is no error when the file has no URL. */
  may_lack_urls: boolean;
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
  exclude: readonly string[];
  limits: Partial<IntakeLimits> & Pick<IntakeLimits, 'max_url_chars' | 'max_file_bytes'>;
  signal: AbortSignal;
}

/**
 * Finds the files, and copies standard input to one, which `forgetStdin` removes. Throws `InputError` for a file that cannot be
 * read.
 */
export async function openInputs(
  inputs: readonly Input[],
  { max_file_bytes, exclude, signal }: { max_file_bytes: number; exclude: Exclusion; signal: AbortSignal },
): Promise<{ inputs: OpenInput[]; notes: string[]; forgetStdin: () => Promise<void> }> {
  let folder: string | null = null;
  const forgetStdin = async () => {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  };
  try {
    const opened: OpenInput[] = [];
    const seen = new Set<string>();
    const notes: string[] = [];
    for (const input of inputs) {
      if (input.kind === 'url') opened.push(input);
      else if (input.kind === 'file') {
        const { files, unread } = await foundFiles(input.path, exclude);
        for (const file of files) {
          if (seen.has(file.id)) continue;
          seen.add(file.id);
          // A shell's glob names documents too.
          const is_one_of_many = inputs.length > 1 && DOCUMENT.test(file.name);
          opened.push({ ...file, may_lack_urls: file.may_lack_urls || is_one_of_many });
        }
        if (unread > 0)
          notes.push(
            unread === 1
              ? `${input.path}: 1 JSON, XML or gzip file is not read; name it if it holds URLs to check.`
              : `${input.path}: ${unread} JSON, XML or gzip files are not read; name those that hold URLs to check.`,
          );
      } else {
        folder = await mkdtemp(join(tmpdir(), 'url-checker-'));
        opened.push(await savedStdin(join(folder, STDIN_NAME), max_file_bytes, signal));
      }
    }
    if (opened.length === 0 && inputs.length > 0) throw new InputError('--exclude leaves out every input.');
    return { inputs: opened, notes, forgetStdin };
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
  return { kind: 'file', path, name: STDIN_NAME, id, may_lack_urls: false };
}

/** The files that an input names. Those of a folder or a glob may have no URL. */
async function foundFiles(given: string, exclude: Exclusion): Promise<{ files: OpenFile[]; unread: number }> {
  const found = await findFiles(given, exclude.file).catch((error: NodeJS.ErrnoException) => {
    const hint = LIKE_A_HOST.test(given) && !isNamedLikeList(given) ? `. If it is a URL: https://${given}` : '';
    throw new InputError(`${given}: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}${hint}`);
  });
  const { paths, are_searched, unread } = found;
  if (are_searched && paths.length === 0) throw new InputError(`${given}: there is no document or table to read`);
  const files: OpenFile[] = [];
  for (const path of paths) {
    const id = fileId(await stat(path, { bigint: true }));
    files.push({ kind: 'file', path, name: path, id, may_lack_urls: are_searched });
  }
  return { files, unread };
}

/** A digest of all that decides which URLs are checked, in which order. */
export async function digestOf(inputs: readonly OpenInput[], options: ReadOptions): Promise<string> {
  const { column, exclude, limits, signal } = options;
  const hash = createHash('sha256').update(JSON.stringify([2, column, exclude, limits.max_url_chars]));
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
  /** All of these are complete after the last page. */
  readonly counts: Omit<Counts, 'completed_urls'>;
  readonly readings: readonly InputReading[];
  readonly rejected: readonly Rejected[];
  /** The names of files without a URL, and the number of URLs that `exclude` has left out. */
  readonly without_urls: readonly string[];
  readonly excluded: number;
}

type Opened = { kind: 'url'; url: string } | { kind: 'file'; name: string; file: ReadFile };

/** Reads the inputs to pages of unique URLs. All files are opened before. */
export async function listUrls(inputs: readonly OpenInput[], options: ReadOptions): Promise<UrlList> {
  const { limits, signal } = options;
  const exclude = exclusionOf(options.exclude);
  const without_urls: string[] = [];
  const opened: Opened[] = [];
  for (const input of inputs) {
    if (input.kind === 'url') opened.push(input);
    else {
      const file = await openedFile(input, options);
      if (file === null) without_urls.push(input.name);
      else opened.push({ kind: 'file', name: input.name, file });
    }
  }
  if (opened.length === 0) throw new InputError(`There is no URL in ${without_urls.join(', ')}.`);
  /** The cell that intake takes next: it asks for cells one at a time, and yields its URL before it asks for another one. */
  let place: Omit<ListedUrl, 'url'> = ON_COMMAND_LINE;
  let excluded = 0;
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
    for (const [n, input] of opened.entries()) {
      if (input.kind === 'url') {
        place = ON_COMMAND_LINE;
        yield [{ row: n + 1, value: input.url }];
        continue;
      }
      const pages = input.file.cells();
      for (;;) {
        const { done, value } = await named(input.name, () => pages.next());
        if (done) break;
        for (const { letter, ...cell } of value) {
          if (exclude.url(cell.value)) excluded += 1;
          else {
            place = { file: input.name, row: cell.row, cell: letter && `${letter}${cell.row}` };
            yield [cell];
          }
        }
      }
    }
  }
  const urls = collectUrls(cells(), { ...limits, signal, left_out, page_size: 1 });
  return {
    rejected,
    without_urls,
    get excluded() {
      return excluded;
    },
    get readings() {
      return opened.flatMap((input) => (input.kind === 'url' ? [] : [{ name: input.name, ...input.file.reading }]));
    },
    get counts() {
      const { accepted, duplicates_removed, invalid_urls_rejected, blocked_urls_skipped } = urls.summary;
      return { total_urls: accepted, duplicates_removed, invalid_urls_rejected, blocked_urls_skipped };
    },
    async *[Symbol.asyncIterator]() {
      const names = opened.map((input) => (input.kind === 'url' ? input.url : input.name));
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

/** Null for a file without a URL that may lack them. */
async function openedFile(input: OpenFile, { column, limits }: ReadOptions): Promise<ReadFile | null> {
  try {
    return await readFile(input.path, input.name, { column, limits });
  } catch (error) {
    const has_none = error instanceof IntakeError && ['no_urls', 'empty_file'].includes(error.code);
    if (has_none && input.may_lack_urls) return null;
    return named(input.name, () => Promise.reject(error));
  }
}

const PAGE = 1000;
const MAX_REJECTED = 1000;
const ON_COMMAND_LINE = { file: null, row: null, cell: null };
const LIKE_A_HOST = /^[\w-]+(\.[\w-]+)+([/:?#]|$)/;

/** The error of a file that intake refuses names the file. */
async function named<R>(name: string, read: () => Promise<R>): Promise<R> {
  try {
    return await read();
  } catch (error) {
    const is_users = error instanceof IntakeError || (error as NodeJS.ErrnoException).syscall !== undefined;
    throw is_users ? new InputError(`${name}: ${(error as Error).message}`, { cause: error }) : error;
  }
}
