// Submits a job from a file or a list: intake finds the URLs, and `submit-job.ts` makes the job of them. The blob store keeps the
// file, and what intake left out of it, for as long as the job exists.
import { createReadStream } from 'node:fs';
import type { EventStore } from '../../events/event-store.ts';
import type { JobCreated, JobSource } from '../../events/job.ts';
import { newJobId } from '../../events/job-id.ts';
import { isOfStore } from '../../events/store-faults.ts';
import { jobStream } from '../../events/streams.ts';
import { isTestUser, MAX_TEST_URLS, SANDBOX_HOST } from '../../events/test-user.ts';
import type { CommandContext } from '../aggregate.ts';
import type { Blobs } from '../blobs.ts';
import { type KeyScope, openIdempotencyKeys } from '../idempotency.ts';
import type { CreditsLedger, LimitedKey } from '../ledger/credits.ts';
import type { Given, Intake, IntakeOptions, ListReading, OrUnusable } from './intake.ts';
import type { Jobs } from './job.ts';
import { deleteJobBlobs, uploadKey } from './job-blobs.ts';
import { openLeftOut } from './left-out.ts';
import { firstReservation } from './reservations.ts';
import { openSubmitJob } from './submit-job.ts';
import { type OneSubmission, openSubmitOnce, type SubmittedList, type SubmittedOnce } from './submit-once.ts';

export interface JobRequest {
  owner_id: string;
  owner_email: string | null;
  source: JobSource;
  given: Given;
  options?: IntakeOptions;
  /** True: a job without a credit is refused as `no_credits`. False: it is created and paused at once. */
  needs_credits: boolean;
  /** What the client says of the job, and how it wants its URLs asked for. */
  described?: Pick<JobCreated, 'label' | 'metadata' | 'options'>;
  /** The failed job that this one runs again. */
  rerun_of?: string;
  /** The API key with a limit of credits that submits it. */
  key?: LimitedKey;
  /** Called when the whole list has been read: what is left waits for the log. */
  listRead?(): void;
}

/** The parts of a request with an idempotency key that the key's aggregate needs. */
export interface Keyed extends Pick<OneSubmission, 'fingerprint' | 'answerOf'> {
  scope: KeyScope;
  size_bytes: number;
}

export type Submissions = ReturnType<typeof openSubmissions>;

/** A request with an idempotency key may take this long; then another one with the key takes over. */
const LEASE_MS = 30_000;
/** One second for each 200 kB, which is ten times as long as listing takes. */
const LEASE_MS_PER_BYTE = 1 / 200;

const SANDBOX = { only_host: SANDBOX_HOST, max_urls: MAX_TEST_URLS };

export function openSubmissions(parts: {
  log: EventStore;
  jobs: Jobs;
  credits: CreditsLedger;
  intake: Intake;
  blobs: Blobs;
}) {
  const { log, jobs, credits, intake, blobs } = parts;
  const submitJob = openSubmitJob(log, jobs, credits);
  const submitOnce = openSubmitOnce(log, openIdempotencyKeys(log), jobs, credits);

  async function make(job_id: string, request: JobRequest, context: CommandContext): Promise<SubmittedList> {
    const { given, options, described, rerun_of, listRead, ...submitter } = request;
    const left_out = openLeftOut(blobs, job_id);
    const sandbox = isTestUser(request.owner_id) ? SANDBOX : undefined;
    const urls = await intake.urlsOf(given, { ...options, ...(sandbox && { sandbox }), left_out });
    const counts = () => {
      const { duplicates_removed, invalid_urls_rejected, blocked_urls_skipped } = urls.summary;
      return { duplicates_removed, invalid_urls_rejected, blocked_urls_skipped };
    };
    const is_file = given.kind === 'file';
    const [filename, blob_key] = is_file ? [given.filename, uploadKey(job_id)] : [null, null];
    /** A job that was not made after all, while the log was away, loses its files to the sweeper. */
    let may_be_made = false;
    try {
      if (is_file) await blobs.put(blob_key!, createReadStream(given.path));
      const more = { ...wishesOf(options), ...described, ...(rerun_of !== undefined && { rerun_of }) };
      const table = () => urls.table;
      const submission = { ...submitter, job_id, filename, blob_key, pages: pages(), counts, table, more };
      const submitted = await submitJob(submission, context);
      may_be_made = submitted.ok;
      return { ...submitted, reading: urls.reading };
    } catch (error) {
      may_be_made &&= isOfStore(error) && !(await isVoided(job_id).catch(() => false));
      throw error;
    } finally {
      if (!may_be_made) await left_out.discard();
      if (!may_be_made && blob_key !== null) await blobs.delete(blob_key);
    }

    /** The job is made after the last page, so that what was left out is stored by then. */
    async function* pages() {
      yield* urls;
      await left_out.end();
      may_be_made = true;
      listRead?.();
    }
  }
  const isVoided = async (job_id: string) =>
    (await jobs.aggregate.read(jobStream(job_id))).state.reservations.get(firstReservation(job_id)) === 'voided';
  async function submit(
    job_id: string,
    request: JobRequest,
    context: CommandContext,
  ): Promise<OrUnusable<SubmittedList>> {
    try {
      return await make(job_id, request, context);
    } catch (error) {
      const refused = intake.refusalOf(error);
      if (!refused) throw error;
      return { ok: false, refused };
    }
  }
  return {
    /** A refused request creates no job and costs nothing. Throws the stores' errors. */
    submit: (request: JobRequest, context: CommandContext) => submit(newJobId(context.now), request, context),
    /** Submits at most once for each key: a repeated request gets the first request's answer. */
    submitOnce(request: JobRequest, { size_bytes, ...keyed }: Keyed, context: CommandContext): Promise<SubmittedOnce> {
      const lease_ms = LEASE_MS + size_bytes * LEASE_MS_PER_BYTE;
      const discard = (job_id: string) => deleteJobBlobs(blobs, job_id);
      const submission = { ...keyed, lease_ms, new_job_id: () => newJobId(context.now), discard };
      return submitOnce({ ...submission, submit: (job_id) => submit(job_id, request, context) }, context);
    },
    /** How a submission reads what is given; null for a list. */
    readingOf: async ({ given, options }: Pick<JobRequest, 'given' | 'options'>): Promise<ListReading | null> =>
      (await intake.urlsOf(given, options)).reading,
  };
}

/** The options that the client did not leave to the service, so that a rerun reads the list in the same way. */
function wishesOf(options: IntakeOptions = {}): Pick<JobCreated, 'reading' | 'column' | 'sheet' | 'encoding'> {
  const { column, sheet, encoding } = options;
  const refused = (['auto_add_prefix', 'skip_blocked', 'skip_invalid'] as const).filter(
    (name) => options[name] === false,
  );
  return {
    ...(refused.length > 0 && { reading: Object.fromEntries(refused.map((name) => [name, false])) }),
    ...(column != null && { column }),
    ...(sheet != null && { sheet }),
    ...(encoding != null && { encoding }),
  };
}
