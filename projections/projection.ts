// What a projection is: the events it takes and the documents it writes. It has no side effects and no memory of its
// own, so that the same events make the same documents whenever it runs.
import type { RecordedEvent } from '../events/event-store.ts';
import type { Collection, CollectionSpec, Document } from '../readmodels/documents.ts';

export type OpenCollection = <T extends Document>(spec: CollectionSpec<T>) => Promise<Collection<T>>;

export interface Projection {
  readonly name: string;
  /** Raised with every change of what it makes: the read model is then built anew beside the old one. */
  readonly version: number;
  readonly types: readonly string[];
  /** Types that write as much as one transaction should: each of their events ends the transaction that it is in. */
  readonly heavy?: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: of whatever document types
  readonly collections: readonly CollectionSpec<any>[];
  /** In log order, only of `types`, inside the transaction that also moves the checkpoint. */
  apply(events: readonly RecordedEvent[], open: OpenCollection): Promise<void>;
}
