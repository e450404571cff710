// Reading request bodies, with a limit on each: JSON and raw bytes.
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { bodyChunks } from './body-chunks.ts';
import { HttpError, ValidationError } from './errors.ts';
import type { JsonBody, RawBody } from './route.ts';

const MAX_DEPTH = 32;
/** What a body may hold: parsing tens of millions of values takes gigabytes, and a minute in which nobody is answered. */
export const MAX_VALUES = 10_000_000;
const MAX_CONTAINERS = 10_000;
/** Smaller ones are parsed in milliseconds, whatever they hold. */
const COUNTED_FROM_BYTES = 64 * 1024;

/** Whether the request says that a body follows. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

export function tooLarge(limit_bytes: number): HttpError {
  return new HttpError(413, 'too_large', `The body is larger than ${limit_bytes} bytes.`);
}

/** What is known of a body before it is read: whether it is compressed, and the length that is announced. */
function assertTakes(ctx: Context, limit_bytes: number): void {
  if (ctx.get('content-encoding') !== '' && ctx.get('content-encoding') !== 'identity') {
    throw new HttpError(415, 'unsupported_encoding', 'Compressed bodies are not taken.');
  }
  if (Number(ctx.get('content-length')) > limit_bytes) throw tooLarge(limit_bytes);
}

/** At once when the announced length is over the limit, else when what came is. */
async function readAll(ctx: Context, limit_bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksAtMost(ctx, limit_bytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
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

/** A JSON body as its bytes come, at the pace of whoever takes them. What is not taken is left to be read away. */
export async function* readJsonChunks(ctx: Context, limit_bytes: number): AsyncGenerator<Buffer> {
  assertJsonType(ctx);
  yield* chunksAtMost(ctx, limit_bytes);
}

export async function readRaw(ctx: Context, body: RawBody): Promise<Buffer> {
  return hasBody(ctx.req) ? await readAll(ctx, body.limit_bytes) : Buffer.alloc(0);
}

/** The parsed value and how large it was. UTF-8 only, as JSON has to be (RFC 8259, 8.1). */
export async function readJson(ctx: Context, body: JsonBody): Promise<{ value: unknown; size_bytes: number }> {
  if (!hasBody(ctx.req)) return { value: absent(body), size_bytes: 0 };
  assertJsonType(ctx);
  const bytes = await readAll(ctx, body.limit_bytes);
  if (bytes.length > COUNTED_FROM_BYTES) assertFewValues(bytes);
  const value = parseJson(bytes);
  return { value: value === undefined ? absent(body) : value, size_bytes: bytes.length };
}

/** Undefined for no text at all: a body of unknown length may turn out to be empty. */
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
  if (!ctx.is('json', '+json')) {
    const given = ctx.get('content-type') || 'none';
    throw new HttpError(
      415,
      'unsupported_media_type',
      `The body must be application/json; the content type is ${given}.`,
    );
  }
  const { charset } = ctx.request;
  if (charset !== '' && !/^utf-?8$/i.test(charset)) {
    throw new HttpError(415, 'unsupported_charset', 'JSON is taken in UTF-8 only.');
  }
}

/** Counts what stands outside strings; in UTF-8 no byte of a longer character looks like one of these. */
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

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new HttpError(400, 'invalid_encoding', 'The body is not UTF-8.');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpError(400, 'invalid_json', `The body is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
}

/** Not nested deeper than any schema goes, which could exhaust the stack of whoever walks it. */
function assertShallow(root: unknown): void {
  let level: object[] = isContainer(root) ? [root] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new HttpError(400, 'too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`);
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;
