// The headers of answers, and the headers that requests may have on every route.

import type { Components, Json } from '../frame/document-parts.ts';
import type { ResponseSpec, Route } from '../frame/route.ts';

const Counted = (description: string, example: number): Json => ({ description, schema: { type: 'integer' }, example });
const Word = (description: string, example: string): Json => ({ description, schema: { type: 'string' }, example });

const REQUEST_ID = {
  'X-Request-ID': Word(
    "The id of the request, which the service's logs show: the one that the request brought, or a new one.",
    '0d6f4f6f-2a11-4b0f-9f0e-7d5f0a526a44',
  ),
};
const RATE_LIMIT = {
  'X-RateLimit-Limit': Counted('The limit of the window that has the fewest requests left.', 60),
  'X-RateLimit-Remaining': Counted('The requests that are left in the window.', 59),
  'X-RateLimit-Reset': Counted('The end of the window, in seconds since the epoch.', 1769853660),
};
const RETRY_AFTER = { 'Retry-After': Counted('The seconds to wait before the request is sent again.', 5) };
const CHALLENGE = {
  'WWW-Authenticate': Word('How to authenticate.', 'Bearer realm="url-checker", error="invalid_token"'),
};
const LOG_POSITION = {
  'X-Log-Position': Word(
    'The position of the change in the event log. A read that sends it sees the change, whichever process answers.',
    '42',
  ),
};
const ETAG = {
  ETag: Word('Changes with the body. Bodies over 1 MiB have none.', 'W/"q1Zx0mB6tq3o2iN5v9c4hX8yJ7w"'),
};

export function headersOf(route: Route<never>, status: number, components: Components): Json {
  const is_success = status >= 200 && status < 300;
  const headers = {
    ...REQUEST_ID,
    // A service that cannot answer counts nothing, nor does one that cannot read the request, and probes have no limit.
    ...(!route.quiet && status !== 503 && status !== 431 ? RATE_LIMIT : {}),
    ...(status === 401 ? CHALLENGE : {}),
    ...(status === 429 || status === 503 ? RETRY_AFTER : {}),
    ...(is_success && changes(route) ? LOG_POSITION : {}),
    ...(isTagged(route) && (status === 200 || status === 304) ? ETAG : {}),
  };
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, components.share('headers', name, value)]),
  );
}

export const ownHeaders = (spec: Pick<ResponseSpec, 'headers'>): Json =>
  Object.fromEntries(Object.entries(spec.headers ?? {}).map(([name, description]) => [name, ownHeader(description)]));
const ownHeader = (description: string) => ({ description, schema: { type: 'string' } });

/** Whether the route's answers have an ETag: reads of JSON do, and routes that declare 304. */
export const isTagged = ({ method, responses: { 200: ok, 304: unchanged } }: Route<never>) =>
  method === 'GET' && (unchanged !== undefined || (ok?.schema !== undefined && ok.content_type === undefined));

/** Whether the route's answer may have a log position. */
const changes = ({ method, access }: Route<never>) => method !== 'GET' && access !== 'none';

const REQUEST_HEADERS = {
  LogPosition: {
    name: 'X-Log-Position',
    in: 'header',
    required: false,
    description: 'The X-Log-Position of the answer to a change. The read waits for up to 2 s until it sees the change.',
    schema: { type: 'string', pattern: '^[\\w.:-]{0,64}$' },
    example: '42',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of an earlier answer. The service answers 304 instead of the same body.',
    schema: { type: 'string' },
    example: 'W/"q1Zx0mB6tq3o2iN5v9c4hX8yJ7w"',
  },
};

/** The headers that requests to the route may have, besides its own. */
export function commonParameters(route: Route<never>, components: Components): Json[] {
  const names: (keyof typeof REQUEST_HEADERS)[] = [
    ...(route.method === 'GET' && route.tag !== 'service' ? (['LogPosition'] as const) : []),
    ...(isTagged(route) ? (['IfNoneMatch'] as const) : []),
  ];
  return names.map((name) => components.share('parameters', name, REQUEST_HEADERS[name]));
}

/** Capitalises the name of a header: `idempotency-key` becomes `Idempotency-Key`. */
export const headerName = (name: string) =>
  name
    .split('-')
    .map((word) => (word === 'id' ? 'ID' : word[0]!.toUpperCase() + word.slice(1)))
    .join('-');
