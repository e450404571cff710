// Converts positions of EventStoreDB's global log to the port's strings and back. A string holds the commit and the prepare
// position: events of one transaction share the commit position, and some server versions resume wrongly from it alone.
import type { Position as ServerPosition } from '@eventstore/db-client';
import type { Position } from '../../../events/event-store.ts';

const HALF = 16; // hexadecimal digits of 64 bits
const FORMAT = /^[0-9a-f]{32}$/;
const UNKNOWN = 2n ** 64n - 1n;

const half = (value: bigint): string => value.toString(16).padStart(HALF, '0');

/** False for the invalid checkpoint that versions 24.2.0 to 24.10.4 send when a filter has passed no event. */
export const isKnown = (position: ServerPosition): boolean => position.commit !== UNKNOWN;

/** Throws when the server sent no position: versions before 22.6 send none with a stream's events. */
export function toPosition(position: ServerPosition | undefined): Position {
  if (position === undefined || !isKnown(position)) {
    throw new Error('the event has no position in the log: EventStoreDB 24.10.5 or later is needed');
  }
  return half(position.commit) + half(position.prepare);
}

/** Throws a RangeError for a string that is not a position of EventStoreDB, such as another store's checkpoint. */
export function fromPosition(position: Position): ServerPosition {
  if (!FORMAT.test(position)) throw new RangeError(`'${position}' is not a position of EventStoreDB`);
  return { commit: BigInt(`0x${position.slice(0, HALF)}`), prepare: BigInt(`0x${position.slice(HALF)}`) };
}
