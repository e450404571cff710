// The adapter's errors, and which errors of the server are worth a retry.
import { AssertionError } from 'node:assert';
import { ErrorType, isCommandError } from '@eventstore/db-client';

/**
 * `unavailable`: the server did not answer for `unavailable_after_ms`. An append may or may not have succeeded; the caller may
 * retry it with the same events at the same revision. `closed`: the store was closed.
 */
export type EventStoreErrorCode = 'unavailable' | 'closed';

export class EventStoreError extends Error {
  override readonly name = 'EventStoreError';
  readonly code: EventStoreErrorCode;
  readonly dependency = 'event log';

  constructor(code: EventStoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const PERMANENT_TYPES: readonly string[] = [
  ErrorType.ACCESS_DENIED,
  ErrorType.INVALID_ARGUMENT,
  ErrorType.INVALID_TRANSACTION,
  ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED,
  ErrorType.MISSING_REQUIRED_METADATA_PROPERTY,
  ErrorType.STREAM_DELETED,
  ErrorType.STREAM_NOT_FOUND,
  ErrorType.UNSUPPORTED,
  ErrorType.WRONG_EXPECTED_VERSION,
];

/** gRPC's INVALID_ARGUMENT, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED. */
const PERMANENT_CODES: readonly unknown[] = [3, 7, 8, 9, 11, 12];

/**
 * Whether a retry cannot help. Unknown errors are retried for a bounded time: a broken connection raises many kinds of error,
 * some of them without a type.
 */
export function isPermanent(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  if (isCommandError(error)) return PERMANENT_TYPES.includes(error.type) || PERMANENT_CODES.includes(error.code);
  return (
    error instanceof EventStoreError ||
    error instanceof TypeError ||
    error instanceof RangeError ||
    error instanceof AssertionError
  );
}
