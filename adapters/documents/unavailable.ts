// The error of a store that cannot be reached.

/** The store did not answer in time, after the adapter's own retries. What was asked may or may not have been done. */
export class StoreUnavailable extends Error {
  readonly code = 'unavailable';
}
