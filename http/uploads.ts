// Reading a form with one file: the file is streamed to a folder of its own, which is gone when the request is.
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'koa';
import { type ExtendedFormidableOptions, koaBody } from 'koa-body';
import { hasBody, sendContinue, tooLarge } from './bodies.ts';
import { ClientGone, HttpError, ValidationError } from './errors.ts';
import type { UploadedFile } from './route.ts';

/** What a form may hold besides the file: its boundaries, its headers and a few short fields. */
const FORM_BYTES = 64 * 1024;
const MAX_FIELDS = 20;
/** Of folders that are gone with their request, or swept when its process was killed. */
export const UPLOAD_PREFIX = 'upload-';

export interface UploadLimits {
  folder: string;
  max_file_bytes: number;
}

type FormFile = { filepath: string; originalFilename: string | null; mimetype: string | null; size: number };

/** Reads the form and gives the file to `use`; whatever happens, nothing stays on disk. */
export async function withUpload<Result>(
  ctx: Context,
  limits: UploadLimits,
  use: (file: UploadedFile) => Promise<Result>,
): Promise<Result> {
  if (!hasBody(ctx.req)) throw missingFile();
  if (!ctx.is('multipart/form-data')) {
    throw new HttpError(415, 'unsupported_media_type', 'The body must be a form (multipart/form-data) with a file.');
  }
  if (Number(ctx.get('content-length')) > limits.max_file_bytes + FORM_BYTES) throw tooLarge(limits.max_file_bytes);
  await mkdir(limits.folder, { recursive: true });
  const folder = await mkdtemp(join(limits.folder, UPLOAD_PREFIX));
  try {
    sendContinue(ctx.req, ctx.res);
    return await use(await readForm(ctx, folder, limits.max_file_bytes));
  } finally {
    // The parser may still be closing its file.
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  }
}

async function readForm(ctx: Context, folder: string, max_file_bytes: number): Promise<UploadedFile> {
  const parse = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    patchNode: false,
    formidable: formOptions(folder, max_file_bytes),
    onError: (error) => {
      throw toUploadError(error, ctx, max_file_bytes);
    },
  });
  await parse(ctx, async () => {});
  const files = Object.values((ctx.request.files ?? {}) as Record<string, FormFile | FormFile[]>).flat();
  const [file] = files;
  if (!file) throw missingFile();
  const fields = Object.entries((ctx.request.body ?? {}) as Record<string, string | string[]>);
  return {
    path: file.filepath,
    filename: file.originalFilename,
    content_type: file.mimetype,
    size_bytes: file.size,
    fields: Object.fromEntries(fields.map(([name, value]) => [name, [value].flat().at(-1) ?? ''])),
  };
}

function formOptions(folder: string, max_file_bytes: number): ExtendedFormidableOptions {
  return {
    uploadDir: folder,
    maxFiles: 1,
    maxFileSize: max_file_bytes,
    maxTotalFileSize: max_file_bytes,
    maxFields: MAX_FIELDS,
    maxFieldsSize: FORM_BYTES,
    allowEmptyFiles: true,
    minFileSize: 0,
    // The parser takes a part without a content type for a field, in memory, though it has a filename.
    onPart: (part, handle) => {
      if (part.originalFilename !== null && !part.mimetype) part.mimetype = 'application/octet-stream';
      return handle(part);
    },
  };
}

const missingFile = () =>
  new ValidationError([
    { loc: ['body', 'file'], msg: 'a file is required: a form (multipart/form-data) with one', type: 'missing' },
  ]);

function toUploadError(error: Error, ctx: Context, max_file_bytes: number): Error {
  if (ctx.req.destroyed && !ctx.req.complete) return new ClientGone('the client left while it sent the file');
  const { code, httpCode } = error as { code?: unknown; httpCode?: number };
  if (code === TOO_MANY_FILES)
    return new ValidationError([{ loc: ['body'], msg: 'one file is taken, not more', type: 'too_many_files' }]);
  if (TOO_LARGE.includes(Number(code))) return tooLarge(max_file_bytes);
  if (httpCode !== undefined) return new HttpError(400, 'invalid_form', 'The form (multipart/form-data) is broken.');
  return error;
}

/** formidable's `maxFilesExceeded`, `biggerThanTotalMaxFileSize` and `biggerThanMaxFileSize`. */
const TOO_MANY_FILES = 1015;
const TOO_LARGE = [1009, 1016];

/** Removes what requests of a process that was killed left behind. Others may be receiving files: only old ones go. */
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
