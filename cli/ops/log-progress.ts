// How far a position of the log is from its beginning, for progress bars.
import type { Position } from '../../events/event-store.ts';
import type { Unit } from '../progress.ts';

/** The positions of the embedded log count its events; those of EventStoreDB begin with the bytes before them, in hex. */
const isCount = (position: Position) => position.length < 32;

/** In events, or in megabytes. */
export function placeOf(position: Position): number {
  if (position === '') return 0;
  return isCount(position) ? Number(position) : Number.parseInt(position.slice(0, 16), 16) / 1_000_000;
}

export const unitOf = (position: Position): Unit =>
  isCount(position) ? { rate: 'events', done: 'events read' } : { rate: 'MB', done: 'MB of the log read' };
