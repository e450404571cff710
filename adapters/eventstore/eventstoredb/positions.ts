// Positions of EventStoreDB's global log as the port's strings. Both halves are kept: events of one explicit
// transaction share the commit position, and some server versions resume wrongly from a commit position alone.
import type { Position as ServerPosition } from '@eventstore/db-client';
import type { Position } from '../../../events/event-store.ts';

const HALF = 16; // hexadecimal digits of 64 bits
const FORMAT = /^[0-9a-f]{32}$/;
const UNKNOWN = 2n ** 64n - 1n;

const half = (value: bigint): string => value.toString(16).padStart(HALF, '0');

/** Whether a position is one: 24.2.0 to 24.10.4 tell a checkpoint past every log when a filter has let nothing through. */
export const isKnown = (position: ServerPosition): boolean => position.commit !== UNKNOWN;

/** Throws when the server gave no position: before 22.6 it gave none with the events of a stream. */
export function toPosition(position: ServerPosition | undefined): Position {
  if (position === undefined || !isKnown(position)) {
    throw new Error('the event has no position in the log: EventStoreDB 24.10.5 or later is needed');
  }
  return half(position.commit) + half(position.prepare);
}

/** Throws when the string is no position of this store, such as a checkpoint that another store gave. */
export function fromPosition(position: Position): ServerPosition {
  if (!FORMAT.test(position)) throw new RangeError(`'${position}' is not a position of EventStoreDB`);
  return { commit: BigInt(`0x${position.slice(0, HALF)}`), prepare: BigInt(`0x${position.slice(HALF)}`) };
}
