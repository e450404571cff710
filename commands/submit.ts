// Submitting a job, from a file or from a list of any origin: intake finds the URLs, `submit-job.ts` makes the job of them. The file
// is kept for as long as its job.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { EventStore } from '../events/event-store.ts';
import type { JobSource } from '../events/job.ts';
import type { Blobs } from '../intake/blobs.ts';
import type { CommandContext } from './aggregate.ts';
import type { CreditsLedger } from './credits.ts';
import { type KeyScope, openIdempotencyKeys } from './idempotency.ts';
import type { Given, Intake, IntakeOptions, OrUnusable } from './intake.ts';
import type { Jobs } from './job.ts';
import { openSubmitJob, type Submitted } from './submit-job.ts';
import { type OneSubmission, openSubmitOnce, type SubmittedOnce } from './submit-once.ts';

export interface JobRequest {
  owner_id: string;
  owner_email: string | null;
  source: JobSource;
  given: Given;
  options?: IntakeOptions;
  /** Whether a job without a credit is refused (`no_credits`) or made and paused at once. */
  needs_credits: boolean;
}

/** What a request with an idempotency key says of itself. */
export interface Keyed extends Pick<OneSubmission, 'fingerprint' | 'answerOf'> {
  scope: KeyScope;
  size_bytes: number;
}

export interface Submissions {
  /** What is refused has left no job, and nothing is charged. */
  submit(request: JobRequest, context: CommandContext): Promise<OrUnusable<Submitted>>;
  /** The same, at most once for each key: a request that comes again gets the first one's answer. */
  submitOnce(request: JobRequest, keyed: Keyed, context: CommandContext): Promise<SubmittedOnce>;
}

/** So long a request may take before another one with its key takes it for dead. */
const LEASE_MS = 30_000;
/** A second for each 200 kB: ten times what listing takes. */
const LEASE_MS_A_BYTE = 1 / 200;

export function openSubmissions(parts: {
  log: EventStore;
  jobs: Jobs;
  credits: CreditsLedger;
  intake: Intake;
  blobs: Blobs;
}): Submissions {
  const { log, jobs, credits, intake, blobs } = parts;
  const submitJob = openSubmitJob(log, jobs, credits);
  const submitOnce = openSubmitOnce(log, openIdempotencyKeys(log), jobs, credits);

  async function make(job_id: string, request: JobRequest, context: CommandContext): Promise<Submitted> {
    const { given, options, ...submitter } = request;
    const urls = await intake.urlsOf(given, options);
    const counts = () => {
      const { duplicates_removed, invalid_urls_rejected, blocked_urls_skipped } = urls.summary;
      return { duplicates_removed, invalid_urls_rejected, blocked_urls_skipped };
    };
    const submission = { ...submitter, job_id, pages: urls, counts };
    if (given.kind === 'list') return await submitJob({ ...submission, filename: null, blob_key: null }, context);
    const blob_key = `uploads/${job_id}`;
    await blobs.put(blob_key, createReadStream(given.path));
    let is_made = false;
    try {
      const submitted = await submitJob({ ...submission, filename: given.filename, blob_key }, context);
      is_made = submitted.ok;
      return submitted;
    } finally {
      if (!is_made) await blobs.delete(blob_key);
    }
  }
  async function submit(job_id: string, request: JobRequest, context: CommandContext): Promise<OrUnusable<Submitted>> {
    try {
      return await make(job_id, request, context);
    } catch (error) {
      const refused = intake.refusalOf(error);
      if (!refused) throw error;
      return { ok: false, refused };
    }
  }
  return {
    submit: (request, context) => submit(randomUUID(), request, context),
    submitOnce(request, { size_bytes, ...keyed }, context) {
      const lease_ms = LEASE_MS + size_bytes * LEASE_MS_A_BYTE;
      const submission = { ...keyed, lease_ms, new_job_id: randomUUID };
      return submitOnce({ ...submission, submit: (job_id) => submit(job_id, request, context) }, context);
    },
  };
}
