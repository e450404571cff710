// Sends a file that is held in memory: compressed where the client takes that, and not at all where it has the same one.
import type { Context } from 'koa';
import type { Reply } from '../route.ts';

export interface StoredFile {
  content_type: string;
  etag: string;
  bytes: Buffer;
  gzipped: Buffer;
}

export function sendStored(
  { content_type, etag, bytes, gzipped }: StoredFile,
  ctx: Pick<Context, 'get' | 'acceptsEncodings'>,
  headers: Readonly<Record<string, string>>,
): Reply {
  const common = { etag, vary: 'Accept-Encoding', ...headers };
  if (ctx.get('if-none-match').includes(etag)) return { status: 304, headers: common };
  const encoding = ctx.acceptsEncodings('gzip', 'identity');
  if (encoding !== 'gzip') return { body: bytes, headers: { ...common, 'content-type': content_type } };
  return { body: gzipped, headers: { ...common, 'content-type': content_type, 'content-encoding': 'gzip' } };
}
