// Reads bodies that are one long list as a stream, keeps large ones in pages on disk, and computes a fingerprint of their strings.
import { createHash, type Hash, hash as hashOf } from 'node:crypto';
import { type FileHandle, mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'koa';
import type { ListItem } from '../../../commands/jobs/intake.ts';
import { breather } from '../../../time/event-loop.ts';
import { ValidationError } from '../errors.ts';
import type { ListBody, StringList } from '../request-bodies.ts';
import { assertShallow, hasBody, MAX_VALUES, missingBody, parseJson, readJsonChunks, tooManyValues } from './bodies.ts';
import { listsOf, notOneList, StringListReader } from './string-list.ts';
import { UPLOAD_PREFIX } from './uploads.ts';
import type { Check } from './validation.ts';

const PAGE_SIZE = 1000;
/** Up to this size the service also parses the body whole, so that the answer names all problems at once. */
const PARSED_WHOLE_BYTES = 64 * 1024;
/** The most bytes in memory before the pages go to disk. */
const MEMORY_BYTES = 1024 * 1024;

/** Reads the body, passes its list to `use`, and removes its file however `use` ends. Throws HttpError with 400, 408, 413, 415 or 422. */
export async function withList<Result>(
  ctx: Context,
  body: ListBody,
  check: Check,
  folder: string,
  use: (list: StringList) => Promise<Result>,
): Promise<Result> {
  if (!hasBody(ctx.req)) throw missingBody();
  const pages = openPages(folder);
  try {
    return await use(await readList(ctx, body, check, pages));
  } finally {
    await pages.release();
  }
}

async function readList(ctx: Context, body: ListBody, check: Check, pages: Pages): Promise<StringList> {
  let page: ListItem[] = [];
  let length = 0;
  const flush = async () => {
    // Every page but the last has the same size, so that equal lists have equal fingerprints.
    let from = 0;
    for (; page.length - from >= PAGE_SIZE; from += PAGE_SIZE) await pages.add(page.slice(from, from + PAGE_SIZE));
    page = page.slice(from);
  };
  const take = (value: ListItem) => {
    page.push(value);
    if (++length > MAX_VALUES) throw tooManyValues();
  };
  let reader: StringListReader | null = null;
  const parse = (bytes: Buffer) => {
    reader ??= new StringListReader({ ...body, others: Object.keys(body.others) }, take);
    reader.write(bytes);
  };
  let size_bytes = 0;
  let held: Buffer[] | null = [];
  let { field } = body;
  let others: Record<string, unknown> = {};
  const breathe = breather();
  for await (const chunk of readJsonChunks(ctx, body.limit_bytes)) {
    await breathe();
    size_bytes += chunk.length;
    held?.push(chunk);
    if (size_bytes <= PARSED_WHOLE_BYTES) continue;
    for (const one of held ?? [chunk]) parse(one);
    held = null;
    await flush();
  }
  if (held) {
    const bytes = Buffer.concat(held);
    const value = parseJson(bytes);
    if (value === undefined) throw missingBody();
    const problems = check(value, size_bytes);
    if (problems.length > 0) throw new ValidationError(problems);
    const lists = listsOf(body).filter((name) => Object.hasOwn(value as object, name));
    if (lists.length !== 1) throw notOneList(body, lists);
    field = lists[0]!;
    const { [field]: list, ...rest } = value as Record<string, ListItem[]>;
    if (listsOf(body).every((name) => namesOnce(bytes, name))) for (const item of list!) take(withoutEmptyRef(item));
    else parse(bytes);
    others = rest;
  }
  const read = (reader as StringListReader | null)?.end();
  if (read && held === null)
    ({ field, others } = { field: read.list, others: checkedOthers(read.others, body, check) });
  await flush();
  if (page.length > 0) await pages.add(page);
  return {
    field,
    length,
    size_bytes,
    // Only requests with an idempotency key need it.
    get fingerprint() {
      const of_list = pages.fingerprint();
      return Object.keys(others).length === 0 ? of_list : hashOf('sha256', JSON.stringify([of_list, others]));
    },
    others,
    pages: pages.read,
    release: pages.release,
  };
}

/** An item without a `ref` is kept as its string. */
const withoutEmptyRef = (item: ListItem): ListItem =>
  typeof item === 'object' && item.ref === undefined ? (item as { url: string }).url : item;

/** Checks the other fields of a body that was read as a stream, beside a list that breaks no rule, and fills in their defaults. */
function checkedOthers(read: Record<string, unknown>, { field }: ListBody, check: Check): Record<string, unknown> {
  assertShallow(read);
  const value: Record<string, unknown> = { [field]: ['https://example.com/'], ...read };
  const problems = check(value);
  if (problems.length > 0) throw new ValidationError(problems);
  delete value[field];
  return value;
}

/** Whether the JSON has the name once, so that `JSON.parse` dropped no list. A text with escapes may name it in another way. */
function namesOnce(bytes: Buffer, field: string): boolean {
  const name = JSON.stringify(field);
  return !bytes.includes('\\') && bytes.indexOf(name) === bytes.lastIndexOf(name);
}

const charsOf = (page: readonly ListItem[]) =>
  page.reduce((sum, item) => sum + (typeof item === 'string' ? item.length : item.url.length + item.ref.length), 0);

type Pages = ReturnType<typeof openPages>;

/** A small first page stays as it is until another comes. Other pages are JSON arrays, in memory up to 1 MiB, then in a file. */
function openPages(folder: string) {
  const sizes_bytes: number[] = [];
  /** Of the pages that are held; null before the first. */
  let hash: Hash | null = null;
  let only: readonly ListItem[] | null = null;
  let held: Buffer[] = [];
  let held_bytes = 0;
  let is_released = false;
  let own_folder: string | null = null;
  let file: FileHandle | null = null;

  async function spill(): Promise<void> {
    if (!file) {
      await mkdir(folder, { recursive: true });
      own_folder = await mkdtemp(join(folder, UPLOAD_PREFIX));
      file = await open(join(own_folder, 'list'), 'wx+', 0o600);
    }
    await file.appendFile(Buffer.concat(held));
    held = [];
    held_bytes = 0;
  }
  function hold(page: readonly ListItem[]): void {
    const bytes = Buffer.from(JSON.stringify(page));
    hash ??= createHash('sha256');
    hash.update(bytes);
    sizes_bytes.push(bytes.length);
    held.push(bytes);
    held_bytes += bytes.length;
  }
  async function* read(): AsyncGenerator<ListItem[]> {
    if (only) yield [...only];
    if (file && held.length > 0) await spill();
    let at = 0;
    for (const [n, size_bytes] of sizes_bytes.entries()) {
      const bytes = file ? (await file.read(Buffer.alloc(size_bytes), 0, size_bytes, at)).buffer : held[n]!;
      at += size_bytes;
      yield JSON.parse(bytes.toString());
    }
  }
  return {
    async add(page: readonly ListItem[]): Promise<void> {
      if (only === null && sizes_bytes.length === 0 && charsOf(page) <= PARSED_WHOLE_BYTES) {
        only = page;
        return;
      }
      if (only) hold(only);
      only = null;
      hold(page);
      if (held_bytes > MEMORY_BYTES) await spill();
    },
    /** Equal for the same items in the same order, whatever the white space and escapes of their JSON. */
    fingerprint(): string {
      if (is_released) throw new Error('the strings were released before their fingerprint was taken');
      if (only) return hashOf('sha256', JSON.stringify(only));
      return hash === null ? hashOf('sha256', '') : hash.copy().digest('hex');
    },
    read,
    async release(): Promise<void> {
      is_released = true;
      only = null;
      const [open_file, folder_to_remove] = [file, own_folder];
      file = null;
      own_folder = null;
      held = [];
      sizes_bytes.length = 0;
      await open_file?.close();
      if (folder_to_remove !== null) await rm(folder_to_remove, { recursive: true, force: true });
    },
  };
}
