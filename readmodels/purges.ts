// The read model of deleted jobs whose data is not removed yet: first their results, then their streams and their file.
import type { CollectionSpec, Document } from './documents.ts';

/** One for each deleted job, until its purge ends. None of its fields comes from an event that the purge removes. */
export interface PurgeDocument extends Document {
  batch_size: number;
  blob_key: string | null;
  /** The results below this index are removed. */
  purged_to: number;
  /** The job has results below this index only. */
  urls: number;
  /** ISO 8601. */
  since: string;
}

export const purges: CollectionSpec<PurgeDocument> = {
  name: 'purges',
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};
