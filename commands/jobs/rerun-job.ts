// Runs a failed job again, as if its owner had submitted it now: reads the uploaded file or the listed URLs, and makes another job of
// them, which the owner pays. The failed job stays. Its id is the idempotency key, so that requests at once make one job.
// Decision 73 says why.
import { stat } from 'node:fs/promises';
import type { EventStore } from '../../events/event-store.ts';
import type { JobCreated, UrlsListed } from '../../events/job.ts';
import { jobStream, urlsStream, userStream } from '../../events/streams.ts';
import { accountOf, isTestUser } from '../../events/test-user.ts';
import type { CommandContext, Refusal } from '../aggregate.ts';
import type { Blobs } from '../blobs.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import { isErased } from '../users/user.ts';
import type { Given, IntakeOptions, ListItem } from './intake.ts';
import { creationOf, type Jobs, NO_SUCH_JOB } from './job.ts';
import type { JobRequest, Keyed, Submissions } from './submit.ts';
import type { SubmittedOnce } from './submit-once.ts';

export const RERUN_REFUSALS = {
  job_not_found: NO_SUCH_JOB,
  owner_erased: 'The account of the owner was erased.',
  upload_missing: 'The uploaded file of the job is not there any more.',
  results_expired: 'The job ended so long ago that its URLs and its file are removed.',
  no_credits: 'The owner has no credits left.',
  usage_limit: 'The limit of the owner for this period is used up.',
} as const;

export type RerunRefusal = Refusal & {
  code: keyof typeof RERUN_REFUSALS | 'not_failed';
  /** For `not_failed`. */
  details?: { status: string };
};
export type Rerun =
  /** `filename`: of the new job. */
  | (Extract<SubmittedOnce, { ok: true }> & {
      filename: string | null;
      described: NonNullable<JobRequest['described']>;
    })
  | Extract<SubmittedOnce, { ok: false }>
  | { ok: false; refused: RerunRefusal };

export interface Rerunning extends Pick<Keyed, 'answerOf'> {
  /** Who asks, for the scope of the idempotency key. */
  route: { method: string; path: string };
  /** An abort ends the reading of the URLs, and the rerun with it. */
  signal: AbortSignal;
}

export type RerunJob = (job_id: string, rerunning: Rerunning, context: CommandContext) => Promise<Rerun>;

/** About as many bytes of a list, for the time that a submission may take. */
const BYTES_A_URL = 100;

export function openRerunJob(parts: {
  log: EventStore;
  jobs: Jobs;
  users: CreditsLedger['users'];
  blobs: Pick<Blobs, 'file'>;
  submissions: Pick<Submissions, 'submitOnce'>;
}): RerunJob {
  const { log, jobs, users, blobs, submissions } = parts;
  const jobOf = async (job_id: string) => (await jobs.aggregate.read(jobStream(job_id))).state;

  return async (job_id, { route, signal, answerOf }, context) => {
    const { status, expired } = await jobOf(job_id);
    if (status === 'none' || status === 'deleted') return refusal('job_not_found');
    if (status !== 'failed') {
      const message = `Only a failed job can be run again; this one is ${status}.`;
      return refused({ code: 'not_failed', message, details: { status } });
    }
    if (expired) return refusal('results_expired');
    const { data: job } = await creationOf(log, job_id);
    const { state: owner } = await users.read(userStream(accountOf(job.owner_id)));
    if (isErased(owner)) return refusal('owner_erased');
    const upload = await uploadOf(job, blobs);
    if (upload === 'missing') return refusal('upload_missing');
    const given: Given = upload?.given ?? { kind: 'list', pages: listedUrls(log, job) };
    const request = {
      ...{
        owner_id: job.owner_id,
        owner_email: isTestUser(job.owner_id) ? null : owner.email,
        source: 'rerun' as const,
        rerun_of: job_id,
      },
      ...{ given, options: { ...optionsOf(job), signal }, needs_credits: true },
      described: describedOf(job),
    };
    const scope = { user_id: job.owner_id, method: route.method, route: route.path, key: job_id };
    const size_bytes = upload?.size_bytes ?? job.total_urls * BYTES_A_URL;
    try {
      const keyed = { scope, fingerprint: job_id, size_bytes, answerOf };
      const once = await submissions.submitOnce(request, keyed, context);
      if (once.ok)
        return { ...once, described: describedOf(job), filename: given.kind === 'file' ? given.filename : null };
      const { code } = once.refused;
      return code === 'no_credits' || code === 'usage_limit' ? refusal(code) : once;
    } catch (error) {
      // The purge of a job that is deleted or expires meanwhile takes the file or the listing away.
      const now = await jobOf(job_id);
      if (now.status === 'deleted') return refusal('job_not_found');
      if (now.expired) return refusal('results_expired');
      throw error;
    } finally {
      await upload?.release();
    }
  };
}

/** Null for a job that was posted as a list. */
async function uploadOf({ blob_key, filename }: JobCreated, blobs: Pick<Blobs, 'file'>) {
  if (blob_key === null) return null;
  const file = await blobs.file(blob_key);
  if (file === null) return 'missing';
  const given: Given = { kind: 'file', path: file.path, filename: filename ?? 'upload' };
  return { given, size_bytes: (await stat(file.path)).size, release: file.release };
}

function optionsOf({ reading, column, sheet, encoding }: JobCreated): IntakeOptions {
  const named = { column, sheet, encoding };
  return { ...reading, ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)) };
}

function describedOf({ label, metadata, options }: JobCreated): NonNullable<JobRequest['described']> {
  const said = { label, metadata, options };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

async function* listedUrls(log: EventStore, { job_id, total_urls }: JobCreated): AsyncGenerator<readonly ListItem[]> {
  let listed = 0;
  for await (const { data } of log.readStream(urlsStream(job_id))) {
    const { urls, refs = [] } = data as UrlsListed;
    listed += urls.length;
    yield urls.map((url, at) => (refs[at] == null ? url : { url, ref: refs[at] }));
  }
  if (listed < total_urls) throw new Error(`the listing of job ${job_id} has ${listed} of ${total_urls} URLs`);
}

const refused = (refusal: RerunRefusal) => ({ ok: false as const, refused: refusal });
const refusal = (code: keyof typeof RERUN_REFUSALS) => refused({ code, message: RERUN_REFUSALS[code] });
