// Writes replies, JSON with an entity tag or streams, and discards request bodies that no handler read.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import { hasBody } from '../input/bodies.ts';
import { isAwaitingContinue } from '../input/body-chunks.ts';
import { restTurn } from '../request-turns.ts';
import type { Reply, Route } from '../route.ts';
import { successStatus } from '../route.ts';
import { setHeaders } from './headers.ts';
import { hasLongList, jsonPieces } from './json-pieces.ts';
import { JsonText, tagOf } from './json-text.ts';

/** Larger bodies get no ETag, because hashing them would block the event loop. */
const MAX_TAGGED_BYTES = 1024 * 1024;

const JSON_TYPE = 'application/json; charset=utf-8';
const JSON_HEADERS = { 'Content-Type': JSON_TYPE };

/** Writes the reply of a handler to the response. Throws what the reply's stream throws before its first bytes. */
export async function writeReply(ctx: Context, route: Pick<Route, 'responses'>, reply: Reply): Promise<void> {
  const { body, stream, headers = {} } = reply;
  const status = reply.status ?? successStatus(route)!;
  ctx.status = status;
  const content_type = headers['content-type'] ?? route.responses[status]?.content_type;
  if (stream) await writeStream(ctx, stream, content_type ?? 'application/octet-stream');
  else if (body === undefined || body === null) {
    ctx.body = null;
    // Koa takes an answer without a body for 204.
    ctx.status = status;
  } else if (typeof body === 'string' || body instanceof Uint8Array) {
    // The type comes before the body, because Koa takes text that starts with `<` for HTML.
    const type = content_type ?? 'text/plain; charset=utf-8';
    setHeaders(ctx, { 'Content-Type': type });
    if (body.length > MAX_AT_ONCE_BYTES) await writeInPieces(ctx, Buffer.from(body as string), type);
    else ctx.body = typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  } else if (body instanceof JsonText && body.bytes.length > MAX_AT_ONCE_BYTES) {
    await writeInPieces(ctx, body.bytes, JSON_TYPE);
  } else if (body instanceof JsonText) writeJsonText(ctx, body);
  else if (hasLongList(body)) await writeLongJson(ctx, body);
  else writeJson(ctx, body);
  setHeaders(ctx, headers);
}

/** A larger body is written as its client reads it: what waits on a connection is bounded, whatever the size of its answer. */
const MAX_AT_ONCE_BYTES = 4 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

async function writeInPieces(ctx: Context, bytes: Buffer, content_type: string): Promise<void> {
  const pieces = function* () {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
  };
  await writeStream(ctx, Readable.from(pieces(), { objectMode: false }), content_type);
}

/** Writes a JSON body with its ETag, for replies and errors. */
export function writeJson(ctx: Context, body: object): void {
  writeText(ctx, JSON.stringify(body));
}

async function writeLongJson(ctx: Context, body: object): Promise<void> {
  const pieces = jsonPieces(body);
  const first: Buffer[] = [];
  for (let size_bytes = 0; size_bytes <= MAX_TAGGED_BYTES; ) {
    const { value, done } = await pieces.next();
    if (done) {
      writeText(ctx, Buffer.concat(first).toString());
      return;
    }
    first.push(value);
    size_bytes += value.length;
  }
  const all = async function* () {
    yield* first.splice(0);
    yield* pieces;
  };
  await writeStream(ctx, Readable.from(all(), { objectMode: false }), JSON_TYPE);
}

function writeText(ctx: Context, text: string): void {
  setHeaders(ctx, JSON_HEADERS);
  ctx.body = text;
  const is_taggable = ctx.status === 200 && (ctx.method === 'GET' || ctx.method === 'HEAD');
  if (!is_taggable || text.length > MAX_TAGGED_BYTES) return;
  writeTag(ctx, tagOf(text));
}

function writeJsonText(ctx: Context, { bytes, tag }: JsonText): void {
  setHeaders(ctx, JSON_HEADERS);
  ctx.body = bytes;
  writeTag(ctx, tag);
}

/** A client that has the answer already gets its headers alone. */
function writeTag(ctx: Context, tag: string): void {
  setHeaders(ctx, { ETag: `W/${tag}` });
  // If-None-Match uses weak comparison (RFC 9110, 13.1.2).
  const known = ctx.get('if-none-match');
  if (known === '') return;
  const tags = known.split(',').map((one) => one.trim().replace(/^W\//, ''));
  if (tags.includes(tag) || tags.includes('*')) ctx.status = 304;
}

/**
 * Waits for the stream's first bytes, so that a failure before them becomes an error answer. A later failure cuts the connection, so
 * that the client sees that its answer is incomplete.
 */
async function writeStream(ctx: Context, stream: Readable, content_type: string): Promise<void> {
  ctx.set('Content-Type', content_type);
  if (ctx.method === 'HEAD') {
    stream.destroy();
    ctx.respond = false;
    ctx.res.writeHead(ctx.status).end();
    return;
  }
  if (stream.readableLength === 0 && !stream.readableEnded) await firstBytes(stream);
  restTurn(ctx.req);
  ctx.body = stream;
}

/** Calls `done` when the answer is sent or its client leaves, and at once when that has happened: the event does not come again. */
export function onceClosed(res: ServerResponse, done: () => void): void {
  if (res.closed) done();
  else res.once('close', done);
}

async function firstBytes(stream: Readable): Promise<void> {
  if (stream.errored) throw stream.errored;
  await new Promise<void>((resolve, reject) => {
    const settle = (error?: Error) => {
      stream.off('readable', settle).off('end', settle).off('close', settle).off('error', settle);
      if (error) reject(error);
      else resolve();
    };
    stream.on('readable', settle).on('end', settle).on('close', settle).on('error', settle);
  });
}

/** The most bytes, and the most time, that the service discards from a client after its answer. */
const LINGER_BYTES = 8 * 1024 * 1024;
const LINGER_MS = 2000;
/** The longest unread body after which the service keeps the connection open. */
const KEEP_ALIVE_BYTES = 64 * 1024;

/**
 * Sends an answer that precedes the end of the request's body (401, 413), discards the body, then closes the connection. Closing a
 * socket with unread bytes would reset it, and the client would lose its answer.
 */
export const answerEarly: Middleware = (ctx, next) => (hasBody(ctx.req) ? early(ctx, next) : next());

const early: Middleware = async (ctx, next) => {
  await next();
  const { req, res } = ctx;
  if (req.complete || req.destroyed || res.headersSent) return;
  const is_short = Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= KEEP_ALIVE_BYTES;
  const { body } = ctx;
  // Node discards the rest of a short body.
  if (is_short && !isAwaitingContinue(req)) return;
  ctx.set('Connection', 'close');
  if (isAwaitingContinue(req) || (typeof body !== 'string' && !Buffer.isBuffer(body))) return;
  ctx.respond = false;
  ctx.length = Buffer.byteLength(body);
  res.writeHead(ctx.status, { 'content-length': Buffer.byteLength(body) });
  res.write(body);
  await discardBody(req);
  res.end();
};

/** Answers a request without the application, discards the rest of its body, and closes the connection. */
export async function answerAndClose(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, headers }: { status: number; body: object | string; headers?: Readonly<Record<string, string>> },
): Promise<void> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(text),
    'X-Request-ID': randomUUID(),
    connection: 'close',
    ...headers,
  });
  if (request.method !== 'HEAD') response.write(text);
  if (hasBody(request) && !request.complete && !isAwaitingContinue(request)) await discardBody(request);
  response.end();
}

async function discardBody(request: IncomingMessage): Promise<void> {
  let left_bytes = LINGER_BYTES;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, LINGER_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => (left_bytes -= chunk.length) < 0 && done());
    request.once('end', done).once('close', done).once('error', done).resume();
  });
}
