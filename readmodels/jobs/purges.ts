// The read model of jobs whose data is to be removed, because the job was deleted or its results expired: first the results, then the
// streams and the file.
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

/** One for each such job, until its purge ends. None of its fields comes from an event that the purge removes. */
export interface PurgeDocument extends Document {
  batch_size: number;
  blob_key: string | null;
  /** The results below this index are removed. */
  purged_to: number;
  /** The job has results below this index only. */
  urls: number;
  /** Whether the job is deleted; else it stays, without its results. Missing in documents of an earlier version. */
  is_deleted?: boolean;
  /** ISO 8601. */
  since: string;
}

export const purges: ReadModelSpec<PurgeDocument> = {
  name: 'purges',
  ...kept('under 1 kB a purge', 'with its end', 'unfinished'),
  fields: { since: 'string' },
  indexes: [{ fields: { since: 1 } }],
};
