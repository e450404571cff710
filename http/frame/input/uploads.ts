// Streams the file of a form to a file of its own on disk, which the service removes when the request ends.
import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'koa';
import { ClientGone, HttpError, ValidationError } from '../errors.ts';
import type { UploadedFile } from '../request-bodies.ts';
import { hasBody, tooLarge } from './bodies.ts';
import { bodyChunks } from './body-chunks.ts';
import { inflated } from './content-encoding.ts';
import { boundaryOf, MultipartError, type PartHead, readParts } from './multipart.ts';

/** The most bytes of a form besides its file: boundaries, headers and a few short fields. */
const FORM_BYTES = 64 * 1024;
const MAX_FIELDS = 20;
/** The longest name that file systems take. The event log keeps the name with the job. */
const MAX_FILENAME_CHARS = 255;
/** The prefix of files and folders that end with their request. A starting process removes those of a killed one. */
export const UPLOAD_PREFIX = 'upload-';

export interface UploadLimits {
  folder: string;
  max_file_bytes: number;
}
interface FormLimits extends UploadLimits {
  /** The names of the query's parameters, which the form may not have. */
  parameters: readonly string[];
}

/**
 * Reads the form, passes the file to `use`, and removes the file however `use` ends. Throws HttpError with 400, 413, 415 or 422 for a
 * form that it refuses, and ClientGone.
 */
export async function withUpload<Result>(
  ctx: Context,
  limits: FormLimits,
  use: (file: UploadedFile) => Promise<Result>,
): Promise<Result> {
  const { max_file_bytes } = limits;
  if (!hasBody(ctx.req)) throw missingFile();
  if (!ctx.is('multipart/form-data')) {
    throw new HttpError(415, 'unsupported_media_type', 'The body must be a form (multipart/form-data) with a file.');
  }
  const boundary = boundaryOf(ctx.get('content-type'));
  if (boundary === null) throw brokenForm('its content type names no boundary');
  if (Number(ctx.get('content-length')) > max_file_bytes + FORM_BYTES) throw tooLarge(max_file_bytes);
  const limited = (body: AsyncIterable<Buffer>) => atMost(body, max_file_bytes + FORM_BYTES, max_file_bytes);
  // Compressed bytes without an end may decompress to nothing.
  const body = limited(inflated(limited(bodyChunks(ctx)), ctx.get('content-encoding')));
  await mkdir(limits.folder, { recursive: true });
  const path = join(limits.folder, `${UPLOAD_PREFIX}${randomUUID()}`);
  // This request alone opens the file, before it waits for the client's first byte, and removes it after closing it.
  const file = await open(path, 'wx', 0o600);
  try {
    try {
      const form = await readForm(body, boundary, file, limits);
      await file.close();
      return await use({ path, ...form });
    } catch (error) {
      throw toUploadError(error, ctx);
    }
  } finally {
    // A second close does nothing.
    await file.close().finally(() => rm(path, { force: true }));
  }
}

type Form = Omit<UploadedFile, 'path'>;

async function readForm(
  body: AsyncIterable<Buffer>,
  boundary: string,
  file: FileHandle,
  { max_file_bytes, parameters }: FormLimits,
): Promise<Form> {
  let found: PartHead | null = null;
  let in_field = false;
  let field_count = 0;
  let field_bytes = 0;
  let size_bytes = 0;
  const hash = createHash('sha256');
  for await (const event of readParts(body, boundary)) {
    if ('part' in event) {
      const { part } = event;
      in_field = part.filename === null;
      if (part.filename === null) {
        // Nobody reads it there: the job would be of another column than was asked for.
        if (parameters.includes(part.name)) throw invalid([part.name], MISPLACED, 'misplaced');
        if (++field_count > MAX_FIELDS) throw brokenForm(`it has more than ${MAX_FIELDS} fields`);
      } else {
        if (found) throw invalid([], 'the form must hold one file, and holds more', 'too_many_files');
        assertName(part.filename);
        found = part;
      }
    } else if (in_field) {
      field_bytes += event.content.length;
      if (field_bytes > FORM_BYTES) throw new HttpError(413, 'too_large', `The fields exceed ${FORM_BYTES} bytes.`);
    } else {
      size_bytes += event.content.length;
      if (size_bytes > max_file_bytes) throw tooLarge(max_file_bytes);
      hash.update(event.content);
      await file.appendFile(event.content);
    }
  }
  if (!found) throw missingFile();
  return { filename: found.filename, size_bytes, sha256: hash.digest('hex') };
}

function assertName(filename: string): void {
  if (filename.length <= MAX_FILENAME_CHARS) return;
  const msg = `the name of the file is longer than ${MAX_FILENAME_CHARS} characters`;
  throw invalid(['file'], msg, 'filename_too_long');
}

/** Counts the bytes of the form. Throws 413 above `max_bytes`. */
async function* atMost(body: AsyncIterable<Buffer>, max_bytes: number, max_file_bytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > max_bytes) throw tooLarge(max_file_bytes);
    yield chunk;
  }
}

const invalid = (loc: string[], msg: string, type: string) =>
  new ValidationError([{ loc: ['body', ...loc], msg, type }]);
const MISPLACED = 'belongs in the query of the URL, not in the form';
const missingFile = () => invalid(['file'], 'a file is required: a form (multipart/form-data) with one', 'missing');
const brokenForm = (why: string) =>
  new HttpError(400, 'invalid_form', `The form (multipart/form-data) is broken: ${why}.`);

function toUploadError(error: unknown, ctx: Context): unknown {
  if (ctx.req.destroyed && !ctx.req.complete) return new ClientGone('the client left while it sent the file');
  if (!(error instanceof MultipartError)) return error;
  if (error.code === 'encoding') return invalid([error.field], error.message, 'encoding');
  if (error.code === 'head_too_large') return new HttpError(413, 'part_headers_too_large', error.message);
  return new HttpError(400, 'invalid_form', `The form (multipart/form-data) is broken. ${error.message}`);
}

/**
 * Removes the files that requests of a killed process left in the folder, and returns their number. Other processes may be receiving
 * files, so younger ones than `older_than_ms` stay. `now`: Unix milliseconds.
 */
export async function removeAbandonedUploads(folder: string, older_than_ms: number, now: number): Promise<number> {
  let removed = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = name.startsWith(UPLOAD_PREFIX) ? await stat(path).catch(() => null) : null;
    if (!found || now - found.mtimeMs < older_than_ms) continue;
    await rm(path, { recursive: true, force: true });
    removed++;
  }
  return removed;
}
