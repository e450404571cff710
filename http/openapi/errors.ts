// Describes the error answers of routes. The examples are the errors that the service itself throws.

import { SERVICE_GROUPS } from '../../settings/service-urls.ts';
import {
  invalidApiKey,
  invalidToken,
  keyOnGateway,
  notAdministrator,
  tokenOnPublicApi,
  wrongSecret,
  wrongSignature,
} from '../callers/access.ts';
import { lacksScope } from '../callers/scopes.ts';
import type { Components, Json } from '../frame/document-parts.ts';
import {
  HttpError,
  headersTooLarge,
  jobNotFound,
  NO_SUCH_JOB,
  notYours,
  resultsExpired,
  toHttpError,
  ValidationError,
} from '../frame/errors.ts';
import { TIMEOUT, timedOut, UNREACHABLE, unreachable } from '../frame/forwarding.ts';
import { compressedBody, notJson, tooLarge, unsupportedType } from '../frame/input/bodies.ts';
import { tooSlow } from '../frame/input/body-chunks.ts';
import { tooManyAtOnce } from '../frame/limits/heavy-requests.ts';
import { rateLimited } from '../frame/limits/rate-limits.ts';
import { DEFAULT_MESSAGE, isCommandOfUsers, underMaintenance } from '../frame/maintenance.ts';
import { type ErrorSpec, isOfCaller, isOfOwner, type Route } from '../frame/route.ts';
import { headersOf, ownHeaders } from './headers.ts';

/** A component of the document that several routes refer to. */
interface Shared {
  name: string;
  description: string;
  /** One for each code, all of one status. */
  examples: readonly [HttpError, ...HttpError[]];
}
const shared = (name: string, description: string, ...examples: Shared['examples']): Shared => ({
  ...{ name, description, examples },
});

const AGAIN = 'The header Retry-After says when to try again.';
const AT_ONCE = tooManyAtOnce(16);
const EXAMPLE_PROBLEM = { loc: ['query', 'limit'], msg: 'must be at most 1000', type: 'maximum' };

const UNREADABLE = shared('BodyUnreadable', 'The service cannot read the body.', notJson('it ends too early.'));
const WRONG_TYPE = shared('UnsupportedMediaType', 'The body has another content type.', unsupportedType('text/plain'));
const COMPRESSED = shared('CompressedBody', 'The body is compressed.', compressedBody());
const TOO_LARGE = shared('PayloadTooLarge', 'The body is too large.', tooLarge(1024 * 1024));
const TOO_SLOW = shared('TooSlow', 'The body began too late or came too slowly.', tooSlow());
const HEADERS_TOO_LARGE = shared(
  'HeadersTooLarge',
  'The headers are too large. The connection ends.',
  headersTooLarge(),
);
const INVALID = shared('Invalid', 'The request is not valid.', new ValidationError([EXAMPLE_PROBLEM]));
const RATE_LIMITED = shared(
  'RateLimited',
  `The caller has sent too many requests. ${AGAIN}`,
  rateLimited({ subject: 'An API key', most: 60, period: 'a minute' }, 12_000),
);
const USER_RATE_LIMITED = shared(
  'RateLimited',
  `The user, or the address, has sent too many requests. ${AGAIN}`,
  rateLimited({ subject: 'A user', most: 3000, period: 'a minute' }, 12_000),
);
/** The 429 of heavy routes. */
const LIMITED = shared(
  'Limited',
  'The caller has sent too many requests (`rate_limited`), or has too many large ones in flight ' +
    `(\`too_many_requests_at_once\`). ${AGAIN}`,
  AT_ONCE,
);
const FAILED = shared(
  'InternalError',
  'The service failed.',
  toHttpError(null, '5b2e6f4c-93a0-4d1c-b7c4-1d0f4b6a9e55'),
);
const BAD_GATEWAY = shared('BadGateway', `${UNREACHABLE} ${AGAIN}`, unreachable());
const GATEWAY_TIMEOUT = shared('GatewayTimeout', `${TIMEOUT} ${AGAIN}`, timedOut());
const UNAVAILABLE = shared(
  'Unavailable',
  `The service cannot reach a server or store that it needs, or a query took too long. ${AGAIN}`,
  toHttpError({ code: 'unavailable' }, ''),
);
const UNAVAILABLE_OR_MAINTAINED = shared(
  'UnavailableOrMaintained',
  `${UNAVAILABLE.description} Or an administrator has turned maintenance mode on (\`maintenance\`).`,
  ...([...UNAVAILABLE.examples, underMaintenance(DEFAULT_MESSAGE)] as const),
);
const NO_CREDENTIALS = 'The request has no valid credentials.';
const NO_API_KEY = shared(
  'InvalidApiKey',
  `${NO_CREDENTIALS} A token of the identity provider works on the gateway only.`,
  ...([invalidApiKey(), tokenOnPublicApi()] as const),
);
const NO_SCOPE = shared('ScopeMissing', 'The API key has not the scope that this needs.', lacksScope(['check']));
const NO_TOKEN = shared(
  'Unauthorized',
  `${NO_CREDENTIALS} An API key works under \`/api/v2\` only.`,
  ...([invalidToken(), keyOnGateway()] as const),
);
const NO_SIGNATURE = shared(
  'BadSignature',
  'The signature is not valid, or the operator has set no secret to verify it by.',
  wrongSignature(),
);
const NO_ADMINISTRATOR = shared('NotAdministrator', 'The caller is not an administrator.', notAdministrator());
const WRONG_SECRET = shared(
  'WrongSecret',
  'The secret does not match, or the operator has set none.',
  wrongSecret('x-agency-secret'),
);
const FOREIGN_JOB = shared('NotYours', "The job is not the caller's.", notYours());
const NO_JOB = shared('NoSuchJob', NO_SUCH_JOB, jobNotFound());
const NO_JOB_OF_CALLER = shared('NotFound', "There is no such job, or it is not the caller's.", jobNotFound());

const EXPIRED = shared(
  'ResultsExpired',
  'The job ended so long ago that the service has removed its results.',
  resultsExpired('2026-03-02T09:00:00.000Z'),
);

/** The errors that a route's access and input imply. */
function impliedErrors(route: Route<never>): Shared[] {
  const { api, access, foreign, body, heavy } = route;
  const is_owners = isOfOwner(access);
  const by_key = api.credentials === 'api-key';
  const all: (readonly [applies: boolean, ...errors: Shared[]])[] = [
    [isOfCaller(access), by_key ? NO_API_KEY : NO_TOKEN],
    [by_key && isOfCaller(access), NO_SCOPE],
    [access === 'signature', NO_SIGNATURE],
    [access === 'admin', NO_ADMINISTRATOR],
    [access === 'shared-secret', WRONG_SECRET],
    [is_owners && foreign === 403, FOREIGN_JOB, NO_JOB],
    [is_owners && foreign === 404, NO_JOB_OF_CALLER],
    [route.of_results, EXPIRED],
    [body !== null, TOO_LARGE, TOO_SLOW],
    [body !== null && body.kind !== 'raw', UNREADABLE, WRONG_TYPE],
    [body?.kind === 'raw', COMPRESSED],
    // Every route refuses parameters that it does not know.
    [true, INVALID, HEADERS_TOO_LARGE],
    [!route.quiet, heavy !== false ? LIMITED : by_key ? RATE_LIMITED : USER_RATE_LIMITED],
    [(SERVICE_GROUPS as readonly string[]).includes(route.tag), BAD_GATEWAY, GATEWAY_TIMEOUT],
    [true, FAILED, isCommandOfUsers(route) ? UNAVAILABLE_OR_MAINTAINED : UNAVAILABLE],
  ];
  return all.flatMap(([applies, ...errors]) => (applies ? errors : []));
}

/** Examples for the errors that a route declares without one, by status. */
const BY_STATUS: Readonly<Record<number, readonly [code: string, message: string]>> = {
  402: ['no_credits', 'You have no credits left.'],
  403: ['forbidden', 'This is not yours.'],
  404: ['job_not_found', NO_SUCH_JOB],
  409: ['conflict', 'The current status does not allow this.'],
  413: ['too_many_urls', 'The list holds more than 1,000,000 URLs.'],
  415: ['not_a_table', 'The file is not a table.'],
  429: ['too_many_requests', 'You sent too many requests. Try again later.'],
};

/** The error answers of a route by status: the implied ones, and the ones that it declares instead. */
export function errorsOf(route: Route<never>, components: Components): Record<string, Json> {
  const implied = impliedErrors(route).flatMap(({ name, description, examples }) => {
    const [{ status }] = examples;
    if (route.errors[status] !== undefined) return [];
    const value = answer(route, status, { description }, byCode(examples), components);
    // Probes have no limit, so their answers lack its headers.
    return [[status, components.share('responses', route.quiet ? `${name}OfProbe` : name, value)]];
  });
  const own = Object.entries(route.errors).map(([key, declared]) => {
    const status = Number(key);
    const [code, message] = BY_STATUS[status] ?? ['error', 'The service cannot do this.'];
    const spec = typeof declared === 'string' ? { description: declared, examples: { [code]: { message } } } : declared;
    const examples = Object.entries(spec.examples).map(([code, given]) => [code, errorOf(status, code, given)]);
    return [key, answer(route, status, spec, Object.fromEntries(examples), components)];
  });
  return { ...Object.fromEntries(implied), ...Object.fromEntries(own) };
}

const byCode = (errors: readonly HttpError[]) => Object.fromEntries(errors.map((error) => [error.code, error]));

function errorOf(
  status: number,
  code: string,
  { message, details, problem }: ErrorSpec['examples'][string],
): HttpError {
  if (status === 422) return new ValidationError([problem ?? EXAMPLE_PROBLEM], problem && code);
  return new HttpError(status, code, message, details);
}

function answer(
  route: Route<never>,
  status: number,
  spec: Pick<ErrorSpec, 'description' | 'headers'>,
  errors: Readonly<Record<string, HttpError>>,
  components: Components,
): Json {
  const examples = Object.entries(errors).map(
    ([code, error]) => [code, { value: route.api.errorBody(error) }] as const,
  );
  return {
    description: spec.description,
    headers: { ...headersOf(route, status, components), ...ownHeaders(spec) },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${status === 422 ? 'HTTPValidationError' : 'ApiError'}` },
        ...(examples.length > 1 ? { examples: Object.fromEntries(examples) } : { example: examples[0]?.[1].value }),
      },
    },
  };
}
