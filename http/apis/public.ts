// The public API, for programs: its codes are a closed list, and requests are counted by API key.
import { type HttpError, ValidationError } from '../errors.ts';
import type { Json } from '../openapi/components.ts';
import {
  COMMON,
  exampleEvent,
  JOB_COMPLETED,
  LICENSE,
  PROBLEM,
  PROBLEMS,
  TAGS,
  text,
  VERSION,
  WebhookEventView,
} from '../openapi/conventions.ts';
import type { Api } from './api.ts';

const DESCRIPTION = `Submit lists of URLs, follow the jobs, page through the results, and be told when they are done.
${COMMON}

## Errors

\`{"error": {"code": "...", "message": "...", "details": {}}}\`. \`code\` is one of a closed list (see \`Error\`), for programs to decide on; \`message\`
says what to do; \`details\` has the rest. A request that is not as described is 422, with the same list of problems in
\`error.details.problems\` and in \`detail\`. Repeat what was answered with 429, 503 or \`idempotency_in_progress\` after \`Retry-After\`
seconds, and what was answered with 500 or not at all after a second, then two, four and so on; never another 4xx.

## Idempotency

Send submissions with an \`Idempotency-Key\`, one UUID v4 for each job that you want. For 24 hours the same key with the same URLs gets the
first answer again, marked \`Idempotency-Replayed: true\`, and makes no second job: a request whose answer was lost is safe to repeat.

## Pages of results

By cursor no result is missed or repeated, even while results arrive: begin with an empty \`cursor\`, go on with \`next_cursor\` until it is
null. By \`limit\` and \`offset\` pages may shift while a job is processing.

## Rate limits

An API key has a number of requests a minute and a day. An answer says how many are left: \`X-RateLimit-Limit\`,
\`X-RateLimit-Remaining\`, and in \`X-RateLimit-Reset\` when they are all there again, in seconds since the epoch. One too many is 429
with \`Retry-After\`. Two kinds of answers have none of the three: a 503, and the refusal of what is no whole HTTP request (400, 408,
413, 417 or 431), which ends the connection.

## Webhooks

A webhook endpoint is sent \`job.completed\` for each job of yours that completes, signed in the header \`Service-Signature\`. Answer
with any 2xx within 15 s; else it is sent again, 8 times in some 28 hours. It may arrive more than once: drop those whose
\`Service-Event-Id\` you know.`;

/** The codes of the public API by status: a closed list, for programs to decide on. The first stands for all others. */
export const PUBLIC_CODES: Readonly<Record<number, readonly [string, ...string[]]>> = {
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
export const CODE_MEANINGS: Readonly<Record<string, string>> = {
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

const CODE: Json = {
  ...text,
  enum: Object.keys(CODE_MEANINGS),
  description: Object.entries(CODE_MEANINGS)
    .map(([code, means]) => `- \`${code}\`: ${means}`)
    .join('\n'),
};
const REASON: Json = { ...text, description: 'What exactly, where that is more than the code says.' };
const ERROR = { code: CODE, message: { ...text, description: 'What is wrong and what to do, for people.' } };
const error_schemas = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          ...ERROR,
          details: {
            type: 'object',
            properties: { reason: REASON },
            additionalProperties: true,
            description: 'More, for programs.',
          },
        },
      },
    },
  },
  ValidationError: PROBLEM,
  HTTPValidationError: {
    type: 'object',
    required: ['error', 'detail'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'details'],
        properties: {
          ...ERROR,
          details: { type: 'object', required: ['problems'], properties: { reason: REASON, problems: PROBLEMS } },
        },
      },
      detail: PROBLEMS,
    },
  },
};

/** A code that is not in the list gives way to that of its status, and says in `details.reason` what it was. */
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
  is_rate_limited: true,
  errorBody,
  description: {
    title: 'URL checking service: public API',
    version: VERSION,
    summary: 'The API for programs.',
    description: DESCRIPTION,
    license: LICENSE,
    tags: TAGS,
    webhooks: {
      'job.completed': { operation: JOB_COMPLETED, body: { schema: WebhookEventView, example: exampleEvent } },
    },
    error_schemas,
  },
};
