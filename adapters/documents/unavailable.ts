// The errors of a store that cannot be reached, or has no room.

/** The store did not answer in time, after the adapter's own retries. What was asked may or may not have been done. */
export class StoreUnavailable extends Error {
  readonly code = 'unavailable';
}

/** The store's server has no room: nothing was written. */
export class StoreFull extends Error {
  readonly code = 'storage_full';
}
