// A projection: the events that it handles and the documents that it writes. It has no side effects and no state of its
// own, so that the same events make the same documents whenever it runs.
import type { RecordedEvent } from '../events/event-store.ts';
import { type Category, type EventType, type EventTypeOf, type LogEvent, VOCABULARY } from '../events/vocabulary.ts';
import type { Collection, CollectionSpec, Document, Reading, ReadModelSpec } from '../readmodels/documents.ts';
import type { Difference } from '../readmodels/projection-state.ts';
import type { UrlsOf } from './jobs/checked-urls.ts';
import { type Inserts, insertInside } from './projector/insert.ts';

export type OpenCollection = <T extends Document>(spec: CollectionSpec<T>) => Promise<Collection<T>>;
export type Read = <T extends Document>(spec: CollectionSpec<T>) => Reading<T>;

/** The live documents of a projection, and those that were made of the log anew, while both may go on. */
export interface Sides {
  live: Read;
  rebuilt: Read;
  /** Reads both sides when they have applied the log up to one position. Null: a projector writes so often that only a shorter read succeeds. */
  readBoth<R>(read: (side: Read) => Promise<R>): Promise<[live: R, rebuilt: R] | null>;
  signal: AbortSignal;
}

interface ProjectionFacts {
  readonly name: string;
  /**
   * Raise it with every change of the documents: the projector then builds the read model anew beside the old one. Until the
   * flip the new code also updates the old documents, which may lack fields that only the new version writes.
   */
  readonly version: number;
  // biome-ignore lint/suspicious/noExplicitAny: each collection has its own document type
  readonly collections: readonly ReadModelSpec<any>[];
  /** Fields that depend on how the events were split into transactions: a comparison of documents leaves them out. */
  readonly incidental?: readonly string[];
  /** Where one log can make different documents: compares what they mean instead. Returns the number of rebuilt documents. */
  compare?(sides: Sides, found: (difference: Difference) => void): Promise<number>;
}

/** A projection as the projector runs it. */
export interface Projection extends ProjectionFacts {
  readonly types: readonly string[];
  isHeavy?(event: RecordedEvent): boolean;
  mayBeHeavy?(event: RecordedEvent): boolean;
  findHeavy?(events: readonly RecordedEvent[], open: OpenCollection): Promise<RecordedEvent | null>;
  clear?(event: RecordedEvent, open: OpenCollection): Promise<boolean>;
  retract?(event: RecordedEvent, open: OpenCollection): Promise<void>;
  /**
   * Applies events of `types` in log order, inside the transaction that also moves the checkpoint. `urls_of` has the URLs of
   * each `URLChecked`. `inserts` are by default inside the transaction.
   */
  apply(events: readonly RecordedEvent[], open: OpenCollection, urls_of?: UrlsOf, inserts?: Inserts): Promise<void>;
}

/** A projection as its author writes it. The handlers of one transaction's events share a `Page`. */
export interface ProjectionSpec<Type extends EventType, Page, Covered extends Category, Ignored extends EventType>
  extends ProjectionFacts {
  /** Stream categories: each of their event types has a handler or is listed in `ignores`, else it does not compile. */
  readonly covers?: readonly Covered[];
  readonly ignores?: readonly Ignored[];
  /** Whether an event writes so much that it gets a transaction of its own. */
  isHeavy?(event: LogEvent): boolean;
  /** Whether documents that are there may make an event heavy, by its type; in a replay there may be none. Decision 198 says why. */
  mayBeHeavy?(event: LogEvent): boolean;
  /** The first of such events that is heavy. */
  findHeavy?(events: readonly LogEvent[], open: OpenCollection): Promise<LogEvent | null>;
  /**
   * Deletes a slice of a heavy event's documents before the event is applied. The projector calls it in a transaction each
   * until it returns false, and after a crash from the start. An event that may be heavy is cleared whenever it comes alone.
   */
  clear?(event: LogEvent, open: OpenCollection): Promise<boolean>;
  /** Removes what inserts may have stored of an event that could not be applied and is parked. The event's data may be damaged. */
  retract?(event: LogEvent, open: OpenCollection): Promise<void>;
  /** Reads the documents that the handlers of these events need. */
  begin(open: OpenCollection, events: readonly LogEvent[], urls_of: UrlsOf, inserts: Inserts): Page | Promise<Page>;
  /** The handler of each event type; the projector awaits them one after the other, in log order. */
  readonly on: { readonly [Each in Type]: (event: LogEvent<Each>, page: Page) => unknown };
  /** Writes the documents that the handlers have gathered in the page. */
  end?(page: Page, open: OpenCollection): Promise<void>;
}

/** The type of `projection` when an event type of a covered category is missing: it fails to compile where it is used. */
export interface WithoutHandler<Missing> {
  readonly no_handler_of: Missing;
}

/**
 * Makes a projection of its description.
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
  // `apply` gets only events of `types`, which are the keys of `on`.
  const handlers = on as unknown as Readonly<Record<string, (event: LogEvent, page: Page) => unknown>>;
  const made: Projection = {
    ...rest,
    types: Object.keys(on),
    async apply(
      events: readonly LogEvent[],
      open,
      urls_of = () => ({ urls: [], rows: [] }),
      inserts = insertInside(open),
    ) {
      const page = await begin(open, events, urls_of, inserts);
      for (const event of events) await handlers[event.type]!(event, page);
      await end?.(page, open);
    },
  };
  return made as never; // the caller's type arguments decide between the two return types
}

/**
 * One handler for each event type of a category.
 * @example on: { ...handlersOf('credits', enter), PaymentReceived: pay }
 */
export function handlersOf<Handled extends Category, Page>(
  category: Handled,
  handler: (event: LogEvent<EventTypeOf<Handled>>, page: Page) => unknown,
) {
  const handlers = Object.keys(VOCABULARY[category]).map((type) => [type, handler]);
  return Object.fromEntries(handlers) as Record<EventTypeOf<Handled>, typeof handler>;
}

type Complete<Missing> = [Missing] extends [never] ? Projection : WithoutHandler<Missing>;

/** Read by every build and every live run beside their own types, so that a discarded event is discarded after a rebuild too. */
export const DISCARDING = 'ParkedEventDiscarded' satisfies EventType;

/** A generation of a projection, to which events are applied. */
export interface Target {
  readonly projection: Projection;
  readonly generation: number;
  /** The field of the projection's state that counts the generation's parked events. */
  readonly counter: 'parked' | 'next.parked';
}
