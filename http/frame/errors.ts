// The errors that handlers throw. Each API writes them in its own shape.
import type { Refusal } from '../../commands/aggregate.ts';
import { NO_SUCH_JOB } from '../../commands/jobs/job.ts';
import { dependencyOf, storeFaultOf } from '../../events/store-faults.ts';
import { STATUS_CODES } from './node-http.ts';

/** One fault in a request. */
export interface Problem {
  /** The path to the problem: `body`, `query`, `path` or `header`, then names and indexes. */
  loc: (string | number)[];
  msg: string;
  /** A code for programs. */
  type: string;
  /** The wrong value of a list entry; intake shortens a long one. */
  value?: unknown;
}

/**
 * An error answer: handlers throw it, and the frame writes it in the shape of the requested API.
 * @example throw new HttpError(404, 'not_found', 'There is no such file.');
 */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  /** Further facts, for programs. */
  readonly details: object | undefined;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    status: number,
    code: string,
    message: string,
    details?: object,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.headers = headers;
  }
}

export const BEHIND = 'The read models are behind the log.';

/** An error that tells the client to send the request again in `retry_s` seconds. */
export const retryLater = (status: number, code: string, message: string, retry_s = 5) =>
  new HttpError(status, code, message, undefined, { 'retry-after': String(retry_s) });

/** A 422: the request breaks the schemas of its route, or the service cannot use its content. */
export class ValidationError extends HttpError {
  readonly problems: readonly Problem[];
  /** `reason` is a code for all the problems together, when one exists. */
  constructor(problems: readonly Problem[], reason?: string) {
    super(422, 'validation_error', summary(problems), { ...(reason === undefined ? {} : { reason }), problems });
    this.problems = problems;
  }
}

export { NO_SUCH_JOB };

/** The 404 for a job that does not exist, or belongs to another user. */
export const jobNotFound = () => new HttpError(404, 'job_not_found', NO_SUCH_JOB);
/** The 410 for what needs results that the service keeps no longer. */
export const resultsExpired = (at: string) =>
  new HttpError(
    410,
    'results_expired',
    'The service no longer has the results and the URLs of this job: it keeps them for a limited time. The statistics stay.',
    { results_expired_at: at },
  );
/** Throws it for a job whose results have expired. */
export function assertResultsKept({ results_expired_at }: { results_expired_at?: string | null }): void {
  if (results_expired_at) throw resultsExpired(results_expired_at);
}
/** The 403 for another user's job, on routes that tell it apart from a missing one. */
export const notYours = () => new HttpError(403, 'forbidden', 'This job is not yours.');

/**
 * Returns the outcome of an accepted command. Throws HttpError with this status for a refused one.
 * @example const { position } = accepted(await shares.revoke({ share_id, job_id }, request.command()), 404);
 */
export function accepted<Outcome extends { ok: true }>(
  outcome: Outcome | { ok: false; refused: Refusal },
  status: number,
): Outcome {
  if (outcome.ok) return outcome;
  throw refusedWith(status, outcome.refused);
}

export const refusedWith = (status: number, { code, message }: Refusal) => new HttpError(status, code, message);

/** The bytes of a request's head that the service takes. */
export const MAX_HEADER_BYTES = 16 * 1024;

export const headersTooLarge = () =>
  new HttpError(431, 'headers_too_large', `The headers are larger than ${MAX_HEADER_BYTES} bytes.`);

/** The client has left: the frame sends no answer. */
export class ClientGone extends Error {
  readonly code = 'client_gone';
}

function summary(problems: readonly Problem[]): string {
  const [first] = problems;
  return first ? `${first.loc.join('.')}: ${first.msg}` : 'The request is not valid.';
}

const RETRYABLE: Readonly<Record<string, string>> = {
  storage_full: 'The service has no room to store anything at the moment. Reading works; try writing again later.',
  unavailable: 'The service cannot reach a server or store that it needs. Try again in a few seconds.',
  read_too_slow: 'The query took too long. Ask for fewer results, or set a narrower filter.',
};

/** Turns a thrown value into the error of its answer. An unexpected one becomes a 500 that shows only the request's id. */
export function toHttpError(thrown: unknown, request_id: string): HttpError {
  if (thrown instanceof HttpError) return thrown;
  const code = storeFaultOf(thrown) ?? String((thrown as { code?: unknown } | null)?.code);
  const dependency = code === 'unavailable' ? dependencyOf(thrown) : null;
  const message =
    dependency === null ? RETRYABLE[code] : `The ${dependency} does not answer. Try again in a few seconds.`;
  if (Object.hasOwn(RETRYABLE, code)) return retryLater(503, code, message!, code === 'storage_full' ? 30 : 5);
  return new HttpError(
    500,
    'internal_error',
    `The service failed. Quote the request ID when you report it: ${request_id}.`,
  );
}

/** The reason phrase of a status. */
export const statusText = (status: number) => STATUS_CODES[status] ?? String(status);
