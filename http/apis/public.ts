// The public API, for programs. Its error codes are a closed list, and the service counts requests by API key.

import type { Api } from '../frame/api.ts';
import type { Json } from '../frame/document-parts.ts';
import { type HttpError, ValidationError } from '../frame/errors.ts';
import { COMMON, LICENSE, PROBLEM, PROBLEMS, TAGS, text, VERSION, WEBHOOK_CALLBACKS } from '../openapi/conventions.ts';

const DESCRIPTION = `Submit lists of URLs, follow the jobs, page through the results, and receive webhooks of what becomes of them.
${COMMON}

## Errors

An error is \`{"error": {"code": "...", "message": "...", "details": {}}}\`. Programs decide on \`code\`, which is one of a closed list (see \`ErrorCode\`);
\`message\` says what to do; \`details\` has further facts. A request that breaks its schema gets 422, with the same list of problems in
\`error.details.problems\` and in \`detail\`. After 429, 502, 503, 504 or \`idempotency_in_progress\`, send the request again in \`Retry-After\` seconds.
After 500, or without an answer, send it again in one second, then two, four and so on. Do not repeat a request after another 4xx.

## Idempotency

Send each submission with an \`Idempotency-Key\`: a new UUID v4 for each job that you want. For 24 hours the service answers the same key and
the same URLs with the first answer again, marked \`Idempotency-Replayed: true\`, and makes no second job. So you can safely repeat a
submission whose answer you lost.

## Pages of results

Pages by cursor neither miss nor repeat a result, even while results arrive: begin with an empty \`cursor\`, and continue with \`next_cursor\`
until it is null. Pages by \`limit\` and \`offset\` may shift while a job is processing.

## Rate limits

Each API key has a limit of requests a minute and a day that change something, and one of reads a minute. Room comes back evenly. An answer shows the
limit in \`X-RateLimit-Limit\`, the requests that are left in \`X-RateLimit-Remaining\`, and the time at which the limit is full again in
\`X-RateLimit-Reset\` (seconds since the epoch). A request over the limit gets 429, and \`Retry-After\` says when there is room for one. Two kinds of answers lack these headers: a 503, and the refusal of a broken HTTP request (400, 408, 413, 417
or 431), which ends the connection.

## Webhooks

When a job of yours completes, pauses, fails or is cancelled, the service posts \`job.completed\`, \`job.paused\`, \`job.failed\` or
\`job.cancelled\` to your webhook endpoints and signs it in the header \`Service-Signature\`. Answer with any 2xx within
15 s; otherwise the service sends it again, 8 times within about 28 hours. An event may arrive more than once: drop an
event whose \`Service-Event-Id\` you know.`;

/** The closed list of the public API's error codes, by status. The first code of a status replaces all codes outside the list. */
export const PUBLIC_CODES: Readonly<Record<number, readonly [string, ...string[]]>> = {
  400: ['validation_error'],
  401: ['unauthorized'],
  402: ['no_credits'],
  403: ['forbidden'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  408: ['too_slow'],
  409: ['conflict', 'idempotency_key_mismatch', 'idempotency_in_progress'],
  410: ['results_expired'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
  422: ['validation_error'],
  429: ['rate_limited', 'too_many_requests_at_once'],
  431: ['headers_too_large'],
  500: ['internal_error'],
  502: ['unavailable'],
  503: ['unavailable', 'storage_full', 'maintenance'],
  504: ['unavailable'],
};

/** The meaning of each code, and what the client should do. */
export const CODE_MEANINGS: Readonly<Record<string, string>> = {
  validation_error:
    'The service cannot read the request, or the request breaks its schema (400, 422). `details.problems` says where and why.',
  unauthorized: 'The request has no API key, or one that is not valid (401).',
  no_credits:
    'You have no credits left, or the limit of the API key leaves too few (402). Buy some, or take another key, then send the request again.',
  forbidden: 'The API key may not do this (403): its scopes do not allow it.',
  not_found: 'The path names nothing, or nothing of yours (404).',
  method_not_allowed: 'The path takes other methods (405). The header `Allow` names them.',
  too_slow: 'The body began too late or came too slowly (408). Send the request again.',
  conflict: 'The current status does not allow this (409). `details` has the status.',
  results_expired:
    'The job ended so long ago that the service has removed its results (410). `details` says when; the job stays.',
  idempotency_key_mismatch: 'You sent the idempotency key with another body within 24 hours (409). Take a new key.',
  idempotency_in_progress: 'The service still works on the first request with this key (409). See `Retry-After`.',
  payload_too_large: 'The body is too large, or holds too many URLs (413). Send several smaller bodies.',
  unsupported_media_type: 'The body is not JSON in UTF-8 (415).',
  rate_limited: 'You sent too many requests (429). See `Retry-After`.',
  too_many_requests_at_once:
    'You have too many large requests in flight (429). Send this one again after the answer to one of them.',
  headers_too_large: 'The headers of the request are too large (431).',
  internal_error: 'The service failed (500). `X-Request-ID` identifies the failure in its logs.',
  unavailable:
    'The service cannot reach a server or store that it needs (503), or the deployment that serves the route (502, 504). See `Retry-After`.',
  storage_full: 'The service has no room to store anything (503). Reading works. See `Retry-After`.',
  maintenance: 'The service takes no changes for a while (503). See `Retry-After`.',
};

const CODE: Json = {
  ...text,
  enum: Object.keys(CODE_MEANINGS),
  description: Object.entries(CODE_MEANINGS)
    .map(([code, means]) => `- \`${code}\`: ${means}`)
    .join('\n'),
};
const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const REASON: Json = { ...text, description: 'A more exact code, when the service has one.' };
const ERROR = {
  code: ref('ErrorCode'),
  message: { ...text, description: 'A sentence for people: what is wrong, and what to do.' },
};
const object = (properties: Json, required = Object.keys(properties)): Json => ({
  type: 'object',
  required,
  properties,
});
const error_schemas = {
  ErrorCode: CODE,
  ErrorDetails: {
    type: 'object',
    properties: { reason: REASON },
    additionalProperties: true,
    description: 'Further facts for programs.',
  },
  ErrorInfo: object({ ...ERROR, details: ref('ErrorDetails') }, ['code', 'message']),
  ApiError: object({ error: ref('ErrorInfo') }),
  ValidationError: PROBLEM,
  ValidationErrorDetails: object({ reason: REASON, problems: PROBLEMS }, ['problems']),
  ValidationErrorInfo: object({ ...ERROR, details: ref('ValidationErrorDetails') }),
  HTTPValidationError: object({ error: ref('ValidationErrorInfo'), detail: PROBLEMS }),
};

/** Replaces a code outside the closed list by the first code of its status, and keeps the original in `details.reason`. */
function errorBody(error: HttpError): object {
  const codes = PUBLIC_CODES[error.status] ?? PUBLIC_CODES[error.status < 500 ? 400 : 500]!;
  const code = codes.includes(error.code) ? error.code : codes[0];
  const reason = code === error.code ? {} : { reason: error.code };
  const details = { ...reason, ...error.details };
  const body = { error: { code, message: error.message, ...(Object.keys(details).length === 0 ? {} : { details }) } };
  return error instanceof ValidationError ? { ...body, detail: error.problems } : body;
}

export const PUBLIC: Api = {
  prefix: '/api/v2',
  credentials: 'api-key',
  errorBody,
  description: {
    title: 'URL checking service: public API',
    version: VERSION,
    summary: 'The API for programs.',
    description: DESCRIPTION,
    license: LICENSE,
    tags: TAGS,
    callbacks: WEBHOOK_CALLBACKS,
    error_schemas,
  },
};
