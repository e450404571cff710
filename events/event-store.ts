// The port of the event log: the only truth of the service. Adapters: `adapters/eventstore/{sqlite,eventstoredb}`;
// their promises are the contract suite in `test/contracts/event-store.ts`.
export * from './append-size.ts';

/**
 * A place in the global order of the log, as an opaque fixed-width string: `a < b` says that a comes before b.
 * It names an event; `BEGINNING` is before every event.
 */
export type Position = string;
export const BEGINNING: Position = '';

/** Who and what caused an event. Kept with it for auditors and analysts; no decision reads it. */
export interface Metadata {
  /** The command that appended the event: the same for all events of one append. */
  command_id: string;
  /** The event or request that made the command run. */
  causation_id: string;
  /** `user:<id>`, `admin:<id>`, `key:<id>`, `checker` or `process:<name>`. */
  actor: string;
  /** ISO 8601, UTC. */
  at: string;
  /** Of the event type's shape; 1 when it is missing. The codec writes it and reads it. */
  version?: number;
}

export interface NewEvent<Type extends string = string, Data = unknown> {
  /** A uuid; the same append retried carries the same ids. */
  id: string;
  type: Type;
  data: Data;
  metadata: Metadata;
}

export interface RecordedEvent<Type extends string = string, Data = unknown> extends NewEvent<Type, Data> {
  stream: string;
  /** Of the event in its stream, from 0. */
  revision: number;
  position: Position;
}

/** The revision of the stream's last event as the writer knows it. There is no `any`: every append is checked. */
export type ExpectedRevision = number | 'no_stream';

export type AppendResult =
  | { ok: true; revision: number; position: Position }
  /** Someone else wrote first; `actual` is the stream's last revision now. Nothing was appended. */
  | { ok: false; conflict: true; actual: ExpectedRevision };

/** An event passes if its category (the stream's name up to the first `-`) and its type are both listed; unset lists all. */
export interface EventFilter {
  categories?: readonly string[];
  types?: readonly string[];
}

export interface SubscriptionBatch {
  /** In log order; never empty, except when only `position` moved. */
  events: RecordedEvent[];
  /** Every event at or before this position that passes the filter has been delivered: the checkpoint to resume from. */
  position: Position;
}

export interface EventStore {
  /**
   * Appends all events or none, at exactly the expected revision. The same event ids at the same expected revision,
   * when they are already there, are a success with the positions of the first time: a lost acknowledgement is
   * retried without a second copy. At least one event, at most `MAX_APPEND_EVENTS`.
   * @throws AppendTooLarge when they have more than `MAX_APPEND_BYTES` together.
   */
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult>;

  /** The events of one stream; none when there is no such stream. `from` is a revision, inclusive. */
  readStream(
    stream: string,
    options?: { from?: number; direction?: 'forwards' | 'backwards'; limit?: number },
  ): AsyncIterable<RecordedEvent>;

  /** The whole log after `from` (exclusive) up to its end when the read began. */
  readAll(options?: { from?: Position; filter?: EventFilter; limit?: number }): AsyncIterable<RecordedEvent>;

  /**
   * Everything after `from` (exclusive), first what is there, then what comes, without a gap or a repeat, until
   * `signal` aborts (the iteration then ends without an error). A lost connection is made again with back-off.
   */
  subscribe(options: { from?: Position; filter?: EventFilter; signal: AbortSignal }): AsyncIterable<SubscriptionBatch>;

  /** The position of the last event, or `BEGINNING`. */
  head(): Promise<Position>;

  /** Removes a stream and its events for good; a later append to it is a conflict with `actual` 'no_stream'. */
  deleteStream(stream: string): Promise<void>;

  close(): Promise<void>;
}
