// The port of stored files, which keeps uploads byte for byte. Adapters: `adapters/blobs/{files,s3}`.
import type { Readable } from 'node:stream';

export interface Blobs {
  /** Stores the whole content or nothing. A key is `/`-separated words of `[A-Za-z0-9._-]`. */
  put(key: string, content: Readable): Promise<{ size_bytes: number }>;
  /** Null when no blob has the key. */
  get(key: string): Promise<Readable | null>;
  /**
   * A file of this machine with the content, unchanged and readable until `release` or the blob's deletion. Null when no blob has the
   * key.
   */
  file(key: string): Promise<{ path: string; release(): Promise<void> } | null>;
  /** Succeeds also when no blob has the key. */
  delete(key: string): Promise<void>;
}
