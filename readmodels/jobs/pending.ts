// The read model of work over two streams that has its first event alone.
import type { HalfDone, SweptWork } from '../../events/two-streams.ts';
import type { CollectionSpec, Document } from '../documents.ts';

export interface PendingDocument extends Document, HalfDone {
  kind: SweptWork;
  /** The stream of the first event. */
  first: string;
  /** When it was appended, in ISO 8601. */
  since: string;
}

export const pending: CollectionSpec<PendingDocument> = {
  name: 'pending',
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};
