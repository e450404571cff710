// The errors of a store that does not answer or has no room.

/** The store did not answer in time, after the adapter's own retries. A write may or may not have been committed. */
export class StoreUnavailable extends Error {
  readonly code = 'unavailable';
  readonly dependency = 'read models';
}

/** The store's server has no room: nothing was written. */
export class StoreFull extends Error {
  readonly code = 'storage_full';
}
