// Removes the data of deleted jobs, and the results of jobs whose results expired. First it appends an event for each slice of
// results, at which the read models drop them. Then it deletes the file, the record of what was left out, the listing and the streams
// of results, so that a replay of the log always makes the same documents. Every step may run again, in whole or in part.
import { type CommandContext, notRefused } from '../commands/aggregate.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { JobCommand, Jobs } from '../commands/jobs/job.ts';
import { leftOutKey } from '../commands/jobs/job-blobs.ts';
import type { EventStore } from '../events/event-store.ts';
import { checksStream, personalKeyStream, urlsStream } from '../events/streams.ts';
import { type PurgeDocument, purges } from '../readmodels/jobs/purges.ts';
import { inParallel } from './in-parallel.ts';
import { type AnyManager, processManager } from './process-manager.ts';
import type { PutOff } from './put-off.ts';
import type { Removals } from './removals.ts';

const SLICE = 5000;
/** Jobs in one pass. */
const AT_ONCE = 100;

export interface PurgeOptions {
  log: EventStore;
  job_commands: Jobs;
  blobs: Pick<Blobs, 'delete'>;
  removals: Removals;
  context: (job_id: string) => CommandContext;
  /** Results that one transaction of the read models removes. */
  slice?: number;
  /** The purges that failed; default: known to nobody else. */
  put_off?: PutOff;
}

export function purging(options: PurgeOptions): AnyManager {
  const { removals, slice = SLICE, put_off } = options;
  const stepOf = ({ purged_to, urls }: PurgeDocument) => Math.min(slice, urls - purged_to);
  return processManager({
    name: 'purges',
    finds: { in: purges, where: {} },
    order: 'since',
    since: ({ since }) => since,
    at_once: AT_ONCE,
    at_a_time: 1,
    /** Steps until their results fill a slice. */
    takes(found) {
      let results = 0;
      return found.filter((purge) => {
        if (results >= slice || (isLastStep(purge) && removals.are_held)) return false;
        results += stepOf(purge);
        return true;
      });
    },
    async work(purge) {
      const { _id: job_id, purged_to: from_index, is_deleted = true } = purge;
      const is_last = isLastStep(purge);
      if (is_last) await removals.run(() => removeContent(purge, options));
      const last = { type: is_deleted ? 'purge' : 'removeResults' } as const;
      const to_index = from_index + stepOf(purge);
      const command: JobCommand = is_last ? last : { type: 'purgeResults', from_index, to_index };
      return notRefused(await options.job_commands.run(job_id, command, options.context(job_id))).position;
    },
    fails: 'a job cannot be purged now; the others are',
    // The runner waits for the read models, which lets the projector apply other events between two steps: a purge delays no visible job.
    busy_ms: 0,
    ...(put_off && { put_off }),
  });
}

const isLastStep = ({ purged_to, urls }: PurgeDocument) => purged_to === urls;

async function removeContent(purge: PurgeDocument, { log, blobs }: PurgeOptions): Promise<void> {
  const { _id: job_id, batch_size, blob_key, urls, is_deleted = true } = purge;
  // A job that stays keeps the name of its file.
  if (is_deleted) await log.deleteStream(personalKeyStream(`job/${job_id}`));
  // Before the upload: a backup fails that lacks the upload of a job with a listing.
  await log.deleteStream(urlsStream(job_id));
  if (blob_key !== null) await blobs.delete(blob_key);
  await blobs.delete(leftOutKey(job_id));
  // Deleting unwritten streams too keeps a checker with a batch in hand from recording it.
  const batches = Array.from({ length: Math.ceil(urls / batch_size) }, (_, batch) => batch);
  await inParallel(batches, (batch) => log.deleteStream(checksStream(job_id, batch)));
}
