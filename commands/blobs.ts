// The port of stored files, which keeps uploads byte for byte. Adapters: `adapters/blobs/{files,s3}`. Decision 72 says why.
import type { Readable } from 'node:stream';

/** Every method that takes a key throws `InvalidKeyError` (code `invalid_key`) for text that is no key. */
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
  /**
   * Yields the blobs whose keys begin with the text `prefix`, in no particular order and in memory that does not grow with their number.
   * A blob that is put or deleted meanwhile may be missing. `''` lists all; any other
   * prefix is a key, with or without a `/` at its end.
   * @example for await (const { key, size_bytes } of blobs.list('uploads/')) total += size_bytes;
   */
  list(prefix: string): AsyncIterable<BlobEntry>;
  /**
   * Returns a URL that gives the content to whoever holds it, without credentials, until `expires_at`. A client saves it as a file and
   * runs nothing of it. The blob need not exist: the URL then answers 404.
   */
  link(key: string, link: BlobLink): Promise<string>;
}

export interface BlobEntry {
  key: string;
  size_bytes: number;
}

export interface BlobLink {
  /** ISO 8601, at most seven days from now; a fraction of a second does not count. */
  expires_at: string;
  /** The name of the file that a client saves. */
  file_name: string;
  content_type: string;
}

const MAX_KEY_LENGTH = 1_000;
const MAX_WORD_LENGTH = 200;
const WORD = /^[A-Za-z0-9._-]+$/;

class InvalidKeyError extends Error {
  readonly code = 'invalid_key';
}

/**
 * Throws `InvalidKeyError` for text that is no key.
 * @example assertKey('uploads/../secret') // throws
 */
export function assertKey(key: string): void {
  if (!isKey(key)) throw new InvalidKeyError(`${JSON.stringify(key)} is not words of [A-Za-z0-9._-] with / between`);
}

export const isKey = (key: string): boolean => key.length <= MAX_KEY_LENGTH && key.split('/').every(isWord);

/**
 * Throws `InvalidKeyError` for text that is no key, with or without a `/` at its end.
 * @example assertPrefix('uploads//') // throws
 */
export function assertPrefix(prefix: string): void {
  if (prefix !== '' && !isKey(prefix.replace(/\/$/, ''))) {
    throw new InvalidKeyError(
      `${JSON.stringify(prefix)} is neither words of [A-Za-z0-9._-] with / between, nor such words and a /`,
    );
  }
}

const isWord = (word: string) => WORD.test(word) && word.length <= MAX_WORD_LENGTH && word !== '.' && word !== '..';
