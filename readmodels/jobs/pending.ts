// The read model of work over two streams that has its first event alone.
import type { HalfDone, SweptWork } from '../../events/two-streams.ts';
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

export interface PendingDocument extends Document, HalfDone {
  kind: SweptWork;
  /** The stream of the first event. */
  first: string;
  /** When it was appended, in ISO 8601. */
  since: string;
}

export const pending: ReadModelSpec<PendingDocument> = {
  name: 'pending',
  ...kept('under 1 kB a step', 'with the step', 'unfinished'),
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};
