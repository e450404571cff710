// The read model of users whose erasure is asked for and not done yet.
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

/** `_id` is the user's id. */
export interface ErasureDocument extends Document {
  /** ISO 8601. */
  since: string;
}

export const erasures: ReadModelSpec<ErasureDocument> = {
  name: 'erasures',
  ...kept('under 1 kB an erasure', 'with its end', 'unfinished'),
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};
