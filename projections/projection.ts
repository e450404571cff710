// What a projection is: the events it takes and the documents it writes. It has no side effects and no memory of its
// own, so that the same events make the same documents whenever it runs.
import type { RecordedEvent } from '../events/event-store.ts';
import type { Collection, CollectionSpec, Document } from '../readmodels/documents.ts';

export type OpenCollection = <T extends Document>(spec: CollectionSpec<T>) => Promise<Collection<T>>;

export interface Projection {
  readonly name: string;
  /**
   * Raised with every change of what it makes: the read model is then built anew beside the old one. Until it is, the new
   * code carries the old documents on: it takes them as they are, and fields that only the new version makes may be missing.
   */
  readonly version: number;
  readonly types: readonly string[];
  /** Whether an event writes as much as one transaction should: each such event has a transaction of its own. */
  isHeavy?(event: RecordedEvent): boolean;
  // biome-ignore lint/suspicious/noExplicitAny: of whatever document types
  readonly collections: readonly CollectionSpec<any>[];
  /**
   * Before a heavy event is applied: deletes a slice of what the event deletes, no more than one transaction should.
   * Called again, in a transaction each, until it gives false; after a crash from the start.
   */
  clear?(event: RecordedEvent, open: OpenCollection): Promise<boolean>;
  /** In log order, only of `types`, inside the transaction that also moves the checkpoint. */
  apply(events: readonly RecordedEvent[], open: OpenCollection): Promise<void>;
}

/** What the events of a projection are applied to. */
export interface Target {
  readonly projection: Projection;
  readonly generation: number;
  /** Where the projection's state counts the events that the generation is made without. */
  readonly counter: 'parked' | 'next.parked';
}
