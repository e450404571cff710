// The read model of users whose erasure is asked for and not done yet.
import type { CollectionSpec, Document } from '../documents.ts';

/** `_id` is the user's id. */
export interface ErasureDocument extends Document {
  /** ISO 8601. */
  since: string;
}

export const erasures: CollectionSpec<ErasureDocument> = {
  name: 'erasures',
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};
