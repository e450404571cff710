// Decompresses a request body (RFC 9110, 8.4) as a stream. Its reader limits the decompressed size.
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { HttpError } from '../errors.ts';

const INFLATERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
const TAKEN_ENCODINGS = 'gzip, deflate, br';

/**
 * `encoding` is the value of Content-Encoding. Throws 415 at once for an unknown encoding, and 400 while reading a broken body.
 * @example for await (const chunk of inflated(bodyChunks(ctx), 'gzip')) size_bytes += chunk.length;
 */
export function inflated(body: AsyncIterable<Buffer>, encoding: string): AsyncIterable<Buffer> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  if (!Object.hasOwn(INFLATERS, name)) {
    const message = `The Content-Encoding of the body must be one of ${TAKEN_ENCODINGS}.`;
    throw new HttpError(415, 'unsupported_encoding', message, undefined, { 'accept-encoding': TAKEN_ENCODINGS });
  }
  return unpack(body, INFLATERS[name]!());
}

async function* unpack(body: AsyncIterable<Buffer>, inflater: Transform): AsyncGenerator<Buffer> {
  const fed = pipeline(body, inflater);
  // The inflater throws the same error to its reader.
  fed.catch(() => {});
  try {
    yield* inflater as AsyncIterable<Buffer>;
  } catch (error) {
    if (!isNotInFormat(error)) throw error;
    throw new HttpError(400, 'invalid_encoding', 'The body does not match its Content-Encoding, or breaks off.');
  } finally {
    inflater.destroy();
  }
}

function isNotInFormat(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code ?? '');
  return code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR');
}
