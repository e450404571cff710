// How a document describes what goes wrong: the answers that routes share, each with an example that is made as the service
// makes its errors.
import { HttpError, NO_SUCH_JOB, ValidationError } from '../errors.ts';
import { type ErrorSpec, isOfCaller, isOfOwner, type Route } from '../route.ts';
import type { Components, Json } from './components.ts';
import { headersOf, ownHeaders } from './headers.ts';

type Shared = readonly [status: number, name: string, description: string, code: string, message: string];

const OF_THE_BODY: readonly Shared[] = [
  [400, 'BodyUnreadable', 'The body cannot be read.', 'invalid_json', 'The body is not JSON: it ends too early.'],
  [
    415,
    'UnsupportedMediaType',
    'The body has another content type.',
    'unsupported_media_type',
    'The body must be application/json; the content type is text/plain.',
  ],
];
const TOO_LARGE: Shared = [
  413,
  'PayloadTooLarge',
  'The body is too large.',
  'too_large',
  'The body is larger than 1048576 bytes.',
];
const TOO_SLOW: Shared = [
  408,
  'TooSlow',
  'The body began too late or came too slowly.',
  'too_slow',
  'The body took too long to arrive.',
];
const INVALID: Shared = [422, 'Invalid', 'The request is not valid.', 'validation_error', ''];
const RATE_LIMITED: Shared = [
  429,
  'RateLimited',
  'Too many requests; the header Retry-After says when to try again.',
  'rate_limited',
  'An API key has 60 requests a minute. Try again in 12 s.',
];
const TOO_MANY_AT_ONCE: Shared = [
  429,
  'TooManyAtOnce',
  'Too many large requests of the caller are under way; the header Retry-After says when to try again.',
  'too_many_requests_at_once',
  'You have 16 large requests under way. Send this one when one of them is answered.',
];
/** Of the public API, where requests are counted too. */
const LIMITED: Shared = [
  429,
  'Limited',
  'Too many requests (`rate_limited`), or too many large ones under way (`too_many_requests_at_once`); the header ' +
    'Retry-After says when to try again.',
  TOO_MANY_AT_ONCE[3],
  TOO_MANY_AT_ONCE[4],
];
const OF_THE_SERVICE: readonly Shared[] = [
  [
    500,
    'InternalError',
    'Something went wrong on our side.',
    'internal_error',
    'Something went wrong on our side. Its number is 5b2e6f4c-93a0-4d1c-b7c4-1d0f4b6a9e55.',
  ],
  [
    503,
    'Unavailable',
    'A part of the service cannot be reached, or a query takes too long; the header Retry-After says when to try again.',
    'unavailable',
    'A part of the service cannot be reached at the moment. Try again in a few seconds.',
  ],
];

/** What a route can answer by what its access and its input are. */
function impliedErrors({ api, access, foreign, body, heavy }: Route<never>): Shared[] {
  const no_credentials = 'No valid credentials.';
  const found: Shared[] = [];
  if (isOfCaller(access) && api.credentials === 'api-key')
    found.push([401, 'InvalidApiKey', no_credentials, 'invalid_api_key', 'The API key is not valid, or was revoked.']);
  if (isOfCaller(access) && api.credentials === 'token')
    found.push([401, 'Unauthorized', no_credentials, 'invalid_token', 'The token is not valid, or no longer.']);
  if (access === 'signature')
    found.push([
      401,
      'BadSignature',
      'The signature is not valid.',
      'invalid_signature',
      'The signature is not valid.',
    ]);
  if (access === 'admin')
    found.push([
      403,
      'NotAdministrator',
      'The caller is not an administrator.',
      'forbidden',
      'This is for administrators.',
    ]);
  if (access === 'shared-secret')
    found.push([
      403,
      'WrongSecret',
      'The secret does not match, or none is configured.',
      'forbidden',
      'The header x-agency-secret does not hold the secret.',
    ]);
  if (isOfOwner(access)) {
    if (foreign === 403) {
      found.push([403, 'NotYours', "The job is not the caller's.", 'forbidden', 'This job is not yours.']);
      found.push([404, 'NoSuchJob', NO_SUCH_JOB, 'job_not_found', NO_SUCH_JOB]);
    } else {
      found.push([404, 'NotFound', "There is no such job, or it is not the caller's.", 'job_not_found', NO_SUCH_JOB]);
    }
  }
  if (body !== null) found.push(TOO_LARGE, TOO_SLOW);
  if (body !== null && body.kind !== 'raw') found.push(...OF_THE_BODY);
  // Of every route: parameters that it does not know are refused.
  found.push(INVALID);
  if (api.is_rate_limited) found.push(heavy ? LIMITED : RATE_LIMITED);
  else if (heavy) found.push(TOO_MANY_AT_ONCE);
  return [...found, ...OF_THE_SERVICE];
}

/** Of what a route says of an error itself, where it gives no example. */
const BY_STATUS: Readonly<Record<number, readonly [code: string, message: string]>> = {
  402: ['no_credits', 'There are no credits left.'],
  403: ['forbidden', 'This is not yours.'],
  404: ['job_not_found', NO_SUCH_JOB],
  409: ['conflict', 'It does not stand where this is possible.'],
  413: ['too_many_urls', 'There are more than 1,000,000 URLs.'],
  415: ['not_a_table', 'The file is not a table.'],
  429: ['too_many_requests', 'Too many requests. Try again later.'],
};

/** Those that its access and its input imply, and those that it names itself. */
export function errorsOf(route: Route<never>, components: Components): Record<string, Json> {
  const implied = impliedErrors(route).map((shared) => {
    const [status, name, description, code, message] = shared;
    const examples = { [code]: { message } };
    const value = () => errorAnswer(route, status, { description, examples }, components);
    return [status, route.errors[status] === undefined ? components.share('responses', name, value()) : {}];
  });
  const own = Object.entries(route.errors).map(([status, declared]) => {
    const [code, message] = BY_STATUS[Number(status)] ?? ['error', 'It cannot be done.'];
    const spec = typeof declared === 'string' ? { description: declared, examples: { [code]: { message } } } : declared;
    return [status, errorAnswer(route, Number(status), spec, components)];
  });
  return { ...Object.fromEntries(implied), ...Object.fromEntries(own) };
}

const EXAMPLE_PROBLEM = { loc: ['query', 'limit'], msg: 'must be <= 1000', type: 'maximum' };

function errorAnswer(route: Route<never>, status: number, spec: ErrorSpec, components: Components): Json {
  const examples = Object.entries(spec.examples).map(([code, { message, details, problem }]) => {
    const error =
      status === 422
        ? new ValidationError([problem ?? EXAMPLE_PROBLEM], problem && code)
        : new HttpError(status, code, message, details);
    return [code, { value: route.api.errorBody(error) }] as const;
  });
  const [first] = examples;
  return {
    description: spec.description,
    headers: { ...headersOf(route, status, components), ...ownHeaders(spec) },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${status === 422 ? 'HTTPValidationError' : 'Error'}` },
        ...(examples.length > 1 ? { examples: Object.fromEntries(examples) } : { example: first?.[1].value }),
      },
    },
  };
}
