// A request body that was compressed on the way (RFC 9110, 8.4), unpacked as it comes. Whoever reads it counts what it comes to.
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { HttpError } from './errors.ts';

const INFLATERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
export const TAKEN_ENCODINGS = 'gzip, deflate, br';

/** `encoding`: the header's value. Throws 415 for one that is not taken, at once, and 400 for a body that is not in it. */
export function inflated(body: AsyncIterable<Buffer>, encoding: string): AsyncIterable<Buffer> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  if (!Object.hasOwn(INFLATERS, name)) {
    const message = `The body is compressed in a way that is not taken. Taken are ${TAKEN_ENCODINGS}.`;
    throw new HttpError(415, 'unsupported_encoding', message, undefined, { 'accept-encoding': TAKEN_ENCODINGS });
  }
  return unpack(body, INFLATERS[name]!());
}

async function* unpack(body: AsyncIterable<Buffer>, inflater: Transform): AsyncGenerator<Buffer> {
  const fed = pipeline(body, inflater);
  // Its error comes out of the inflater too.
  fed.catch(() => {});
  try {
    yield* inflater as AsyncIterable<Buffer>;
  } catch (error) {
    if (!isNotInFormat(error)) throw error;
    throw new HttpError(400, 'invalid_encoding', `The body is not what its Content-Encoding says, or is cut off.`);
  } finally {
    inflater.destroy();
  }
}

function isNotInFormat(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code ?? '');
  return code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR');
}
