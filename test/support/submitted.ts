// A job of an upload, submitted by job_commands without http, of which some URLs are checked.
import { Readable } from 'node:stream';
import type { Blobs } from '../../commands/blobs.ts';
import type { Jobs } from '../../commands/jobs/job.ts';
import { leftOutKey } from '../../commands/jobs/job-blobs.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import type { CreditsLedger } from '../../commands/ledger/credits.ts';
import type { Outcome } from '../../events/checks.ts';
import type { EventStore } from '../../events/event-store.ts';
import { FOUND } from './behind.ts';
import { commandContext } from './stores.ts';

export interface Submitted {
  job_id: string;
  owner_id: string;
  owner_email: string | null;
  filename: string;
  urls: readonly string[];
  batch_size: number;
  /** How many of the first URLs are checked; a multiple of `batch_size`, or all. */
  checked: number;
  /** Default: each is found alike. */
  outcomeOf?: (index: number) => Outcome;
}

export async function submitUpload(
  { log, blobs, job_commands, credits }: { log: EventStore; blobs: Blobs; job_commands: Jobs; credits: CreditsLedger },
  { urls, batch_size, checked, outcomeOf = () => FOUND, ...of }: Submitted,
): Promise<void> {
  const { job_id } = of;
  const submission = {
    ...of,
    source: 'upload' as const,
    blob_key: `uploads/${job_id}`,
    needs_credits: true,
    counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
    pages: (async function* () {
      yield { urls };
    })(),
  };
  await blobs.put(submission.blob_key, Readable.from(urls.join('\n')));
  await blobs.put(leftOutKey(job_id), Readable.from('[1,"no_domain","personal"]\n'));
  const submitted = await openSubmitJob(log, job_commands, credits)(submission, commandContext());
  if (!submitted.ok) throw new Error(submitted.refused.message);
  for (let from_index = 0; from_index < checked; from_index += batch_size) {
    const range = { job_id, batch: from_index / batch_size, from_index };
    const some = urls.slice(from_index, from_index + batch_size);
    const outcomes = some.map((_, at) => outcomeOf(from_index + at));
    await recordChecks(log, { ...range, urls: some }, outcomes, commandContext());
  }
}
