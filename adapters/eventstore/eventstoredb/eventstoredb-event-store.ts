// The event log on EventStoreDB 24.10.5 or later, by its gRPC protocol. Each stream is a stream of the server, and the log is
// the server's `$all` without system events. A deleted stream is a tombstone; its events stay in reads of the whole log until
// an operator scavenges. The adapter reads from the cluster's leader, because a follower may lag behind an append. Decision 35 says why.

import { type AllStreamResolvedEvent, StreamDeletedError } from '@eventstore/db-client';
import type { Logger } from 'pino';
import {
  type AppendResult,
  BEGINNING,
  type EventStore,
  type LogSize,
  type OrderedAppend,
  type Position,
  type RecordedEvent,
  type StoredLog,
  type SubscriptionBatch,
} from '../../../events/event-store.ts';
import { TIME_LIMITS } from '../../../time/time-limits.ts';
import type { TlsFiles } from '../../tls-files.ts';
import { allLog, DELETIONS, recorded } from './all-log.ts';
import { append } from './append.ts';
import type { Limits } from './back-off.ts';
import { answersOf } from './bunches.ts';
import { type Connection, connect } from './connection.ts';
import { isSystemEvent, isTombstone } from './filters.ts';
import { fromPosition, toPosition } from './positions.ts';
import { readStream } from './read-stream.ts';

const OWN = TIME_LIMITS.EventStoreDB;

export interface EventStoreDbOptions {
  /** `esdb://user:password@host:2113?tls=true`, or `esdb+discover://…` for a cluster; `kurrentdb` is the same. */
  url: string;
  tls?: TlsFiles;
  log: Logger;
  /** Time limit of one try of an append, and of the wait for a read's next event. Default 5 s. */
  answer_timeout_ms?: number;
  /** After this long without an answer, appends and reads fail with code `unavailable`. Default 15 s. */
  unavailable_after_ms?: number;
  /** Waits between tries. Default 50 ms to 2 s. */
  waits?: Limits['waits'];
}

/**
 * Connects at the first use, so that the service can start before its event store.
 * Methods reject with `EventStoreError`, code `unavailable` or `closed`; subscriptions wait for the server for ever.
 * @example const log = await openEventStoreDb({ url: 'esdb://127.0.0.1:2113?tls=false', log: pino() })
 */
export async function openEventStoreDb(options: EventStoreDbOptions): Promise<StoredLog> {
  const limits: Limits = {
    answer_ms: options.answer_timeout_ms ?? OWN.answer_ms,
    silent_ms: options.answer_timeout_ms ?? OWN.silent_ms,
    unavailable_after_ms: options.unavailable_after_ms ?? OWN.unavailable_after_ms,
    waits: options.waits ?? { first_ms: 50, longest_ms: OWN.longest_wait_ms },
  };
  const connection = connect(options.url, limits, options.log, options.tls);
  return {
    append: (stream, expected, events) => append(connection, stream, expected, events),
    readStream: (stream, range = {}) => iterable(() => readStream(connection, stream, range)),
    readAll: (range = {}) => iterable(() => readAll(connection, range)),
    subscribe: (range) => iterable(() => subscribe(connection, range)),
    appendInOrder: (appends) => appendInOrder(connection, appends),
    deletedStreams: (after) => iterable(() => deletedStreams(connection, after)),
    head: () => head(connection),
    size: () => size(connection),
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
  if (from !== BEGINNING) fromPosition(from); // throws for another store's position
  const end = await head(connection);
  let left = limit;
  if (from >= end || left <= 0) return;
  // The client filters subscriptions but no reads of `$all`, so a read is a subscription that ends when it has caught up.
  for await (const part of allLog(connection, {
    ...{ from, taking: recorded(filter), signal: connection.closed, forever: false },
  })) {
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

/** One after the other: the server makes concurrent appends in any order. */
async function appendInOrder(connection: Connection, appends: readonly OrderedAppend[]): Promise<AppendResult[]> {
  const results: AppendResult[] = [];
  for (const { stream, expected, events } of appends) {
    results.push(await append(connection, stream, expected, events));
  }
  return results;
}

async function* deletedStreams(connection: Connection, from: Position = BEGINNING): AsyncGenerator<string, void> {
  const { closed: signal } = connection;
  for await (const part of allLog(connection, { from, taking: DELETIONS, signal, forever: false })) {
    yield* part.events;
    if (part.caught_up) return;
  }
  throw signal.reason;
}

async function* subscribe(
  connection: Connection,
  { from = BEGINNING, filter = {}, signal }: Parameters<EventStore['subscribe']>[0],
): AsyncGenerator<SubscriptionBatch, void> {
  const ended = AbortSignal.any([signal, connection.closed]);
  let given = from;
  for await (const { events, position } of allLog(connection, {
    ...{ from, taking: recorded(filter), signal: ended, forever: true },
  })) {
    if (position === given) continue;
    given = position;
    yield { events, position };
  }
}

/** A commit position counts the bytes before it. A node has at most 400,000 chunks, of 256 MiB unless it is told otherwise. */
async function size(connection: Connection): Promise<LogSize> {
  const end = await head(connection);
  const bytes = end === BEGINNING ? 0 : Number(fromPosition(end).commit);
  return { bytes, events: null, limit_bytes: 400_000 * 256 * 2 ** 20 };
}

/**
 * Position of the last event that is not a system event: an idle server goes on appending its statistics. A tombstone counts, because a
 * scavenge removes the events before it and leaves it: the head never moves behind a checkpoint.
 */
async function head(connection: Connection): Promise<Position> {
  const { client, request } = connection;
  return request('reading the head', async () => {
    let from: 'end' | { commit: bigint; prepare: bigint } = 'end';
    for (let maxCount = 8; ; maxCount = 512) {
      let count = 0;
      const read = client.readAll({ direction: 'backwards', fromPosition: from, maxCount, requiresLeader: true });
      for await (const items of answersOf(read, connection)) {
        for (const { event } of items as AllStreamResolvedEvent[]) {
          count += 1;
          if (event === undefined) continue;
          const { streamId, type } = event;
          if (!isSystemEvent(streamId, type) || isTombstone(streamId, type)) return toPosition(event.position);
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
