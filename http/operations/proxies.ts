// The administrators' routes for the pool of proxies.
import { openProxyListCommands, ProxyListUnreadable } from '../../commands/proxy-list.ts';
import { MAX_PROXIES } from '../../events/proxy-list.ts';
import { Nullable, type TSchema, Type } from '../../events/schema.ts';
import {
  domainStatus,
  MAX_TROUBLED_DOMAINS,
  POOL,
  POOL_COUNTERS,
  PROXY_COUNTS,
  PROXY_STATUSES,
  type ProxyCounts,
  type ProxyDocument,
  proxies,
  proxiesPage,
  proxyDomains,
  proxyPool,
} from '../../readmodels/operations/proxies.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { anError, type ResponseSpec, routeOf } from '../frame/route.ts';
import { Count, CountsOf, NullableTime, pick, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { pagingByPage, placeOf } from '../results/result-view.ts';

const wire = ({ log, read, readProxyList }: Parts) => ({
  commands: openProxyListCommands(log),
  read: read({ proxies, proxyDomains, proxyPool }),
  readProxyList,
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'proxies');

const Share = (description: string) => Nullable(Type.Number({ minimum: 0, maximum: 1, description }));
const counts = {
  requests: Count('All requests through it.'),
  answered: Count('Requests with an answer that bears no marks of bot protection.'),
  blocked: Count('Requests whose answer bears such marks.'),
  timed_out: Count('Requests that took too long.'),
  failed: Count('Requests that failed in another way, at the proxy or behind it.'),
};
const COUNTS = ['requests', 'answered', 'blocked', 'timed_out', 'failed'] as const;
const rates = {
  success_rate: Share('`answered / requests` over about the last 1,000 requests of each proxy; null without requests.'),
  block_rate: Share('`blocked / requests`, over the same requests.'),
  latency_ms: Nullable(Count('Mean time to an answer, over the same requests; null without an answer.')),
};

const MEANINGS =
  '`healthy`; `degraded`: less than 80 % of about the last 1,000 requests were `answered`; `quarantined`: a checker lets it rest and then ' +
  'tries it by one connection; `unused`: no request went through it yet; `removed`: the list no longer has it.';

const ProxyView = Type.Object(
  {
    proxy_id: Type.String({ format: 'uuid', description: 'Made of protocol, user, host and port.' }),
    address: Type.String({ description: 'Protocol, host and port, never the credentials.' }),
    status: Type.Enum(PROXY_STATUSES, { description: MEANINGS }),
    ...rates,
    ...counts,
    troubled_domains: Count('Its blocked and degraded domains.'),
    last_used_at: { ...NullableTime, description: 'To the minute; null before the first request.' },
    quarantined_since: { ...NullableTime, description: 'Null unless it is quarantined.' },
    retry_at: { ...NullableTime, description: 'When one connection tries it again.' },
    listed_at: { ...NullableTime, description: 'When the list got it.' },
    removed_at: { ...NullableTime, description: 'When the list lost it; null while it is listed.' },
  },
  { $id: 'Proxy' },
);
const proxyExample = {
  ...{ proxy_id: '7d9f3f0a-58a5-5a53-9d5e-0f6f1f3f7a10', address: 'http://proxy.example:8080', status: 'healthy' },
  ...{ success_rate: 0.94, block_rate: 0.04, latency_ms: 310 },
  ...{ requests: 5200, answered: 4888, blocked: 208, timed_out: 60, failed: 44, troubled_domains: 3 },
  ...{ last_used_at: '2026-01-31T09:00:00.000Z', quarantined_since: null, retry_at: null },
  ...{ listed_at: '2026-01-30T12:00:00.000Z', removed_at: null },
};
const STORED = [
  'troubled_domains',
  'last_used_at',
  'quarantined_since',
  'retry_at',
  'listed_at',
  'removed_at',
] as const;

function proxyView(document: ProxyDocument) {
  const { _id: proxy_id, address, status, recent } = document;
  return { proxy_id, address, status, ...ratesOf(recent), ...pick(document, COUNTS), ...pick(document, STORED) };
}

function ratesOf({ requests, answered, blocked, response_time_ms }: ProxyDocument['recent']) {
  const share = (part: number) => (requests === 0 ? null : Math.round((part / requests) * 1e4) / 1e4);
  const answers = answered + blocked;
  return {
    success_rate: share(answered),
    block_rate: share(blocked),
    latency_ms: answers === 0 ? null : Math.round(response_time_ms / answers),
  };
}

const search = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description, examples: [example] }));

const pagedOf = (description: string, item: TSchema, example: object, page_size: number): ResponseSpec => ({
  description,
  schema: Type.Object({
    items: Type.Array(item),
    total: Count('Items on all pages.'),
    limit: Type.Integer(),
    offset: Type.Integer(),
    page: Type.Integer(),
    page_size: Type.Integer(),
  }),
  example: { items: [example], total: 1, limit: page_size, offset: 0, page: 1, page_size },
});

const listProxies = route({
  id: 'listProxies',
  method: 'GET',
  path: '/proxies',
  access: 'admin',
  summary: 'List the proxies with their health, by address',
  description: 'Checkers report each minute. A service without proxies has an empty list.',
  query: Type.Object({
    ...pagingByPage(50),
    status: Type.Optional(
      Type.Enum(PROXY_STATUSES, { type: 'string', description: 'Without it, all proxies of the list.' }),
    ),
    search: search('A part of the address.', 'proxy.example'),
  }),
  responses: { 200: pagedOf('A page of proxies.', ProxyView, proxyExample, 50) },
  async handler({ query }, { read }) {
    const { status, search } = query;
    const place = placeOf(query);
    const found = await proxiesPage(read.proxies, { status, search, ...place });
    return { body: { items: found.items.map(proxyView), total: found.total, ...place } };
  },
});

const NO_PROXY = 'There is no such proxy.';
const DomainView = Type.Object(
  {
    domain: Type.String(),
    status: Type.Enum(['blocked', 'degraded'], {
      description:
        'Blocked: bot protection answered at least half of the requests. Degraded: at least 10 % were blocked or failed.',
    }),
    requests: Count('About the last 100 requests to the domain through the proxy, since its first trouble.'),
    answered: Count('Answers that bear no marks of bot protection.'),
    blocked: Count('Answers that bear such marks.'),
    failed: Count('Requests without an answer.'),
    first_seen_at: Time('The first trouble.'),
    last_seen_at: Time('The last request.'),
  },
  { $id: 'ProxyDomain' },
);
const domainExample = {
  ...{ domain: 'www.example.com', status: 'blocked', requests: 40, answered: 4, blocked: 36, failed: 0 },
  ...{ first_seen_at: '2026-01-31T08:00:00.000Z', last_seen_at: '2026-01-31T09:00:00.000Z' },
};

const listDomains = route({
  id: 'listProxyDomains',
  method: 'GET',
  path: '/proxies/{proxy_id}/blocked-domains',
  access: 'admin',
  summary: 'List the domains that block a proxy or fail through it, the one with the last request first',
  description: `At most ${MAX_TROUBLED_DOMAINS} domains of a proxy are kept. A domain that works again leaves the list.`,
  query: Type.Object({ ...pagingByPage(10), search: search('A part of the domain.', 'example.com') }),
  responses: { 200: pagedOf('A page of domains.', DomainView, domainExample, 10) },
  errors: { 404: anError('There is no such proxy.', 'proxy_not_found', NO_PROXY) },
  async handler({ params: { proxy_id }, query }, { read }) {
    const { search = '' } = query;
    const place = placeOf(query);
    const [proxy, stored] = await Promise.all([read.proxies.get(proxy_id), read.proxyDomains.get(proxy_id)]);
    if (!proxy) throw new HttpError(404, 'proxy_not_found', NO_PROXY);
    const found = (stored?.domains ?? []).filter(({ domain }) => domain.includes(search.toLowerCase()));
    const here = found.slice(place.offset, place.offset + place.limit);
    const items = here.map((one) => ({ ...one, status: domainStatus(one) }));
    return { body: { items, total: found.length, ...place } };
  },
});

const NOT_CONFIGURED = 'PROXY_LIST_URL is not set, so there is no list of proxies.';

const refreshProxies = route({
  id: 'refreshProxies',
  method: 'POST',
  path: '/proxies/refresh',
  access: 'admin',
  summary: 'Read the list of proxies from its provider now',
  description:
    'Every checker then reads the list too, within some seconds; without this they do so every five minutes. Proxies that stay keep their ' +
    'health, and requests through proxies that leave run on. A provider that is away, or sends no list, changes nothing.',
  responses: {
    200: {
      description: 'What the list now has.',
      schema: Type.Object({
        total: Count('Proxies on the list.'),
        added: Count('Proxies that the list before did not have.'),
        removed: Count('Proxies that the list has no more.'),
        skipped: Count(`Entries that name no proxy or name one again, and those after ${MAX_PROXIES} proxies.`),
        refreshed_at: Time(),
      }),
      example: { total: 40, added: 2, removed: 1, skipped: 0, refreshed_at: '2026-01-31T09:00:00.000Z' },
    },
  },
  errors: {
    409: anError('The service has no list of proxies.', 'proxies_not_configured', NOT_CONFIGURED),
    502: anError(
      'The provider is away or slow, or what it sends is no list. The proxies stay as they are.',
      'proxy_list_unreadable',
      'The list of proxies was not read, and the proxies stay as they are: it did not come within 10 s.',
    ),
  },
  async handler({ command }, { commands, readProxyList }) {
    if (readProxyList === null) throw new HttpError(409, 'proxies_not_configured', NOT_CONFIGURED);
    const list = await readProxyList().catch((error: unknown) => {
      if (!(error instanceof ProxyListUnreadable)) throw error;
      const message = `The list of proxies was not read, and the proxies stay as they are: ${error.message}.`;
      throw new HttpError(502, error.code, message);
    });
    const context = command();
    const { added, removed, position } = await commands.record(list, 'request', context);
    const refreshed_at = new Date(context.now).toISOString();
    return { body: { total: list.proxies.length, added, removed, skipped: list.skipped, refreshed_at }, position };
  },
});

const proxyStats = route({
  id: 'getProxyStats',
  method: 'GET',
  path: '/proxies/stats',
  access: 'admin',
  summary: 'Show how the pool of proxies does as a whole',
  responses: {
    200: {
      description: 'The figures of the proxies on the list.',
      schema: Type.Object({
        is_configured: Type.Boolean({ description: 'Whether the service has a list of proxies.' }),
        total: Count('Proxies on the list.'),
        by_status: CountsOf(PROXY_STATUSES, `${MEANINGS} The last 1,000 removed ones are counted.`),
        ...rates,
        ...counts,
        troubled_domains: Count('Pairs of a proxy and a domain that is blocked or degraded through it.'),
        last_used_at: { ...NullableTime, description: 'The last request through any of them.' },
      }),
      example: {
        ...{ is_configured: true, total: 40 },
        by_status: { healthy: 36, degraded: 1, quarantined: 2, unused: 1, removed: 5 },
        ...{ success_rate: 0.93, block_rate: 0.04, latency_ms: 330 },
        ...{ requests: 152_000, answered: 141_360, blocked: 6080, timed_out: 2280, failed: 2280, troubled_domains: 61 },
        last_used_at: '2026-01-31T09:00:00.000Z',
      },
    },
  },
  async handler(_request, { read, readProxyList }) {
    const [pool, [last_used]] = await Promise.all([
      read.proxyPool.get(POOL),
      read.proxies.find({ is_listed: true }, { sort: { last_used_at: -1 }, limit: 1 }),
    ]);
    const sum = (name: string) => pool?.n[name] ?? 0;
    const sums = (name: (count: keyof ProxyCounts) => string) =>
      Object.fromEntries(PROXY_COUNTS.map((count) => [count, sum(name(count))])) as unknown as ProxyCounts;
    return {
      body: {
        ...{ is_configured: readProxyList !== null, total: sum(POOL_COUNTERS.total) },
        by_status: Object.fromEntries(PROXY_STATUSES.map((status) => [status, sum(POOL_COUNTERS.status(status))])),
        ...ratesOf(sums(POOL_COUNTERS.recent)),
        ...pick(sums(POOL_COUNTERS.all), COUNTS),
        troubled_domains: sum(POOL_COUNTERS.troubled_domains),
        last_used_at: last_used?.last_used_at ?? null,
      },
    };
  },
});

export const group = groupOf(wire, [listProxies, listDomains, refreshProxies, proxyStats]);
