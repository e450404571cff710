// Compares secrets.
import { hash, timingSafeEqual } from 'node:crypto';

/** Compares the texts in a time that depends neither on where they differ nor on their lengths. */
export const sameText = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
