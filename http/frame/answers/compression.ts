// Compresses JSON, CSV and text for clients that take gzip. Results shrink to about a tenth. Decision 163 says why.
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createGzip, gzip } from 'node:zlib';
import type { Middleware } from 'koa';
import { restTurn } from '../request-turns.ts';

/** Shorter answers gain nothing, and secrets that are shown once are in such. */
const LEAST_BYTES = 1024;
const TYPES: ReadonlySet<string> = new Set(['application/json', 'text/csv', 'text/plain', 'text/markdown']);
/** The fastest level takes a fifth of the default one's time. */
const OPTIONS = { level: constants.Z_BEST_SPEED };

const deflated = promisify<Buffer | string, object, Buffer>(gzip);
/** Of answers that are sent again and again, such as kept replies. */
const known = new WeakMap<Buffer, Promise<Buffer>>();

function gzipped(body: Buffer | string): Promise<Buffer> {
  if (typeof body === 'string') return deflated(body, OPTIONS);
  const before = known.get(body);
  if (before) return before;
  const made = deflated(body, OPTIONS);
  known.set(body, made);
  return made;
}

/** Leaves answers alone that are compressed already, and streams of events, which may not wait for a full block. */
export const compressAnswers: Middleware = async (ctx, next) => {
  await next();
  const { body } = ctx;
  const is_whole = typeof body === 'string' || Buffer.isBuffer(body);
  if (!is_whole && !(body instanceof Readable)) return;
  if (is_whole && body.length < LEAST_BYTES) return;
  if (ctx.respond === false || !TYPES.has(ctx.response.type) || ctx.res.hasHeader('Content-Encoding')) return;
  ctx.vary('Accept-Encoding');
  if (ctx.method === 'HEAD' || ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return;
  ctx.set('Content-Encoding', 'gzip');
  restTurn(ctx.req);
  if (is_whole) {
    ctx.body = await gzipped(body);
    return;
  }
  ctx.remove('Content-Length');
  // The pipeline passes a failure on to the compressed stream, whose end Koa watches, and its end back to the source.
  ctx.body = pipeline(body, createGzip(OPTIONS), () => {});
};
