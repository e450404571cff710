// What a projection is: the events that it takes and the documents that it writes. It has no side effects and no memory of
// its own, so that the same events make the same documents whenever it runs.
import type { RecordedEvent } from '../events/event-store.ts';
import type { Category, EventType, EventTypeOf, LogEvent } from '../events/vocabulary.ts';
import type { Collection, CollectionSpec, Document } from '../readmodels/documents.ts';

export type OpenCollection = <T extends Document>(spec: CollectionSpec<T>) => Promise<Collection<T>>;

interface ProjectionFacts {
  readonly name: string;
  /**
   * Raised with every change of what it makes: the read model is then built anew beside the old one. Until it is, the new
   * code carries the old documents on: it takes them as they are, and fields that only the new version makes may be missing.
   */
  readonly version: number;
  // biome-ignore lint/suspicious/noExplicitAny: of whatever document types
  readonly collections: readonly CollectionSpec<any>[];
}

/** A projection as the projector runs it. */
export interface Projection extends ProjectionFacts {
  readonly types: readonly string[];
  isHeavy?(event: RecordedEvent): boolean;
  clear?(event: RecordedEvent, open: OpenCollection): Promise<boolean>;
  /** In log order, only of `types`, inside the transaction that also moves the checkpoint. */
  apply(events: readonly RecordedEvent[], open: OpenCollection): Promise<void>;
}

/** A projection as it is written: `Page` is what the handlers of one transaction's events share. */
export interface ProjectionSpec<Type extends EventType, Page, Covered extends Category, Ignored extends EventType>
  extends ProjectionFacts {
  /** Categories of streams: each of their event types has a handler, or is named in `ignores`. */
  readonly covers?: readonly Covered[];
  readonly ignores?: readonly Ignored[];
  /** Whether an event writes as much as one transaction should: each such event has a transaction of its own. */
  isHeavy?(event: LogEvent): boolean;
  /**
   * Before a heavy event is applied: deletes a slice of what the event deletes, no more than one transaction should.
   * Called again, in a transaction each, until it gives false; after a crash from the start.
   */
  clear?(event: LogEvent, open: OpenCollection): Promise<boolean>;
  /** Reads what the handlers of these events need. */
  begin(open: OpenCollection, events: readonly LogEvent[]): Page | Promise<Page>;
  /** The event types that it takes, each with its handler: called in log order, each when the one before is done. */
  readonly on: { readonly [Each in Type]: (event: LogEvent<Each>, page: Page) => unknown };
  /** Writes what the handlers have gathered. */
  end?(page: Page, open: OpenCollection): Promise<void>;
}

/** What `projection` gives when event types of covered categories have neither a handler nor a place in `ignores`. */
export interface WithoutHandler<Missing> {
  readonly no_handler_of: Missing;
}

/**
 * @example
 * projection({
 *   name: 'users', version: 1, collections: [users],
 *   begin: (open) => open(users),
 *   on: { UserUpdated: ({ stream, data }, users) => users.write([{ update: idOf(stream), set: { $set: data } }]) },
 * })
 */
export function projection<
  Type extends EventType,
  Page,
  Covered extends Category = never,
  Ignored extends EventTypeOf<Covered> = never,
>(spec: ProjectionSpec<Type, Page, Covered, Ignored>): Complete<Exclude<EventTypeOf<Covered>, Type | Ignored>> {
  const { begin, on, end, ...rest } = spec;
  // `types` are its keys: no other event comes here.
  const handlers = on as unknown as Readonly<Record<string, (event: LogEvent, page: Page) => unknown>>;
  const made: Projection = {
    ...rest,
    types: Object.keys(on),
    async apply(events: readonly LogEvent[], open) {
      const page = await begin(open, events);
      for (const event of events) await handlers[event.type]!(event, page);
      await end?.(page, open);
    },
  };
  return made as never; // which of the two types it has is decided where it is written
}

type Complete<Missing> = [Missing] extends [never] ? Projection : WithoutHandler<Missing>;

/** What the events of a projection are applied to. */
export interface Target {
  readonly projection: Projection;
  readonly generation: number;
  /** Where the projection's state counts the events that the generation is made without. */
  readonly counter: 'parked' | 'next.parked';
}
