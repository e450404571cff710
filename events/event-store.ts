// The port of the event log, the service's single source of truth. Adapters: `adapters/eventstore/{sqlite,eventstoredb}`;
// the contract suite in `test/contracts/event-store.ts` holds each of them to this interface.
export * from './append-size.ts';

/**
 * The position of an event in the global order of the log, as an opaque fixed-width string: `a < b` says that a comes
 * before b. `BEGINNING` is before every event.
 */
export type Position = string;
export const BEGINNING: Position = '';

/** Who and what caused an event. Auditors and analysts read it; no decision does. */
export interface Metadata {
  /** Id of the command that appended the event: the same for all events of one append. */
  command_id: string;
  /** Id of the event or request that made the command run. */
  causation_id: string;
  /** `user:<id>`, `admin:<id>`, `key:<id>`, `checker` or `process:<name>`. */
  actor: string;
  /** ISO 8601, UTC. */
  at: string;
  /** Version of the data's schema; 1 when it is missing. The codec writes and reads it. */
  version?: number;
  /** The W3C traceparent of the step that appended the event, where steps are traced. */
  traceparent?: string;
}

export interface NewEvent<Type extends string = string, Data = unknown> {
  /** A uuid. A retry of an append carries the same ids. */
  id: string;
  type: Type;
  data: Data;
  metadata: Metadata;
}

export interface RecordedEvent<Type extends string = string, Data = unknown> extends NewEvent<Type, Data> {
  stream: string;
  /** Index of the event in its stream, from 0. */
  revision: number;
  position: Position;
}

/** The revision of the stream's last event as the writer knows it. The store compares it at every append: there is no `any`. */
export type ExpectedRevision = number | 'no_stream';

export type AppendResult =
  | { ok: true; revision: number; position: Position }
  /** Another writer appended first; `actual` is the stream's last revision now. The store appended nothing. */
  | { ok: false; conflict: true; actual: ExpectedRevision };

/** An event passes if its category (its stream's name up to the first `-`) and its type are listed. An unset list passes all. */
export interface EventFilter {
  categories?: readonly string[];
  types?: readonly string[];
}

export interface SubscriptionBatch {
  /** Events in log order. Empty when only `position` moved. */
  events: RecordedEvent[];
  /** The checkpoint to resume from: the subscription has delivered every matching event at or before this position. */
  position: Position;
}

export interface LogSize {
  /** Of the embedded log, what its file holds; of a server, all that was ever written to it, which a scavenge does not lower. */
  bytes: number;
  /** Events that were ever appended; null where the store does not count them. */
  events: number | null;
  /** The store takes no more bytes than these, however large its disk is. */
  limit_bytes: number;
}

export interface EventStore {
  /**
   * Appends all events or none, at exactly the expected revision; at least one event, at most `MAX_APPEND_EVENTS`. A retry
   * with the same event ids at the same expected revision succeeds without a second copy and returns the positions of the
   * first append, so a writer whose acknowledgement was lost appends again.
   * @throws AppendTooLarge when the events have more than `MAX_APPEND_BYTES` together.
   */
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult>;

  /**
   * The events of one stream; none when the stream does not exist. `from` is a revision, inclusive. `known_id`: the reader has this event,
   * whose data may come sealed.
   */
  readStream(
    stream: string,
    options?: { from?: number; direction?: 'forwards' | 'backwards'; limit?: number; known_id?: string },
  ): AsyncIterable<RecordedEvent>;

  /** The id of the stream's last event; null when it has none. Stores where such a look costs as much as a read have no `lastId`. */
  lastId?(stream: string): Promise<string | null>;

  /** The same without a wait; undefined where the store cannot tell at once. Only stores that have it on this machine have it. */
  lastIdNow?(stream: string): string | null | undefined;

  /** The log after `from` (exclusive) up to its end at the start of the read. */
  readAll(options?: { from?: Position; filter?: EventFilter; limit?: number }): AsyncIterable<RecordedEvent>;

  /**
   * Delivers every event after `from` (exclusive), the recorded ones and then new ones, without a gap or a repeat, until
   * `signal` aborts; the iteration then ends without an error. The adapter reconnects with back-off.
   */
  subscribe(options: { from?: Position; filter?: EventFilter; signal: AbortSignal }): AsyncIterable<SubscriptionBatch>;

  /** The position of the last event or deletion, or `BEGINNING`. It never moves back, also when the last stream is deleted. */
  head(): Promise<Position>;

  /** How large the log is. A log of tests may have no `size`. */
  size?(): Promise<LogSize>;

  /** Deletes a stream and its events for good. A later append to it is a conflict with `actual` 'no_stream'. */
  deleteStream(stream: string): Promise<void>;

  close(): Promise<void>;
}

/** An event as the file of an embedded log holds it: metadata and data are JSON. */
export type EventRow = readonly [
  rowid: number,
  revision: number,
  type: string,
  id: string,
  metadata: string,
  data: string,
  stream: string,
];

/** One append of several that are to be made in an order. */
export interface OrderedAppend {
  stream: string;
  expected: ExpectedRevision;
  events: readonly NewEvent[];
}

/** An event log as a backup and a restore need it. Adapters give it; the service uses it behind the codec, as an `EventStore`. */
export interface StoredLog extends EventStore {
  /**
   * Makes the appends so that the log has their events in this order, several in one commit where the store can. Like `append`, each may
   * be made again. After an error, those before some place are made and none behind it; after a conflict, the log may lack any.
   */
  appendInOrder(appends: readonly OrderedAppend[]): Promise<AppendResult[]>;

  /**
   * The names of the deleted streams, in any order. A name may come twice; memory does not grow with their number. With `after`, a store that knows
   * when a stream was deleted leaves out what was deleted up to this position.
   */
  deletedStreams(after?: Position): AsyncIterable<string>;
}
