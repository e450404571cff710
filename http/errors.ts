// What is answered when something is wrong: the errors that handlers throw. Each API gives them a body of its own shape.
import { STATUS_CODES } from 'node:http';
import type { Refusal } from '../commands/aggregate.ts';
import { storeFaultOf } from '../events/store-faults.ts';

/** One thing that is wrong with a request. */
export interface Problem {
  /** Where: `body`, `query`, `path` or `header`, then the names and indexes to it. */
  loc: (string | number)[];
  msg: string;
  /** A word for programs. */
  type: string;
  /** What was there, for an entry of a list: shortened where it is long. */
  value?: unknown;
}

/** An answer other than success. Handlers throw it; the frame gives it the shape of the API that was asked. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  /** More, for programs. */
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

/** A request that does not have the form that its route declares, or whose content is of no use. */
export class ValidationError extends HttpError {
  readonly problems: readonly Problem[];
  /** `reason`: a word for what is wrong as a whole, where there is one. */
  constructor(problems: readonly Problem[], reason?: string) {
    super(422, 'validation_error', summary(problems), { ...(reason === undefined ? {} : { reason }), problems });
    this.problems = problems;
  }
}

export const NO_SUCH_JOB = 'There is no such job.';

/** A job that is not there, or that is somebody else's. */
export const jobNotFound = () => new HttpError(404, 'job_not_found', NO_SUCH_JOB);

/** The outcome of a command. Throws when the command was refused: with this status, and the refusal's code and message. */
export function accepted<Outcome extends { ok: true }>(
  outcome: Outcome | { ok: false; refused: Refusal },
  status: number,
): Outcome {
  if (outcome.ok) return outcome;
  throw new HttpError(status, outcome.refused.code, outcome.refused.message);
}

/** The client is gone: there is nobody to answer. */
export class ClientGone extends Error {
  readonly code = 'client_gone';
}

function summary(problems: readonly Problem[]): string {
  const [first] = problems;
  return first ? `${first.loc.join('.')}: ${first.msg}` : 'The request is not valid.';
}

/** What a thrown thing is answered with; what nobody foresaw is a 500 that tells nothing but the request's id. */
export function toHttpError(thrown: unknown, request_id: string): HttpError {
  if (thrown instanceof HttpError) return thrown;
  const fault = storeFaultOf(thrown);
  if (fault === 'storage_full') {
    const message = 'There is no room to store anything at the moment. Reading works; try writing again later.';
    return retryLater(503, 'storage_full', message, 30);
  }
  if (fault === 'unavailable') {
    const message = 'A part of the service cannot be reached at the moment. Try again in a few seconds.';
    return retryLater(503, 'unavailable', message);
  }
  if ((thrown as { code?: unknown } | null)?.code === 'read_too_slow') {
    const message = 'The query took too long. Ask for less: fewer results, or a filter that leaves fewer to look at.';
    return retryLater(503, 'read_too_slow', message);
  }
  return new HttpError(500, 'internal_error', `Something went wrong on our side. Its number is ${request_id}.`);
}

/** The words of a status, for descriptions. */
export const statusText = (status: number) => STATUS_CODES[status] ?? String(status);
