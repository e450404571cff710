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

const NO_CREDENTIALS = 'No valid credentials.';
const INVALID_API_KEY = 'The API key is not valid, or was revoked.';
const INVALID_TOKEN = 'The token is not valid, or no longer.';
const BAD_SIGNATURE = 'The signature is not valid.';
const WRONG_SECRET = 'The secret does not match, or none is configured.';
const NO_SECRET = 'The header x-agency-secret does not hold the secret.';
const NOT_FOUND = "There is no such job, or it is not the caller's.";
const NOT_YOURS = 'This job is not yours.';
const NO_JOB: Shared = [404, 'NoSuchJob', NO_SUCH_JOB, 'job_not_found', NO_SUCH_JOB];
const NOT_AN_ADMINISTRATOR = 'The caller is not an administrator.';

/** The errors that a route's access and input imply. */
function impliedErrors({ api, access, foreign, body, heavy }: Route<never>): Shared[] {
  const is_owners = isOfOwner(access);
  const by_key = api.credentials === 'api-key';
  const all: (readonly [applies: boolean, ...errors: Shared[]])[] = [
    [isOfCaller(access) && by_key, [401, 'InvalidApiKey', NO_CREDENTIALS, 'invalid_api_key', INVALID_API_KEY]],
    [isOfCaller(access) && !by_key, [401, 'Unauthorized', NO_CREDENTIALS, 'invalid_token', INVALID_TOKEN]],
    [access === 'signature', [401, 'BadSignature', BAD_SIGNATURE, 'invalid_signature', BAD_SIGNATURE]],
    [access === 'admin', [403, 'NotAdministrator', NOT_AN_ADMINISTRATOR, 'forbidden', 'This is for administrators.']],
    [access === 'shared-secret', [403, 'WrongSecret', WRONG_SECRET, 'forbidden', NO_SECRET]],
    [is_owners && foreign === 403, [403, 'NotYours', "The job is not the caller's.", 'forbidden', NOT_YOURS], NO_JOB],
    [is_owners && foreign === 404, [404, 'NotFound', NOT_FOUND, 'job_not_found', NO_SUCH_JOB]],
    [body !== null, TOO_LARGE, TOO_SLOW],
    [body !== null && body.kind !== 'raw', ...OF_THE_BODY],
    // Every route refuses parameters that it does not know.
    [true, INVALID],
    [api.is_rate_limited, heavy ? LIMITED : RATE_LIMITED],
    [!api.is_rate_limited && heavy, TOO_MANY_AT_ONCE],
    [true, ...OF_THE_SERVICE],
  ];
  return all.flatMap(([applies, ...errors]) => (applies ? errors : []));
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
