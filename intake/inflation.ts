// The limits on what a compressed file or part inflates to.
import { IntakeError } from './errors.ts';

/** Inflation ratio of a bomb. Repetitive sheets reach 50:1, DEFLATE at most 1,032:1. Small parts are not checked. */
const MAX_INFLATION = 300;
const INFLATION_CHECKED_FROM_BYTES = 64 * 1024 * 1024;

/** `bytes`: inflated so far. Throws `zip_bomb` or `inflated_too_large`. */
export function assertInflation(sizes: { bytes: number; compressed_bytes: number; max_inflated_bytes: number }): void {
  const { bytes, compressed_bytes, max_inflated_bytes } = sizes;
  if (bytes > INFLATION_CHECKED_FROM_BYTES && bytes > compressed_bytes * MAX_INFLATION) {
    throw new IntakeError('zip_bomb', 'The file inflates to far more than a list of URLs does. Upload a CSV file.');
  }
  if (bytes > max_inflated_bytes) throw tooLarge(max_inflated_bytes);
}

export function tooLarge(max_bytes: number): IntakeError {
  const megabytes = Math.floor(max_bytes / 1e6);
  return new IntakeError(
    'inflated_too_large',
    `The file holds more than ${megabytes} MB when unpacked. Upload its column of URLs alone, or a CSV file.`,
  );
}
