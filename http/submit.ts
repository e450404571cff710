// From what a client sent to a job: shared by the upload of the gateway and the list of the public API.
import { randomUUID } from 'node:crypto';
import type { CommandContext } from '../commands/aggregate.ts';
import type { KeyRefused } from '../commands/submit-once.ts';
import type { Config } from '../config.ts';
import type { Position } from '../events/event-store.ts';
import type { JobCreated, JobSource } from '../events/job.ts';
import type { CollectedUrls } from '../intake/collect-urls.ts';
import { IntakeError, type IntakeErrorCode } from '../intake/errors.ts';
import { ClientGone, HttpError, ValidationError } from './errors.ts';
import { type JobView, newJobView } from './job-view.ts';
import type { Caller, Reply } from './route.ts';
import { contextOf, reached, type Services } from './services.ts';

export interface Submitted {
  source: JobSource;
  urls: CollectedUrls;
  file: { filename: string | null; blob_key: string; job_id: string } | null;
  needs_credits: boolean;
}

/** What an upload or a list may take. */
export const intakeLimits = (config: Config) => ({
  max_urls: config.max_urls_per_job,
  max_url_chars: config.max_url_chars,
  max_file_bytes: config.max_file_bytes,
  max_inflated_bytes: config.max_inflated_bytes,
});

interface Asking {
  caller: Caller;
  request_id: string;
  signal: AbortSignal;
}

export interface NewJob {
  reply: Omit<Reply, 'body'> & { body: JobView };
  position: Position;
}

/** Throws HttpError for what cannot become a job; then there is no job and nothing is charged. */
export async function submit(submitted: Submitted, request: Asking, services: Services): Promise<NewJob> {
  const context = contextOf(request, services.now());
  const job_id = submitted.file?.job_id ?? randomUUID();
  const { job, position } = await makeJob(job_id, submitted, request, services, context);
  return newJob(answerOf(job, context.now), position);
}

/** What a request with an idempotency key says of itself. */
export interface Keyed {
  key: string;
  /** Method and path of the route. */
  route: { method: string; path: string };
  fingerprint: string;
  size_bytes: number;
}

/** The same, at most once for each key: a request that comes again gets the first one's answer. */
export async function submitOnce(
  submitted: Submitted,
  keyed: Keyed,
  request: Asking,
  services: Services,
): Promise<NewJob> {
  const context = contextOf(request, services.now());
  const { key, route, fingerprint, size_bytes } = keyed;
  const once = await services.submitOnce(
    {
      scope: { user_id: request.caller.user_id, method: route.method, route: route.path, key },
      fingerprint,
      lease_ms: LEASE_MS + size_bytes * LEASE_MS_A_BYTE,
      new_job_id: randomUUID,
      submit: async (job_id) => (await makeJob(job_id, submitted, request, services, context)).job,
      isRefusal: (error) => error instanceof HttpError && error.status < 500,
      answerOf,
    },
    context,
  );
  if (!once.ok) {
    const { refused } = once;
    throw new HttpError(409, refused.code, refused.message, undefined, retryAfter(refused));
  }
  const { status, body } = once.answer;
  return newJob({ status, body: body as JobView }, once.position, once.replayed ? REPLAYED : {});
}

const REPLAYED = { 'Idempotency-Replayed': 'true' };
/** Most requests are done long before another one would take them for dead. */
const RETRY_S = 5;

function retryAfter(refused: KeyRefused): Record<string, string> {
  if (refused.code !== 'idempotency_in_progress') return {};
  return { 'retry-after': String(Math.min(Math.ceil(refused.left_ms / 1000), RETRY_S)) };
}

/** So long a request may take before another one with its key takes it for dead. */
const LEASE_MS = 30_000;
/** A second for each 200 kB: ten times what listing takes. */
const LEASE_MS_A_BYTE = 1 / 200;

const answerOf = (job: JobCreated, created_at: number) => ({ status: 201, body: newJobView(job, created_at) });

function newJob({ status, body }: { status: number; body: JobView }, position: Position, more = {}): NewJob {
  const location = `${body.source === 'api' ? '/api/v2' : ''}/jobs/${body.job_id}`;
  return { reply: { status, body, headers: { ...reached(position), location, ...more } }, position };
}

async function makeJob(
  job_id: string,
  submitted: Submitted,
  request: Asking,
  services: Services,
  context: CommandContext,
): Promise<{ job: JobCreated; position: Position }> {
  const { urls, file } = submitted;
  const result = await services
    .submitJob(
      {
        job_id,
        owner_id: request.caller.user_id,
        owner_email: request.caller.email,
        source: submitted.source,
        filename: file?.filename ?? null,
        blob_key: file?.blob_key ?? null,
        pages: whileThere(urls, request.signal),
        counts() {
          const { duplicates_removed, invalid_urls_rejected, blocked_urls_skipped } = urls.summary;
          return { duplicates_removed, invalid_urls_rejected, blocked_urls_skipped };
        },
        needs_credits: submitted.needs_credits,
      },
      context,
    )
    .catch((error: unknown) => refuseIntake(error, submitted.source));
  if (!result.ok) {
    const { code, message } = result.refused;
    throw new HttpError(code === 'no_credits' ? 402 : 409, code, message);
  }
  return result;
}

/** Nobody is charged for a job that they went away from while it was read. */
export async function* whileThere<Page>(pages: AsyncIterable<Page>, signal: AbortSignal): AsyncGenerator<Page> {
  for await (const page of pages) {
    if (signal.aborted) throw new ClientGone('the client went away while its URLs were read');
    yield page;
  }
}

const STATUSES: Partial<Record<IntakeErrorCode, number>> = {
  file_too_large: 413,
  inflated_too_large: 413,
  zip_bomb: 413,
  too_many_urls: 413,
  not_a_table: 415,
};

/** What is wrong with a file or a list is the client's to mend. */
export function refuseIntake(error: unknown, source: JobSource): never {
  if (!(error instanceof IntakeError)) throw error;
  const { code, message, rows } = error;
  const status = STATUSES[code];
  if (status !== undefined) throw new HttpError(status, code, message);
  const loc = ['body', source === 'upload' ? 'file' : 'urls'];
  const of_rows = rows.map((issue) => ({
    loc: [...loc, issue.row],
    msg: `${JSON.stringify(issue.value)} ${issue.message}`,
    type: issue.reason,
    value: issue.value,
  }));
  throw new ValidationError([{ loc, msg: message, type: code }, ...of_rows], code);
}
