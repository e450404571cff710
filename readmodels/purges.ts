// The read model of deleted jobs of which something is left to remove: results here, streams in the log, a stored file.
import type { CollectionSpec, Document } from './documents.ts';

/** One a job, until everything is gone. Nothing in it depends on events that are removed. */
export interface PurgeDocument extends Document {
  batch_size: number;
  blob_key: string | null;
  /** The URLs before this one are done with. */
  purged_to: number;
  /** None beyond it was ever checked. At least 1. */
  urls: number;
  /** ISO 8601. */
  since: string;
}

export const purges: CollectionSpec<PurgeDocument> = {
  name: 'purges',
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};
