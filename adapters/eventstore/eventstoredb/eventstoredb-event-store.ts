// The event log on EventStoreDB 24.10.5 or later, by its gRPC protocol. Each stream is a stream of the server, the log is
// its `$all` without the system events, and a deleted stream is a tombstone: its events stay in reads of the whole log
// until an operator scavenges. Streams are read from the cluster's leader: a follower may not have what was just appended.
import { type AllStreamResolvedEvent, StreamDeletedError } from '@eventstore/db-client';
import type { Logger } from 'pino';
import {
  BEGINNING,
  type EventStore,
  type Position,
  type RecordedEvent,
  type SubscriptionBatch,
} from '../../../events/event-store.ts';
import { allLog } from './all-log.ts';
import { append } from './append.ts';
import { bunches } from './bunches.ts';
import { type Connection, connect } from './connection.ts';
import { isSystemEvent } from './filters.ts';
import type { Limits } from './patience.ts';
import { fromPosition, toPosition } from './positions.ts';
import { readStream } from './read-stream.ts';

export { EventStoreError, type EventStoreErrorCode } from './errors.ts';

export interface EventStoreDbOptions {
  /** `esdb://user:password@host:2113?tls=true`, or `esdb+discover://…` for a cluster; `kurrentdb` is the same. */
  url: string;
  log: Logger;
  /** How long one try of an append, or the wait for a read's next event, may take. 5 s. */
  answer_timeout_ms?: number;
  /** After this long without an answer, appends and reads fail with code `unavailable`. 15 s. */
  unavailable_after_ms?: number;
  /** The waits before trying again, doubling from the first to the last, with jitter. 50 ms to 5 s. */
  backoff_ms?: { first: number; last: number };
}

/**
 * Connects with the first use, so that a service starts while its event store does.
 * The store's methods throw `EventStoreError` with the codes of `errors.ts`; subscriptions wait for the server for ever.
 */
export async function openEventStoreDb(options: EventStoreDbOptions): Promise<EventStore> {
  const limits: Limits = {
    answer_ms: options.answer_timeout_ms ?? 5_000,
    unavailable_after_ms: options.unavailable_after_ms ?? 15_000,
    backoff_ms: options.backoff_ms ?? { first: 50, last: 5_000 },
  };
  const connection = connect(options.url, limits, options.log);
  return {
    append: (stream, expected, events) => append(connection, stream, expected, events),
    readStream: (stream, range = {}) => iterable(() => readStream(connection, stream, range)),
    readAll: (range = {}) => iterable(() => readAll(connection, range)),
    subscribe: (range) => iterable(() => subscribe(connection, range)),
    head: () => head(connection),
    deleteStream: (stream) => deleteStream(connection, stream),
    close: () => connection.close(),
  };
}

const iterable = <T>(begin: () => AsyncGenerator<T, void>): AsyncIterable<T> => ({ [Symbol.asyncIterator]: begin });

async function* readAll(
  connection: Connection,
  {
    from = BEGINNING,
    filter = {},
    limit = Number.POSITIVE_INFINITY,
  }: NonNullable<Parameters<EventStore['readAll']>[0]>,
): AsyncGenerator<RecordedEvent, void> {
  if (from !== BEGINNING) fromPosition(from); // a foreign one compares as anything
  const end = await head(connection);
  let left = limit;
  if (from >= end || left <= 0) return;
  // The client cannot filter a read of `$all`, only a subscription: so a read is one that ends when it has caught up.
  for await (const part of allLog(connection, { from, filter, signal: connection.closed, forever: false })) {
    for (const event of part.events) {
      if (event.position > end) return;
      yield event;
      left -= 1;
      if (left === 0) return;
    }
    if (part.caught_up || part.position >= end) return;
  }
  throw connection.closed.reason;
}

async function* subscribe(
  connection: Connection,
  { from = BEGINNING, filter = {}, signal }: Parameters<EventStore['subscribe']>[0],
): AsyncGenerator<SubscriptionBatch, void> {
  const ended = AbortSignal.any([signal, connection.closed]);
  let given = from;
  for await (const { events, position } of allLog(connection, { from, filter, signal: ended, forever: true })) {
    if (position === given) continue;
    given = position;
    yield { events, position };
  }
}

/** System events do not count: an idle server goes on writing its statistics. */
async function head({ client, limits, closed, request }: Connection): Promise<Position> {
  return request('reading the head', async () => {
    let from: 'end' | { commit: bigint; prepare: bigint } = 'end';
    for (let maxCount = 8; ; maxCount = 512) {
      let count = 0;
      const read = client.readAll({ direction: 'backwards', fromPosition: from, maxCount, requiresLeader: true });
      const parts = bunches(read, {
        signal: closed,
        patience_ms: () => limits.answer_ms,
        cancel: () => read.cancel(),
      });
      for await (const items of parts) {
        for (const { event } of items as AllStreamResolvedEvent[]) {
          count += 1;
          if (event === undefined) continue;
          if (!isSystemEvent(event.streamId, event.type)) return toPosition(event.position);
          from = event.position;
        }
      }
      if (count < maxCount) return BEGINNING;
    }
  });
}

async function deleteStream(connection: Connection, stream: string): Promise<void> {
  try {
    await connection.request(`deleting ${stream}`, () =>
      connection.client.tombstoneStream(stream, {
        expectedRevision: 'any',
        deadline: connection.limits.answer_ms,
        requiresLeader: true,
      }),
    );
  } catch (error) {
    if (!(error instanceof StreamDeletedError)) throw error;
  }
}
