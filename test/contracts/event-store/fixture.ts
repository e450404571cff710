// The fixture that an adapter gives to the contract suite of the event log, and the parts that each test gets.

import { randomBytes, randomUUID } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import type {
  AppendResult,
  EventFilter,
  EventStore,
  ExpectedRevision,
  Metadata,
  NewEvent,
  Position,
  RecordedEvent,
  StoredLog,
  SubscriptionBatch,
} from '../../../events/event-store.ts';
import { appendRuns } from '../../support/append-runs.ts';

/** Every wait of the suite fails after this time, which is ample for a loaded machine. */
export const DEADLINE_MS = 120_000;

const LONG = 10_000;

export interface Opened {
  store: StoredLog;
  /** Opens another connection to the same data. The suite may have closed `store` before. */
  reopen(): Promise<StoredLog>;
  /** Closes every open store and removes the data. The suite may have closed some. */
  close(): Promise<void>;
  /** What a server's operator runs to get the room of deleted streams back; missing where a deletion gives it back. */
  scavenge?(): void;
}

export interface Fixture {
  open(): Promise<Opened>;
  /** Whether `readAll` stops giving a deleted stream's events at once, or goes on until the server cleans up. */
  deletedEvents: 'gone' | 'until_scavenged';
  /** The length of the suite's long streams: 10,000 events, or fewer where another suite tests the same code. */
  long?: number;
}

export interface Scene {
  store: StoredLog;
  /** A second connection to the same data. */
  other: StoredLog;
  reopen(): Promise<StoredLog>;
  /** A category that no other test uses. */
  category: string;
  /** The filter of that category. */
  filter: EventFilter;
  /** The events of a long stream. */
  long: number;
  scavenge(): void;
}

export type Sentence = (sentence: string, body: (t: ExecutionContext, scene: Scene) => Promise<void>) => void;

/** Makes tests that open a store, run, and always close it. */
export function sentences(test: TestFn, name: string, fixture: Fixture): Sentence {
  return (sentence, body) => {
    test(`${name}: ${sentence}`, async (t) => {
      const opened = await fixture.open();
      try {
        const category = newCategory();
        const other = await opened.reopen();
        const filter = { categories: [category] };
        await body(t, {
          store: opened.store,
          other,
          reopen: opened.reopen,
          category,
          filter,
          long: fixture.long ?? LONG,
          scavenge: () => opened.scavenge?.(),
        });
      } finally {
        await opened.close();
      }
    });
  };
}

export const newCategory = (): string => `contract_${randomBytes(8).toString('hex')}`;

const metadata: Metadata = {
  command_id: 'f7ab0c2e-6f0e-4a0b-8d52-cf1f1c1f5a01',
  causation_id: '0b6ed1a5-93c4-4f7b-a8a1-6d1d2a7a9c11',
  actor: 'process:contract',
  at: '2026-01-02T03:04:05.678Z',
};

export const newEvent = (data: unknown = {}, type = 'Happened'): NewEvent => ({
  id: randomUUID(),
  type,
  data,
  metadata,
});

/** `count` events with data `{ n }`, counted from `first`. */
export const newEvents = (count: number, first = 0, type = 'Happened'): NewEvent[] =>
  Array.from({ length: count }, (_, index) => newEvent({ n: first + index }, type));

/** The result of an append that must succeed. */
export async function appended(result: Promise<AppendResult>): Promise<{ revision: number; position: Position }> {
  const settled = await result;
  if (!settled.ok) throw new Error(`unexpected conflict: the stream is at ${settled.actual}`);
  return settled;
}

/** Appends to a new stream in as few appends as possible. Returns the position of the last event. */
export async function fill(store: EventStore, stream: string, events: readonly NewEvent[]): Promise<Position> {
  let last: { revision: ExpectedRevision; position: Position } = { revision: 'no_stream', position: '' };
  for (const run of appendRuns(events)) last = await appended(store.append(stream, last.revision, run));
  return last.position;
}

export const ids = (events: readonly NewEvent[]): string[] => events.map((event) => event.id);

/** The fields of an event as a plain object, whatever objects the adapter returns. */
export const plain = ({ id, type, data, metadata, stream, revision, position }: RecordedEvent): RecordedEvent => ({
  id,
  type,
  data,
  metadata,
  stream,
  revision,
  position,
});

export interface Heard {
  batches: SubscriptionBatch[];
  events: RecordedEvent[];
  position: Position;
}

/**
 * Reads the subscription until `enough`, then leaves it. Fails after the deadline.
 * `between` is awaited after each batch, so that the consumer is as slow as the test wants.
 */
export async function listen(
  store: EventStore,
  options: { from?: Position; filter?: EventFilter },
  enough: (heard: Heard) => boolean,
  between?: (heard: Heard) => Promise<unknown>,
): Promise<Heard> {
  const heard: Heard = { batches: [], events: [], position: options.from ?? '' };
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  for await (const batch of store.subscribe({ ...options, signal: deadline })) {
    heard.batches.push(batch);
    heard.events.push(...batch.events);
    heard.position = batch.position;
    if (enough(heard)) return heard;
    await between?.(heard);
  }
  throw new Error(`the subscription ended after ${heard.events.length} events, at position '${heard.position}'`);
}

/** Runs everything that is ready, so that a subscription that has caught up waits for more. */
export async function idle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
}

/** Fails when the promise takes longer than the deadline. */
export async function soon<T>(promise: Promise<T>, what: string, deadline_ms = DEADLINE_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not within ${deadline_ms} ms: ${what}`)), deadline_ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
