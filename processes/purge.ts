// Removes the data of deleted jobs, and the results of jobs whose results expired. First it appends an event for each slice of
// results, at which the read models drop them. Then it deletes the file, the record of what was left out, the listing and the streams
// of results, so that a replay of the log always makes the same documents. Every step may run again, in whole or in part.
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { JobCommand, Jobs } from '../commands/job.ts';
import { leftOutKey } from '../commands/job-blobs.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import { checksStream, personalKeyStream, urlsStream } from '../events/streams.ts';
import { type PurgeDocument, purges } from '../readmodels/purges.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { inParallel } from './in-parallel.ts';
import { passOnMoves } from './passes.ts';
import { firstOthers, openPutOff, type PutOff } from './put-off.ts';
import type { Removals } from './removals.ts';

const SLICE = 5000;
/** Jobs in one pass. */
const AT_ONCE = 100;
const SPACING_MS = 500;
const PROJECTED_MS = 5000;

export interface PurgeOptions {
  log: EventStore;
  readmodels: ReadModels;
  commands: Jobs;
  blobs: Pick<Blobs, 'delete'>;
  removals: Removals;
  logger: Pick<Logger, 'error'>;
  context: (job_id: string) => CommandContext;
  /** Milliseconds that never go back. */
  monotonic: () => number;
  /** Results that one transaction of the read models removes. */
  slice?: number;
  /** The purges that failed; default: known to nobody else. */
  put_off?: PutOff;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runPurges(options: PurgeOptions, signal: AbortSignal, onPass: () => void): Promise<void> {
  const { readmodels } = options;
  const purger = openPurger(options);
  await passOnMoves({ readmodels, spacing_ms: SPACING_MS, signal, onPass }, async () => {
    for (;;) {
      const position = await purger.purgeSome(signal);
      if (position === null) return;
      onPass();
      // The wait lets the projector apply other events between two steps, so that a purge delays no visible job.
      await readmodels.passed(position, PROJECTED_MS);
    }
  });
}

export interface Purger {
  /**
   * Makes one step for some jobs, the oldest deletion or expiry first. Returns the last event's position; null when it made none. A
   * job whose step fails is left alone for a while; throws when a store is away.
   */
  purgeSome(signal: AbortSignal): Promise<Position | null>;
}

export function openPurger(options: PurgeOptions): Purger {
  const { readmodels, removals, logger, monotonic, slice = SLICE, put_off = openPutOff(monotonic) } = options;

  async function step(purge: PurgeDocument, to_index: number): Promise<Position> {
    const { _id: job_id, purged_to: from_index, urls, is_deleted = true } = purge;
    const is_last = from_index === urls;
    if (is_last) await removals.run(() => removeContent(purge, options));
    const last = { type: is_deleted ? 'purge' : 'removeResults' } as const;
    const command: JobCommand = is_last ? last : { type: 'purgeResults', from_index, to_index };
    const purged = await options.commands.run(job_id, command, options.context(job_id));
    if (!purged.ok) throw new Error(`${job_id}: ${purged.refused.message}`);
    return purged.position;
  }

  async function purgeSome(signal: AbortSignal): Promise<Position | null> {
    let position: Position | null = null;
    let results = 0;
    for (const purge of await firstOthers(readmodels.collection(purges), {}, 'since', AT_ONCE, put_off)) {
      if (signal.aborted || results >= slice) break;
      const { _id: job_id, purged_to: from_index, urls } = purge;
      if (from_index === urls && removals.are_held) continue;
      const to_index = Math.min(from_index + slice, urls);
      results += to_index - from_index;
      try {
        position = await step(purge, to_index);
      } catch (err) {
        if (signal.aborted || isOfStore(err)) throw err;
        logger.error({ err, job_id }, 'a job cannot be purged now; the others are');
        put_off.add(job_id);
      }
    }
    return position;
  }

  return { purgeSome };
}

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
