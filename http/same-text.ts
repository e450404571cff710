// Compares secrets.
import { hash, timingSafeEqual } from 'node:crypto';

/** The comparison takes a time that says nothing of where the texts differ, nor of their lengths. */
export const sameText = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
