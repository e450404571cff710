// Removes the data of deleted jobs. First it appends an event for each slice of results, at which the read models drop them. Then
// it deletes the file, the record of what was left out, the listing and the streams of results, so that a replay of the log always
// makes the same documents. Every step may run again, in whole or in part.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { JobCommand, Jobs } from '../commands/job.ts';
import { leftOutKey } from '../commands/job-blobs.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { checksStream, personalKeyStream, urlsStream } from '../events/streams.ts';
import { type PurgeDocument, purges } from '../readmodels/purges.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { passOnMoves } from './passes.ts';

const SLICE = 5000;
/** Deleted jobs in one pass. */
const AT_ONCE = 100;
const SPACING_MS = 500;
const PROJECTED_MS = 5000;

export interface PurgeOptions {
  log: EventStore;
  readmodels: ReadModels;
  commands: Jobs;
  blobs: Blobs;
  context: (job_id: string) => CommandContext;
  /** Results that one transaction of the read models removes. */
  slice?: number;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runPurges(options: PurgeOptions, signal: AbortSignal, onPass: () => void): Promise<void> {
  const { readmodels } = options;
  await passOnMoves({ readmodels, spacing_ms: SPACING_MS, signal, onPass }, async () => {
    for (;;) {
      const position = await purgeSome(options, signal);
      if (position === null) return;
      onPass();
      // The wait lets the projector apply other events between two steps, so that a purge delays no visible job.
      await readmodels.passed(position, PROJECTED_MS);
    }
  });
}

/** Makes one step for some deleted jobs, the oldest deletion first. Returns the last event's position; null when it made none. */
export async function purgeSome(options: PurgeOptions, signal: AbortSignal): Promise<Position | null> {
  const { slice = SLICE } = options;
  let position: Position | null = null;
  let results = 0;
  for (const purge of await options.readmodels.collection(purges).find({}, { sort: { since: 1 }, limit: AT_ONCE })) {
    if (signal.aborted || results >= slice) break;
    const { _id: job_id, purged_to: from_index, urls } = purge;
    const to_index = Math.min(from_index + slice, urls);
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
  await blobs.delete(leftOutKey(job_id));
  await log.deleteStream(personalKeyStream(`job/${job_id}`));
  await log.deleteStream(urlsStream(job_id));
  // Deleting unwritten streams too keeps a checker with a batch in hand from recording it.
  for (let batch = 0; batch * batch_size < urls; batch++) {
    await log.deleteStream(checksStream(job_id, batch));
    await nextTurn();
  }
}
