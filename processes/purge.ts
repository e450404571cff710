// Removes what is left of deleted jobs, slice by slice: streams of results, the listing, the uploaded file. Each slice
// ends with an event that says so, and by which the read models drop theirs. Every step may be made again: a crash
// between two of them repeats the slice.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { checksStream, urlsStream } from '../events/streams.ts';
import type { Blobs } from '../readmodels/blobs.ts';
import { pause } from '../readmodels/leases.ts';
import type { ReadModels } from '../readmodels/projection-state.ts';
import { type PurgeDocument, purges } from '../readmodels/purges.ts';

/** URLs of one slice, and so the results that a transaction of the read models removes. */
const SLICE_URLS = 5000;
/** Deleted jobs of which a slice is removed in one pass. */
const AT_ONCE = 100;
const IDLE_MS = 500;
const PROJECTED_MS = 5000;

export interface PurgeOptions {
  log: EventStore;
  readmodels: ReadModels;
  commands: Jobs;
  blobs: Blobs;
  context: (job_id: string) => CommandContext;
}

/** Runs until `signal` aborts; calls `works` after each pass. */
export async function runPurges(options: PurgeOptions, signal: AbortSignal, works: () => void): Promise<void> {
  while (!signal.aborted) {
    const position = await purgeSlices(options, signal);
    works();
    // What the read models have not seen yet would be removed once more.
    if (position !== null) await options.readmodels.passed(position, PROJECTED_MS);
    else await pause(IDLE_MS, signal);
  }
}

/** One slice of each deleted job, the first to be deleted first; the position reached, null when nothing was left. */
export async function purgeSlices(options: PurgeOptions, signal: AbortSignal): Promise<Position | null> {
  let position: Position | null = null;
  for (const purge of await options.readmodels.collection(purges).find({}, { sort: { since: 1 }, limit: AT_ONCE })) {
    if (signal.aborted) break;
    position = await purgeSlice(purge, options);
  }
  return position;
}

async function purgeSlice(purge: PurgeDocument, { log, blobs, commands, context }: PurgeOptions): Promise<Position> {
  const { _id: job_id, batch_size, blob_key, purged_to: from_index, urls } = purge;
  if (from_index === 0) {
    if (blob_key !== null) await blobs.delete(blob_key);
    await log.deleteStream(urlsStream(job_id));
  }
  const whole_batches = Math.floor(SLICE_URLS / batch_size) * batch_size;
  const to_index = Math.min(from_index + whole_batches, urls);
  // Those that were never written too: a checker that had one in hand can no longer record it.
  for (let batch = from_index / batch_size; batch * batch_size < to_index; batch++) {
    await log.deleteStream(checksStream(job_id, batch));
    await nextTurn();
  }
  const purged = await commands.run(job_id, { type: 'purge', from_index, to_index }, context(job_id));
  if (!purged.ok) throw new Error(`${job_id}: ${purged.refused.message}`);
  return purged.position;
}
