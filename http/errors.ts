// The errors that handlers throw. Each API gives them a body of its own shape.

import type { Refusal } from '../commands/aggregate.ts';
import { storeFaultOf } from '../events/store-faults.ts';
import { STATUS_CODES } from './node-http.ts';

/** One thing that is wrong with a request. */
export interface Problem {
  /** The path to the problem: `body`, `query`, `path` or `header`, then names and indexes. */
  loc: (string | number)[];
  msg: string;
  /** A word for programs. */
  type: string;
  /** The wrong value, for an entry of a list; a long one is shortened. */
  value?: unknown;
}

/** An error answer. Handlers throw it; the frame writes it in the shape of the requested API. */
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

/** An error that the client may repeat the request after, in `retry_s` seconds. */
export const retryLater = (status: number, code: string, message: string, retry_s = 5) =>
  new HttpError(status, code, message, undefined, { 'retry-after': String(retry_s) });

/** The request breaks the schemas of its route, or its content cannot be used. */
export class ValidationError extends HttpError {
  readonly problems: readonly Problem[];
  /** `reason`: a code for the problem as a whole, where one exists. */
  constructor(problems: readonly Problem[], reason?: string) {
    super(422, 'validation_error', summary(problems), { ...(reason === undefined ? {} : { reason }), problems });
    this.problems = problems;
  }
}

export const NO_SUCH_JOB = 'There is no such job.';

/** The answer for a job that does not exist, or belongs to another user. */
export const jobNotFound = () => new HttpError(404, 'job_not_found', NO_SUCH_JOB);

/** The outcome of a command. Throws when the command was refused: with this status, and the refusal's code and message. */
export function accepted<Outcome extends { ok: true }>(
  outcome: Outcome | { ok: false; refused: Refusal },
  status: number,
): Outcome {
  if (outcome.ok) return outcome;
  throw new HttpError(status, outcome.refused.code, outcome.refused.message);
}

/** The client has left: the frame sends no answer. */
export class ClientGone extends Error {
  readonly code = 'client_gone';
}

function summary(problems: readonly Problem[]): string {
  const [first] = problems;
  return first ? `${first.loc.join('.')}: ${first.msg}` : 'The request is not valid.';
}

const RETRYABLE: Readonly<Record<string, string>> = {
  storage_full: 'There is no room to store anything at the moment. Reading works; try writing again later.',
  unavailable: 'A part of the service cannot be reached at the moment. Try again in a few seconds.',
  read_too_slow: 'The query took too long. Ask for less: fewer results, or a filter that leaves fewer to look at.',
};

/** The error that answers a thrown value. An unexpected one becomes a 500 that says only the request's id. */
export function toHttpError(thrown: unknown, request_id: string): HttpError {
  if (thrown instanceof HttpError) return thrown;
  const code = storeFaultOf(thrown) ?? String((thrown as { code?: unknown } | null)?.code);
  if (Object.hasOwn(RETRYABLE, code)) return retryLater(503, code, RETRYABLE[code]!, code === 'storage_full' ? 30 : 5);
  return new HttpError(500, 'internal_error', `Something went wrong on our side. Its number is ${request_id}.`);
}

/** The reason phrase of a status. */
export const statusText = (status: number) => STATUS_CODES[status] ?? String(status);
