// The port's position strings: an event's rowid in 16 decimal digits, the length of the largest safe integer.
import { BEGINNING, type Position } from '../../../events/event-store.ts';

const WIDTH = 16;

export const toPosition = (rowid: number): Position => (rowid === 0 ? BEGINNING : String(rowid).padStart(WIDTH, '0'));

/** Throws a `RangeError` for a string that is not a position of this store. */
export function toRowid(position: Position): number {
  if (position === BEGINNING) return 0;
  if (!/^\d{16}$/.test(position)) throw new RangeError(`not a position of this event log: '${position}'`);
  return Number(position);
}
