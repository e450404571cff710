// Maps errors of MongoDB's driver to the port's errors.
import { MongoError, MongoNetworkError, MongoServerError } from 'mongodb';
import {
  DuplicateKey,
  ReadTooSlow,
  TransactionTooLarge,
  UnsupportedQuery,
  WriteConflict,
} from '../../../readmodels/documents.ts';
import { StoreFull, StoreUnavailable } from '../unavailable.ts';

const UNAUTHORIZED = 13;
const DUPLICATE_KEY = 11000;
const WRITE_CONFLICT = 112;
const NAMESPACE_EXISTS = 48;
const MAX_TIME_EXPIRED = 50;
const NAMESPACE_NOT_FOUND = 26;
const OUT_OF_DISK_SPACE = 14031;
const TRANSACTION_TOO_LARGE_FOR_CACHE = 388;
/**
 * What the server refuses of a document, an update or a filter, whoever asks and however often: bad values, `$inc` of what is not
 * a number, overflow, a field inside a scalar, names that fields cannot have, a document that is too large, a pattern not in PCRE.
 */
const NOT_IN_SUBSET = [2, 9, 14, 15, 22, 28, 40, 52, 55, 56, 57, 66, 121, 10334, 17280, 17419, 17420, 51091];
/** Names of the errors by which the driver refuses its input. */
const NOT_SENT = ['MongoInvalidArgumentError', 'BSONError', 'BSONRuntimeError', 'BSONVersionError', 'BSONOffsetError'];
/** Codes of a connection that breaks. The driver passes the socket's own error on when it waits for room in the socket's buffer. */
const BROKEN: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** Codes of a server that is stopped, steps down, or is not reached in time. */
const NOT_THERE = [6, 7, 74, 76, 89, 91, 94, 133, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436];

const hasLabel = (error: unknown, label: string): boolean => error instanceof MongoError && error.hasErrorLabel(label);

/** The driver gives no label to the errors of a connection whose pool it has meanwhile cleared, nor to the socket's own. */
const isBrokenConnection = (error: unknown): boolean =>
  error instanceof MongoNetworkError || (error instanceof Error && BROKEN.has((error as NodeJS.ErrnoException).code));

/** Before its commit the transaction has no effect, so the caller can run it again. */
export const isTransient = (error: unknown): boolean =>
  hasLabel(error, 'TransientTransactionError') || isBrokenConnection(error);

/**
 * Whether a commit that failed with this error may have succeeded: the caller can repeat it. The driver throws a `TypeError` where the
 * socket's own error ends a commit, because it looks for labels on it.
 */
export const isUnknownCommit = (error: unknown): boolean =>
  hasLabel(error, 'UnknownTransactionCommitResult') || isBrokenConnection(error) || !(error instanceof MongoError);

export const isNamespaceExists = (error: unknown): boolean => codeOf(error) === NAMESPACE_EXISTS;

export const isNamespaceNotFound = (error: unknown): boolean => codeOf(error) === NAMESPACE_NOT_FOUND;

export const isUnauthorized = (error: unknown): boolean => codeOf(error) === UNAUTHORIZED;

/** Returns the port's error for `error`, with the driver's as its cause, or `error` itself when the port has none. */
export function portError(error: unknown): unknown {
  if (error instanceof Error && NOT_SENT.includes(error.name))
    return new UnsupportedQuery(error.message, { cause: error });
  const options = { cause: error };
  if (error instanceof Error && isBrokenConnection(error)) return new StoreUnavailable(error.message, options);
  if (!(error instanceof MongoError)) return error;
  const code = codeOf(error);
  if (code === MAX_TIME_EXPIRED) return new ReadTooSlow(error.message, options);
  if (code === DUPLICATE_KEY) return new DuplicateKey(error.message, options);
  if (code !== null && NOT_IN_SUBSET.includes(code)) return new UnsupportedQuery(error.message, options);
  if (code === TRANSACTION_TOO_LARGE_FOR_CACHE) return new TransactionTooLarge(error.message, options);
  if (code === OUT_OF_DISK_SPACE) return new StoreFull(error.message, options);
  if (isUnreachable(error, code)) return new StoreUnavailable(error.message, options);
  if (code === WRITE_CONFLICT || isTransient(error)) return new WriteConflict(error.message, options);
  return error;
}

function codeOf(error: unknown): number | null {
  if (error instanceof MongoServerError && typeof error.code === 'number') return error.code;
  return null;
}

// By name: the driver does not export all of these classes. The others extend MongoNetworkError.
const UNREACHABLE = new Set([
  'MongoServerSelectionError',
  'MongoNotConnectedError',
  'MongoServerClosedError',
  'MongoTopologyClosedError',
  'MongoPoolClosedError',
  'MongoStalePrimaryError',
  'MongoWaitQueueTimeoutError',
  'MongoOperationTimeoutError',
]);

function isUnreachable(error: MongoError, code: number | null): boolean {
  if (code !== null) return NOT_THERE.includes(code);
  // Also when the driver itself interrupted the call, because its monitor had no answer from the server.
  return error instanceof MongoNetworkError || UNREACHABLE.has(error.name);
}
