// The errors of a store that speaks S3, as faults of a store.

/** The store does not answer, or answers that it cannot do it now. */
export class BlobsUnavailable extends Error {
  readonly code = 'unavailable';
  readonly dependency = 'store of files';
}

/** The store has no room: nothing was written. */
class BlobsFull extends Error {
  readonly code = 'storage_full';
}

interface S3Error extends Error {
  $metadata?: { httpStatusCode?: number };
}

const FULL: ReadonlySet<string> = new Set([
  ...['XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'QuotaExceeded', 'InsufficientCapacity'],
]);
const MISSING: ReadonlySet<string> = new Set(['NoSuchKey', 'NotFound']);

export const isMissing = (error: unknown): boolean => MISSING.has((error as S3Error).name);

/** Why the store refuses what the settings ask for, such as a wrong secret or a missing bucket; null for what passes by itself. */
export function refusalOf(error: unknown): string | null {
  const { name, message, $metadata } = ((error as Error).cause ?? error) as S3Error;
  if (name === 'CredentialsProviderError') return message;
  const status = $metadata?.httpStatusCode ?? 500;
  return status < 300 || status >= 500 || status === 408 || status === 429 ? null : `${name}: ${message}`;
}

/** Waits for the store's answer. Throws `BlobsUnavailable` or `BlobsFull`. */
export async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw faultOf(error);
  }
}

/**
 * The fault that an error of a request stands for. The settings were right at the start, so a refusal passes as well once
 * somebody mends the store; what is not an answer of the store is a fault of the way to it.
 */
export function faultOf(error: unknown): BlobsUnavailable | BlobsFull {
  const { name, message } = error as S3Error;
  if (FULL.has(name)) return new BlobsFull(message, { cause: error });
  return new BlobsUnavailable(`the store of files: ${name}: ${message}`, { cause: error });
}
