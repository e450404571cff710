// From what a client sent to a job: shared by the upload of the gateway and the list of the public API.
import { randomUUID } from 'node:crypto';
import type { Config } from '../config.ts';
import type { JobSource } from '../events/job.ts';
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

/** Throws HttpError for what cannot become a job; then there is no job and nothing is charged. */
export async function submit(submitted: Submitted, request: Asking, services: Services): Promise<Reply> {
  const now = services.now();
  const { urls, file } = submitted;
  const result = await services
    .submitJob(
      {
        job_id: file?.job_id ?? randomUUID(),
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
      contextOf(request, now),
    )
    .catch((error: unknown) => refuseIntake(error, submitted.source));
  if (!result.ok) {
    const { code, message } = result.refused;
    throw new HttpError(code === 'no_credits' ? 402 : 409, code, message);
  }
  const body: JobView = newJobView(result.job, now);
  const location = `${submitted.source === 'api' ? '/api/v2' : ''}/jobs/${body.job_id}`;
  return { status: 201, body, headers: { ...reached(result.position), location } };
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
  }));
  throw new ValidationError([{ loc, msg: message, type: code }, ...of_rows], code);
}
