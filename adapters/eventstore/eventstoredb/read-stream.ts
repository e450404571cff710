// Reads the events of one stream in either direction, reconnecting as often as needed.
import { type ResolvedEvent, StreamDeletedError, StreamNotFoundError } from '@eventstore/db-client';
import type { RecordedEvent } from '../../../events/event-store.ts';
import { pause } from '../../../time/pause.ts';
import { BackOff } from './back-off.ts';
import { answersOf } from './bunches.ts';
import type { Connection } from './connection.ts';
import { EventStoreError, isPermanent } from './errors.ts';
import { toRecorded } from './wire-events.ts';

export interface ReadStreamOptions {
  /** The first revision, inclusive. Default: the stream's start, or its end when reading backwards. */
  from?: number;
  direction?: 'forwards' | 'backwards';
  limit?: number;
}

/** High-water mark of the client's stream, in objects. */
const BUFFERED = 64;

export async function* readStream(
  connection: Connection,
  stream: string,
  { from, direction = 'forwards', limit = Number.MAX_SAFE_INTEGER }: ReadStreamOptions,
): AsyncGenerator<RecordedEvent, void> {
  const { client, limits, closed } = connection;
  const step = direction === 'forwards' ? 1 : -1;
  const back_off = new BackOff(limits);
  let next = from;
  let left = limit;
  while (left > 0 && (next === undefined || next >= 0)) {
    if (closed.aborted) throw closed.reason;
    try {
      const read = client.readStream(
        stream,
        {
          direction,
          fromRevision: next === undefined ? (direction === 'forwards' ? 'start' : 'end') : BigInt(next),
          maxCount: left,
          requiresLeader: true,
        },
        { highWaterMark: BUFFERED },
      );
      for await (const items of answersOf(read, connection)) {
        back_off.reset();
        connection.answered();
        for (const item of items) {
          const event = toRecorded(item as ResolvedEvent);
          if (event === null) continue;
          next = event.revision + step;
          left -= 1;
          yield event;
        }
      }
      if (closed.aborted) throw closed.reason;
      return;
    } catch (error) {
      if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return;
      if (closed.aborted) throw new EventStoreError('closed', 'the event store is closed');
      if (isPermanent(error)) throw error;
      const wait_ms = back_off.next(`reading ${stream}`, error);
      connection.missed(error, `the read of ${stream} broke off, reading on from there`);
      await pause(wait_ms, closed);
    }
  }
}
