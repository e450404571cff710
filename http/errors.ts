// What is answered when something is wrong: the error that handlers throw, and its body in the shape of each API.
import { STATUS_CODES } from 'node:http';

/** One thing that is wrong with a request. */
export interface Problem {
  /** Where: `body`, `query`, `path` or `header`, then the names and indexes to it. */
  loc: (string | number)[];
  msg: string;
  /** A word for programs. */
  type: string;
}

/** An answer other than success. Handlers throw it; the frame gives it the shape of the API that was asked. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: unknown;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    status: number,
    code: string,
    message: string,
    details?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.headers = headers;
  }
}

/** A request that does not have the form that its route declares. */
export class ValidationError extends HttpError {
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super(422, 'validation_error', summary(problems), problems);
    this.problems = problems;
  }
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
  if ((thrown as { code?: unknown } | null)?.code === 'unavailable') {
    const message = 'A part of the service cannot be reached at the moment. Try again in a few seconds.';
    return new HttpError(503, 'unavailable', message, undefined, { 'retry-after': '5' });
  }
  return new HttpError(500, 'internal_error', `Something went wrong on our side. Its number is ${request_id}.`);
}

/** Which API a path is of: they differ in the shape of errors. */
export const isV2 = (path: string) => path === '/api/v2' || path.startsWith('/api/v2/');

export function errorBody(error: HttpError, path: string): object {
  const { code, message, details } = error;
  if (isV2(path)) {
    const body = { error: { code, message, ...(details === undefined ? {} : { details }) } };
    return error instanceof ValidationError ? { ...body, detail: error.problems } : body;
  }
  if (error instanceof ValidationError) return { detail: error.problems };
  return { detail: message, code, ...(details === undefined ? {} : { details }) };
}

/** The words of a status, for descriptions. */
export const statusText = (status: number) => STATUS_CODES[status] ?? String(status);
