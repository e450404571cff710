// The read model of deleted jobs of which something is left to remove: results here, then streams in the log and the file.
import type { CollectionSpec, Document } from './documents.ts';

/** One a job, until everything is gone. Nothing in it depends on events that are removed. */
export interface PurgeDocument extends Document {
  batch_size: number;
  blob_key: string | null;
  /** The results before this one are gone. */
  purged_to: number;
  /** None beyond it was ever checked. */
  urls: number;
  /** ISO 8601. */
  since: string;
}

export const purges: CollectionSpec<PurgeDocument> = {
  name: 'purges',
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};
