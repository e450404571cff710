// Cursors of results: where a page goes on. Opaque to clients, and signed, so that one which was changed, or is of
// another job or another filter, is refused and never quietly skips results.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ValidationError } from './errors.ts';

/** What pages belong together. */
export interface CursorScope {
  job_id: string;
  filter: object;
}

export interface Cursors {
  /** Goes on after the result with this index; -1 is before the first. */
  after(index: number, scope: CursorScope): string;
  /** The index that it goes on after; of the empty cursor, which begins, -1. Throws ValidationError. */
  indexOf(cursor: string, scope: CursorScope): number;
}

const INDEX_BYTES = 4;
/** Half of SHA-256's: nobody finds one by asking. */
const MAC_BYTES = 16;

export function openCursors(key: Uint8Array): Cursors {
  function macOf(index: number, { job_id, filter }: CursorScope): Buffer {
    // Unlike anything else that the key signs.
    const signed = JSON.stringify(['cursor', job_id, filter, index]);
    return createHmac('sha256', key).update(signed).digest().subarray(0, MAC_BYTES);
  }
  return {
    after(index, scope) {
      const bytes = Buffer.alloc(INDEX_BYTES);
      bytes.writeInt32BE(index);
      return Buffer.concat([bytes, macOf(index, scope)]).toString('base64url');
    },
    indexOf(cursor, scope) {
      if (cursor === '') return -1;
      const bytes = Buffer.from(cursor, 'base64url');
      // Decoders pass over what is no base64: a cursor is what was given out, to the letter.
      if (bytes.length === INDEX_BYTES + MAC_BYTES && bytes.toString('base64url') === cursor) {
        const index = bytes.readInt32BE();
        if (timingSafeEqual(macOf(index, scope), bytes.subarray(INDEX_BYTES))) return index;
      }
      const msg = 'is not a cursor that was given out for this job with these filters; begin anew with an empty one';
      throw new ValidationError([{ loc: ['query', 'cursor'], msg, type: 'cursor' }]);
    },
  };
}
