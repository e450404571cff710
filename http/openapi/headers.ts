// The headers that answers have beside their body, and those that requests may have on every route.
import type { ResponseSpec, Route } from '../route.ts';
import type { Components, Json } from './components.ts';

const Counted = (description: string, example: number): Json => ({ description, schema: { type: 'integer' }, example });
const Word = (description: string, example: string): Json => ({ description, schema: { type: 'string' }, example });

const REQUEST_ID = {
  'X-Request-ID': Word(
    "The id of the request, in the service's logs too: the one that it came with, else a new one.",
    '0d6f4f6f-2a11-4b0f-9f0e-7d5f0a526a44',
  ),
};
const RATE_LIMIT = {
  'X-RateLimit-Limit': Counted('Requests that the key has in the minute or the day, whichever has fewer left.', 60),
  'X-RateLimit-Remaining': Counted('Those that are left of it.', 59),
  'X-RateLimit-Reset': Counted('When they are all there again, in seconds since the epoch.', 1769853660),
};
const RETRY_AFTER = { 'Retry-After': Counted('In how many seconds the request may be sent again.', 5) };
const CHALLENGE = {
  'WWW-Authenticate': Word('How to authenticate.', 'Bearer realm="url-checker", error="invalid_token"'),
};
const LOG_POSITION = {
  'X-Log-Position': Word(
    'The place in the log that the change has reached: a read that is sent it sees the change, whichever process answers.',
    '42',
  ),
};
const ETAG = {
  ETag: Word('Changes with the answer; none where that is very large.', 'W/"q1Zx0mB6tq3o2iN5v9c4hX8yJ7w"'),
};

/** Of every answer of the route with this status. */
export function headersOf(route: Route<never>, status: number, components: Components): Json {
  const is_success = status >= 200 && status < 300;
  const headers = {
    ...REQUEST_ID,
    // A service that cannot answer counts nothing.
    ...(route.api.is_rate_limited && status !== 503 ? RATE_LIMIT : {}),
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

/** What is read as JSON has an entity tag, unless it is very large; and what says that it may be unchanged. */
export const isTagged = ({ method, responses: { 200: ok, 304: unchanged } }: Route<never>) =>
  method === 'GET' && (unchanged !== undefined || (ok?.schema !== undefined && ok.content_type === undefined));

/** Whether its answer may name a place in the log. */
const changes = ({ method, access }: Route<never>) => method !== 'GET' && access !== 'none';

const REQUEST_HEADERS = {
  LogPosition: {
    name: 'X-Log-Position',
    in: 'header',
    required: false,
    description: 'That of the answer to a change: the read waits, at most 2 s, until it sees it.',
    schema: { type: 'string', pattern: '^[\\w.:-]{0,64}$' },
    example: '42',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of an answer that is at hand: the same one is not sent again, but 304.',
    schema: { type: 'string' },
    example: 'W/"q1Zx0mB6tq3o2iN5v9c4hX8yJ7w"',
  },
};

/** The headers that requests to the route may have, besides its own. */
export function commonParameters(route: Route<never>, components: Components): Json[] {
  const names: (keyof typeof REQUEST_HEADERS)[] = [
    ...(route.method === 'GET' && route.tags.every((tag) => tag !== 'service') ? (['LogPosition'] as const) : []),
    ...(isTagged(route) ? (['IfNoneMatch'] as const) : []),
  ];
  return names.map((name) => components.share('parameters', name, REQUEST_HEADERS[name]));
}

/** `idempotency-key` is written `Idempotency-Key`. */
export const headerName = (name: string) =>
  name
    .split('-')
    .map((word) => (word === 'id' ? 'ID' : word[0]!.toUpperCase() + word.slice(1)))
    .join('-');
