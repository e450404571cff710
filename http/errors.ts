// What is answered when something is wrong: the error that handlers throw, and its body in the shape of each API.
import { STATUS_CODES } from 'node:http';
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

/** A request that does not have the form that its route declares, or whose content is of no use. */
export class ValidationError extends HttpError {
  readonly problems: readonly Problem[];
  /** `reason`: a word for what is wrong as a whole, where there is one. */
  constructor(problems: readonly Problem[], reason?: string) {
    super(422, 'validation_error', summary(problems), { ...(reason === undefined ? {} : { reason }), problems });
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
  const fault = storeFaultOf(thrown);
  if (fault === 'storage_full') {
    const message = 'There is no room to store anything at the moment. Reading works; try writing again later.';
    return new HttpError(503, 'storage_full', message, undefined, { 'retry-after': '30' });
  }
  if (fault === 'unavailable') {
    const message = 'A part of the service cannot be reached at the moment. Try again in a few seconds.';
    return new HttpError(503, 'unavailable', message, undefined, { 'retry-after': '5' });
  }
  if ((thrown as { code?: unknown } | null)?.code === 'read_too_slow') {
    const message = 'The query took too long. Ask for less: fewer results, or a filter that leaves fewer to look at.';
    return new HttpError(503, 'read_too_slow', message, undefined, { 'retry-after': '5' });
  }
  return new HttpError(500, 'internal_error', `Something went wrong on our side. Its number is ${request_id}.`);
}

/** Which API a path is of: they differ in the shape of errors. */
export const isV2 = (path: string) => path === '/api/v2' || path.startsWith('/api/v2/');

/** The codes of the public API by status: a closed list, for programs to decide on. The first stands for all others. */
export const V2_CODES: Readonly<Record<number, readonly [string, ...string[]]>> = {
  400: ['validation_error'],
  401: ['unauthorized'],
  402: ['no_credits'],
  403: ['forbidden'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  408: ['too_slow'],
  409: ['conflict', 'idempotency_key_mismatch', 'idempotency_in_progress'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
  422: ['validation_error'],
  429: ['rate_limited', 'too_many_requests_at_once'],
  500: ['internal_error'],
  503: ['unavailable', 'storage_full', 'maintenance'],
};

/** What each of them means and what to do. */
export const V2_CODE_MEANINGS: Readonly<Record<string, string>> = {
  validation_error:
    'The request cannot be read or is not as described (400, 422): `details.problems` says where and why.',
  unauthorized: 'No API key, or one that is not valid (401).',
  no_credits: 'There are no credits left (402): buy some, then send the request again.',
  forbidden: 'The key may not do this (403).',
  not_found: 'There is no such thing, or it is not yours (404).',
  method_not_allowed: 'The path takes other methods (405): the header `Allow` names them.',
  too_slow: 'The body began too late or came too slowly (408): send the request again.',
  conflict: 'It does not stand where this is possible (409): `details` says where it stands.',
  idempotency_key_mismatch: 'The idempotency key came with another body within 24 hours (409): take a new key.',
  idempotency_in_progress: 'The first request with the key is still being worked on (409): see `Retry-After`.',
  payload_too_large: 'The body is too large, or holds too many URLs (413): send it in parts.',
  unsupported_media_type: 'The body is not JSON in UTF-8 (415).',
  rate_limited: 'Too many requests (429): see `Retry-After`.',
  too_many_requests_at_once:
    'Too many large requests of yours are under way (429): send it again when one of them is answered.',
  internal_error: 'Something went wrong on our side (500): `X-Request-ID` names it.',
  unavailable: 'A part of the service cannot be reached (503): see `Retry-After`.',
  storage_full: 'The service has no room to store anything (503): reading works; see `Retry-After`.',
  maintenance: 'The service takes no changes for a while (503): see `Retry-After`.',
};

export function errorBody(error: HttpError, path: string): object {
  if (isV2(path)) return v2Body(error);
  const { code, message, details } = error;
  if (error instanceof ValidationError) return { detail: error.problems };
  return { detail: message, code, ...(details === undefined ? {} : { details }) };
}

/** A code that is not in the list gives way to that of its status, and says in `details.reason` what it was. */
function v2Body(error: HttpError): object {
  const codes = V2_CODES[error.status] ?? V2_CODES[error.status < 500 ? 400 : 500]!;
  const code = codes.includes(error.code) ? error.code : codes[0];
  const reason = code === error.code ? {} : { reason: error.code };
  const details = { ...reason, ...error.details };
  const body = { error: { code, message: error.message, ...(Object.keys(details).length === 0 ? {} : { details }) } };
  return error instanceof ValidationError ? { ...body, detail: error.problems } : body;
}

/** The words of a status, for descriptions. */
export const statusText = (status: number) => STATUS_CODES[status] ?? String(status);
