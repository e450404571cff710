// Removes what is left of deleted jobs. First the results, slice by slice: an event for each, by which the read models
// drop them. Only then the file, the listing and the streams of results, so that at every moment the documents are what
// a replay of the log makes. Every step may be made again, in whole or in part.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CommandContext } from '../commands/aggregate.ts';
import type { JobCommand, Jobs } from '../commands/job.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { checksStream, urlsStream } from '../events/streams.ts';
import type { Blobs } from '../intake/blobs.ts';
import { type PurgeDocument, purges } from '../readmodels/purges.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { pause } from '../time/pause.ts';

/** Results that one transaction of the read models removes. */
const SLICE = 5000;
/** Deleted jobs that one pass looks at. */
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
    const position = await purgeSome(options, signal);
    works();
    // The read models do not fall behind for a job that nobody sees: other events come between two passes.
    if (position !== null) await options.readmodels.passed(position, PROJECTED_MS);
    else await pause(IDLE_MS, signal);
  }
}

/** One step of some deleted jobs, the first to be deleted first; the position reached, null when nothing was left. */
export async function purgeSome(options: PurgeOptions, signal: AbortSignal): Promise<Position | null> {
  let position: Position | null = null;
  let results = 0;
  for (const purge of await options.readmodels.collection(purges).find({}, { sort: { since: 1 }, limit: AT_ONCE })) {
    if (signal.aborted || results >= SLICE) break;
    const { _id: job_id, purged_to: from_index, urls } = purge;
    const to_index = Math.min(from_index + SLICE, urls);
    results += to_index - from_index;
    if (from_index === urls) await removeContent(purge, options);
    const command: JobCommand =
      from_index === urls ? { type: 'purge' } : { type: 'purgeResults', from_index, to_index };
    const purged = await options.commands.run(job_id, command, options.context(job_id));
    if (!purged.ok) throw new Error(`${job_id}: ${purged.refused.message}`);
    position = purged.position;
  }
  return position;
}

async function removeContent({ _id: job_id, batch_size, blob_key, urls }: PurgeDocument, { log, blobs }: PurgeOptions) {
  if (blob_key !== null) await blobs.delete(blob_key);
  await log.deleteStream(urlsStream(job_id));
  // Those that were never written too: a checker that had one in hand can no longer record it.
  for (let batch = 0; batch * batch_size < urls; batch++) {
    await log.deleteStream(checksStream(job_id, batch));
    await nextTurn();
  }
}
