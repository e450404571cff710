// Signed cursors: each names the result, or the item of a list, that a page starts after. The service refuses a cursor that a
// client changed, or took from another job or filter, which could otherwise skip results.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { derivedSecretKey } from '../../events/derived-key.ts';
import { ValidationError } from './errors.ts';

/** A cursor is valid for the pages of one job under one filter. */
export interface CursorScope {
  job_id: string;
  filter: object;
}

export type Cursors = ReturnType<typeof openCursors>;

const INDEX_BYTES = 4;
/** 128 bits of the MAC: nobody guesses them by trying. */
const MAC_BYTES = 16;

export type ListCursors = ReturnType<typeof openListCursors>;

export function openListCursors(secret: Uint8Array) {
  const key = derivedSecretKey(secret, 'cursors of lists');
  const macOf = (text: string, scope: object) =>
    createHmac('sha256', key)
      .update(JSON.stringify([scope, text]))
      .digest()
      .subarray(0, MAC_BYTES);
  return {
    /** Returns the cursor of the page after the item with these values of the list's sort. `scope`: whose list, and its filter. */
    after(values: readonly string[], scope: object): string {
      const text = JSON.stringify(values);
      return Buffer.concat([macOf(text, scope), Buffer.from(text)]).toString('base64url');
    },
    /** Returns the values before the page; null for the empty cursor. Throws ValidationError for a cursor of another scope. */
    valuesOf(cursor: string, scope: object): string[] | null {
      if (cursor === '') return null;
      const bytes = Buffer.from(cursor, 'base64url');
      if (bytes.length > MAC_BYTES && bytes.toString('base64url') === cursor) {
        const text = bytes.toString('utf8', MAC_BYTES);
        if (timingSafeEqual(macOf(text, scope), bytes.subarray(0, MAC_BYTES))) return JSON.parse(text) as string[];
      }
      throw wrongCursor('must be a next_cursor of this list with the same filter; start again without a cursor');
    },
  };
}

const wrongCursor = (msg: string) => new ValidationError([{ loc: ['query', 'cursor'], msg, type: 'cursor' }]);

export function openCursors(secret: Uint8Array) {
  const key = derivedSecretKey(secret, 'cursors of results');
  function macOf(index: number, { job_id, filter }: CursorScope): Buffer {
    const signed = JSON.stringify([job_id, filter, index]);
    return createHmac('sha256', key).update(signed).digest().subarray(0, MAC_BYTES);
  }
  return {
    /** Returns the cursor of the page after the result with this index; -1 stands before the first result. */
    after(index: number, scope: CursorScope): string {
      const bytes = Buffer.alloc(INDEX_BYTES);
      bytes.writeInt32BE(index);
      return Buffer.concat([bytes, macOf(index, scope)]).toString('base64url');
    },
    /** Returns the index before the page; -1 for the empty cursor. Throws ValidationError for a cursor of another scope. */
    indexOf(cursor: string, scope: CursorScope): number {
      if (cursor === '') return -1;
      const bytes = Buffer.from(cursor, 'base64url');
      // The decoder ignores characters outside base64url, so the comparison refuses texts that the service never gave out.
      if (bytes.length === INDEX_BYTES + MAC_BYTES && bytes.toString('base64url') === cursor) {
        const index = bytes.readInt32BE();
        if (timingSafeEqual(macOf(index, scope), bytes.subarray(INDEX_BYTES))) return index;
      }
      throw wrongCursor('must be a next_cursor of this job with the same filters; start again with an empty cursor');
    },
  };
}
