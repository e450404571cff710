// The port of stored files: what was uploaded, kept byte for byte. Adapters: `adapters/blobs/{files,s3}`.
import type { Readable } from 'node:stream';

export interface Blobs {
  /** Whole or not at all. A key is `/`-separated words of `[A-Za-z0-9._-]`. */
  put(key: string, content: Readable): Promise<{ size_bytes: number }>;
  /** Null when there is no such blob. */
  get(key: string): Promise<Readable | null>;
  /** Not an error when there is none. */
  delete(key: string): Promise<void>;
}
