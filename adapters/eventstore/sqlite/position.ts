// The port's position strings: the rowid of an event in 16 decimal digits, as many as a safe integer has.
import { BEGINNING, type Position } from '../../../events/event-store.ts';

const WIDTH = 16;

export const toPosition = (rowid: number): Position => (rowid === 0 ? BEGINNING : String(rowid).padStart(WIDTH, '0'));

/** Throws a `RangeError` for a string that this store never gave. */
export function toRowid(position: Position): number {
  if (position === BEGINNING) return 0;
  if (!/^\d{16}$/.test(position)) throw new RangeError(`not a position of this event log: '${position}'`);
  return Number(position);
}
