// Stores blobs in a bucket of a store that speaks S3. Its client retries what may be retried; what fails then is a fault of the store.
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListObjectsV2Command,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { assertKey, assertPrefix, type Blobs, isKey } from '../../../commands/blobs.ts';
import { attachment } from '../../../http/results/export/file-name.ts';
import type { BlobBucket } from '../../../settings/blob-url.ts';
import { TIME_LIMITS } from '../../../time/time-limits.ts';
import { removeAbandoned } from '../abandoned.ts';
import { asked, faultOf, isMissing, refusalOf } from './errors.ts';
import { type ObjectName, putObject } from './put-object.ts';
import { readVersioned, replaceVersion, type VersionedText } from './versioned-object.ts';

export interface S3BlobsOptions extends Omit<BlobBucket, 'kind'> {
  /** A folder of this machine for the copies that `file` makes, and for nothing else. */
  folder: string;
  /** How long one request may wait for its answer. Default 10 s. */
  answer_ms?: number;
}

export interface S3Blobs extends Blobs {
  /** A small blob; null when no blob has the key. */
  getVersioned(key: string): Promise<VersionedText | null>;
  /** Stores a text that was never stored, unless the blob has another version. Returns whether it did. Null stands for no blob. */
  replace(key: string, text: string, version: string | null): Promise<boolean>;
  close(): Promise<void>;
}

/** Tries of one request, with the client's own back-off. */
const TRIES = 3;
const CONNECT_MS = TIME_LIMITS.S3.longest_wait_ms;
const ANSWER_MS = TIME_LIMITS.S3.answer_ms;
/** Without a byte, of a body too. */
const SILENT_MS = TIME_LIMITS.S3.silent_ms;
/** Readers of large blobs hold a connection for as long as they read. */
const MAX_CONNECTIONS = 500;
const FILE_MODE = 0o600;
const TRIAL_KEY = '.trial';

/**
 * Tries the bucket: lists, writes and deletes. Throws `BlobsUnavailable` (code `unavailable`) while the store is away, and an Error
 * that names what the store refuses.
 */
export async function openS3Blobs(options: S3BlobsOptions): Promise<S3Blobs> {
  const { bucket, prefix, folder } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeAbandoned(folder);
  const client = new S3Client(clientConfig(options, options.endpoint));
  const linking = new S3Client(clientConfig(options, options.public_endpoint ?? options.endpoint));
  const at = (key: string) => {
    assertKey(key);
    return { Bucket: bucket, Key: prefix + key };
  };

  const get: Blobs['get'] = async (key) => readObject(client, at(key));

  const blobs: S3Blobs = {
    put: async (key, content) => putObject(client, at(key), content),
    get,
    getVersioned: async (key) => readVersioned(client, at(key)),
    replace: async (key, text, version) => replaceVersion(client, at(key), text, version),

    async file(key) {
      const content = await get(key);
      if (content === null) return null;
      const path = join(folder, randomUUID());
      const release = () => rm(path, { force: true });
      try {
        await pipeline(content, createWriteStream(path, { flags: 'wx', mode: FILE_MODE }));
      } catch (error) {
        await release();
        throw error;
      }
      return { path, release };
    },

    async delete(key) {
      await asked(client.send(new DeleteObjectCommand(at(key))));
    },

    async *list(start) {
      assertPrefix(start);
      let token: string | undefined;
      do {
        const of_page = { Bucket: bucket, Prefix: prefix + start, ...(token && { ContinuationToken: token }) };
        const page = await asked(client.send(new ListObjectsV2Command(of_page)));
        for (const { Key = '', Size = 0 } of page.Contents ?? []) {
          const key = Key.slice(prefix.length);
          // A bucket's owner may have made folders, which are objects of no key of ours.
          if (isKey(key)) yield { key, size_bytes: Size };
        }
        token = page.NextContinuationToken;
      } while (token);
    },

    async link(key, { expires_at, file_name, content_type }) {
      // The store adds the time to the second of the signature. A link for the past is signed in the past.
      const expires_s = Math.floor(Date.parse(expires_at) / 1000);
      const signed_s = Math.min(Math.floor(Date.now() / 1000), expires_s - 1);
      const command = new GetObjectCommand({
        ...at(key),
        ResponseContentDisposition: attachment(file_name),
        ResponseContentType: content_type,
      });
      return getSignedUrl(linking, command, {
        signingDate: new Date(signed_s * 1000),
        expiresIn: expires_s - signed_s,
      });
    },

    async close() {
      client.destroy();
      linking.destroy();
    },
  };
  try {
    await blobs.list(TRIAL_KEY)[Symbol.asyncIterator]().next();
    await blobs.put(TRIAL_KEY, Readable.from([]));
    await blobs.delete(TRIAL_KEY);
  } catch (error) {
    await blobs.close();
    const refusal = refusalOf(error);
    throw refusal === null ? error : new Error(refusal, { cause: error });
  }
  return blobs;
}

function clientConfig(options: S3BlobsOptions, endpoint: string | null): S3ClientConfig {
  const { region, path_style: forcePathStyle, credentials, answer_ms = ANSWER_MS } = options;
  return {
    ...{ forcePathStyle, maxAttempts: TRIES },
    ...(region === null ? {} : { region }),
    ...(endpoint === null ? {} : { endpoint }),
    ...(credentials && {
      credentials: { accessKeyId: credentials.access_key_id, secretAccessKey: credentials.secret_access_key },
    }),
    // Not every store knows the newer checksums; the signature covers the content.
    ...{ requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED' },
    requestHandler: {
      ...{ connectionTimeout: CONNECT_MS, requestTimeout: answer_ms, throwOnRequestTimeout: true },
      socketTimeout: SILENT_MS,
      httpAgent: { maxSockets: MAX_CONNECTIONS },
      httpsAgent: { maxSockets: MAX_CONNECTIONS },
    },
  };
}

// Reads an object as a stream. A connection that breaks or falls silent is replaced by another one, which begins at the next byte.

/** Connections in a row that break without a byte. */
const MAX_FAILURES = 3;

/** Null when there is no such object. The stream fails when the object changes or goes before its end. */
async function readObject(client: S3Client, object: ObjectName): Promise<Readable | null> {
  let answer: GetObjectCommandOutput;
  try {
    answer = await client.send(new GetObjectCommand(object));
  } catch (error) {
    if (isMissing(error)) return null;
    throw faultOf(error);
  }
  const { ETag, ContentLength: size_bytes = 0 } = answer;
  let body = answer.Body as Readable;
  let pieces = body[Symbol.asyncIterator]();
  let read_bytes = 0;
  let failures = 0;

  async function next(): Promise<IteratorResult<Buffer>> {
    while (read_bytes < size_bytes) {
      try {
        const piece: IteratorResult<Buffer> = await pieces.next();
        if (piece.done) throw new Error('the answer ended before the object');
        read_bytes += piece.value.length;
        failures = 0;
        return piece;
      } catch (error) {
        failures += 1;
        if (failures > MAX_FAILURES) throw faultOf(error);
        const rest = { ...object, Range: `bytes=${read_bytes}-`, ...(ETag && { IfMatch: ETag }) };
        body = (await asked(client.send(new GetObjectCommand(rest)))).Body as Readable;
        pieces = body[Symbol.asyncIterator]();
      }
    }
    return { done: true, value: undefined };
  }
  // Also a reader that leaves before its first byte frees the connection.
  const leave = async () => {
    body.destroy();
    return { done: true as const, value: undefined };
  };
  return Readable.from({ [Symbol.asyncIterator]: () => ({ next, return: leave }) }, { objectMode: false });
}
