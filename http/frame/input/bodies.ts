// Reads request bodies, JSON and raw bytes, each up to a limit. Decision 177 says why koa-body does not.
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { HttpError, ValidationError } from '../errors.ts';
import type { JsonBody, RawBody } from '../request-bodies.ts';
import { bodyChunks } from './body-chunks.ts';

const MAX_DEPTH = 32;
/** The most values in a body. Parsing tens of millions takes gigabytes, and blocks the event loop for a minute. */
export const MAX_VALUES = 10_000_000;
const MAX_CONTAINERS = 10_000;
/** The parser reads smaller bodies within milliseconds, so the service does not count their values. */
const COUNTED_FROM_BYTES = 64 * 1024;

/** Whether the headers of the request announce a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

export function tooLarge(limit_bytes: number): HttpError {
  return new HttpError(413, 'too_large', `The body is larger than ${limit_bytes} bytes.`);
}

export const compressedBody = () =>
  new HttpError(415, 'unsupported_encoding', 'This route takes no compressed bodies.');

/** Checks the headers that describe the body. Throws 415 for a compressed body, 413 for an announced length over the limit. */
function assertTakes(ctx: Context, limit_bytes: number): void {
  if (ctx.get('content-encoding') !== '' && ctx.get('content-encoding') !== 'identity') {
    throw compressedBody();
  }
  if (Number(ctx.get('content-length')) > limit_bytes) throw tooLarge(limit_bytes);
}

async function readAll(ctx: Context, limit_bytes: number): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(chunksAtMost(ctx, limit_bytes)));
}

async function* chunksAtMost(ctx: Context, limit_bytes: number): AsyncGenerator<Buffer> {
  assertTakes(ctx, limit_bytes);
  let size_bytes = 0;
  for await (const chunk of bodyChunks(ctx)) {
    size_bytes += chunk.length;
    if (size_bytes > limit_bytes) throw tooLarge(limit_bytes);
    yield chunk;
  }
}

/** Yields the bytes of a JSON body at the pace of its consumer. Throws like `readJson`. `answerEarly` discards bytes that nobody consumed. */
export function readJsonChunks(ctx: Context, limit_bytes: number): AsyncGenerator<Buffer> {
  assertJsonType(ctx);
  return chunksAtMost(ctx, limit_bytes);
}

/** Reads the whole body, or no bytes when the request has none. Throws 413, 415, 408 and ClientGone. */
export async function readRaw(ctx: Context, body: RawBody): Promise<Buffer> {
  return hasBody(ctx.req) ? await readAll(ctx, body.limit_bytes) : Buffer.alloc(0);
}

/** Parses the body as UTF-8 (RFC 8259, 8.1). Throws HttpError with 400, 408, 413, 415 or 422, and ClientGone. */
export async function readJson(ctx: Context, body: JsonBody): Promise<{ value: unknown; size_bytes: number }> {
  if (!hasBody(ctx.req)) return { value: absent(body), size_bytes: 0 };
  assertJsonType(ctx);
  const bytes = await readAll(ctx, body.limit_bytes);
  if (bytes.length > COUNTED_FROM_BYTES) assertFewValues(bytes);
  const value = parseJson(bytes);
  return { value: value === undefined ? absent(body) : value, size_bytes: bytes.length };
}

/** Returns undefined for an empty text: a chunked body may turn out to be empty. Throws 400. */
export function parseJson(bytes: Buffer): unknown {
  const text = decoded(bytes);
  if (text.trim() === '') return undefined;
  const value = parsed(text);
  assertShallow(value);
  return value;
}

function absent(body: JsonBody): unknown {
  if (body.optional) return {};
  throw missingBody();
}

export const missingBody = () => new ValidationError([{ loc: ['body'], msg: 'is required', type: 'missing' }]);

function assertJsonType(ctx: Context): void {
  // As most clients write it.
  if (ctx.get('content-type') === 'application/json') return;
  if (!ctx.is('json', '+json')) {
    throw unsupportedType(ctx.get('content-type') || 'none');
  }
  const { charset } = ctx.request;
  if (charset !== '' && !/^utf-?8$/i.test(charset)) {
    throw new HttpError(415, 'unsupported_charset', 'JSON must be in UTF-8.');
  }
}

export const unsupportedType = (given: string) =>
  new HttpError(415, 'unsupported_media_type', `The body must be application/json; the content type is ${given}.`);
/** `why` ends the sentence. */
export const notJson = (why: string) => new HttpError(400, 'invalid_json', `The body is not JSON: ${why}`);

/** Counts commas and brackets outside strings. In UTF-8 no byte of a longer character equals one of these. */
function assertFewValues(bytes: Buffer): void {
  let commas = 0;
  let containers = 0;
  let in_string = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (in_string) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) in_string = false;
    } else if (byte === QUOTE) in_string = true;
    else if (byte === COMMA) commas++;
    else if (byte === BRACKET || byte === BRACE) containers++;
  }
  if (commas >= MAX_VALUES) throw tooManyValues();
  if (containers > MAX_CONTAINERS) throw tooMany(MAX_CONTAINERS, 'lists and objects');
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

export const tooManyValues = () => tooMany(MAX_VALUES, 'values');
const tooMany = (limit: number, what: string) =>
  new HttpError(413, 'too_many_values', `The body holds more than ${limit.toLocaleString('en')} ${what}.`);

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

function decoded(bytes: Buffer): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw new HttpError(400, 'invalid_encoding', 'The body is not UTF-8.');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJson((error as Error).message.slice(0, 200));
  }
}

/** Throws 400 for a value that is nested deeper than any schema: walking it could exhaust the stack. */
export function assertShallow(root: unknown): void {
  let level: object[] = isContainer(root) ? [root] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new HttpError(400, 'too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`);
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;
