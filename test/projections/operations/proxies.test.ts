// The pool of proxies as the log tells it: which are listed, how they do, and which domains trouble them.
import test, { type ExecutionContext } from 'ava';
import { recordProxyObserved } from '../../../commands/proxy.ts';
import { openProxyListCommands, watchRefreshRequests } from '../../../commands/proxy-list.ts';
import { uuidV5 } from '../../../events/ids.ts';
import type { ProxyObserved } from '../../../events/proxy.ts';
import { proxiesProjection } from '../../../projections/operations/proxies.ts';
import {
  domainStatus,
  MAX_TROUBLED_DOMAINS,
  POOL,
  PROXY_STATUSES,
  type ProxyDocument,
  proxies,
  proxiesPage,
  proxyDomains,
  proxyPool,
} from '../../../readmodels/operations/proxies.ts';
import { requestRebuild } from '../../../readmodels/projection-state.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { commandContext, openTestStores, project } from '../../support/stores.ts';

const idOf = (name: string) => uuidV5('4c0e8f53-3f0e-5c8a-9d43-8a4a6a1d5c27', name);
const addressOf = (name: string) => `http://${name}.example:80`;
const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 9, minute)).toISOString();
const OBSERVER = idOf('observer');

/** The counters of the pool, counted from the proxies. */
function sumsOf(all: readonly ProxyDocument[]): Record<string, number> {
  const listed = all.filter(({ is_listed }) => is_listed);
  const sum = (of: (proxy: ProxyDocument) => number) => listed.reduce((total, proxy) => total + of(proxy), 0);
  const counts = ['requests', 'answered', 'blocked', 'timed_out', 'failed', 'response_time_ms'] as const;
  const sums = {
    total: listed.length,
    troubled_domains: sum((proxy) => proxy.troubled_domains),
    ...Object.fromEntries(
      PROXY_STATUSES.map((status) => [`status_${status}`, all.filter((proxy) => proxy.status === status).length]),
    ),
    ...Object.fromEntries(counts.map((count) => [`all_${count}`, sum((proxy) => proxy[count])])),
    ...Object.fromEntries(counts.map((count) => [`recent_${count}`, sum((proxy) => proxy.recent[count])])),
  };
  return Object.fromEntries(Object.entries(sums).filter(([, count]) => count !== 0));
}

async function openPool(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const commands = openProxyListCommands(log);
  const readmodels = openReadModels(documents);
  const [read, read_domains] = [readmodels.collection(proxies), readmodels.collection(proxyDomains)];
  const read_pool = readmodels.collection(proxyPool);
  let interval = 0;
  return {
    ...stores,
    commands,
    read,
    list: (names: readonly string[], trigger: 'request' | 'schedule' = 'schedule') =>
      commands.record(
        { proxies: names.map((name) => ({ proxy_id: idOf(name), address: addressOf(name) })), skipped: 0 },
        trigger,
        commandContext(Date.parse(at(interval))),
      ),
    observe: (name: string, observed: Partial<ProxyObserved>) =>
      recordProxyObserved(
        log,
        {
          ...{ proxy_id: idOf(name), address: addressOf(name), observer: OBSERVER, interval, status: 'healthy' },
          ...{ from: at(interval), until: at(++interval) },
          ...{ requests: 0, answered: 0, blocked: 0, timed_out: 0, failed: 0, response_time_ms: 0, domains: [] },
          ...observed,
        },
        commandContext(),
      ),
    async shown(): Promise<Record<string, ProxyDocument>> {
      await project(stores, [proxiesProjection]);
      const all = await Array.fromAsync(read.stream({}));
      t.deepEqual((await read_pool.get(POOL))?.n ?? {}, sumsOf(all), 'the sums are those of the proxies');
      return Object.fromEntries(all.map((one) => [/\/\/(.*)\.example/.exec(one.address)![1], one]));
    },
    async domains(name: string) {
      await project(stores, [proxiesProjection]);
      return (await read_domains.get(idOf(name)))?.domains ?? [];
    },
  };
}

test('the newest list says which proxies there are, and one that comes back keeps its health', async (t) => {
  const pool = await openPool(t);
  t.like(await pool.list(['a', 'b']), { added: 2, removed: 0 });
  await pool.observe('a', { requests: 10, answered: 10, response_time_ms: 500 });
  t.like(await pool.list(['b', 'c']), { added: 1, removed: 1 });
  // A checker that read an earlier list still reports.
  await pool.observe('a', { requests: 2, answered: 2, status: 'unlisted' });
  let shown = await pool.shown();
  t.like(shown.a, { status: 'removed', is_listed: false, removed_at: at(1), requests: 12 });
  t.like(shown.b, { status: 'unused', listed_at: at(0), requests: 0, last_used_at: null });
  const page = (query: object) => proxiesPage(pool.read, { limit: 10, offset: 0, ...query });
  t.deepEqual([(await page({})).total, (await page({ status: 'removed' })).total], [2, 1]);
  t.deepEqual(
    (await page({ search: 'C.EXA' })).items.map(({ _id }) => _id),
    [idOf('c')],
  );
  await pool.list(['a', 'b', 'c']);
  shown = await pool.shown();
  t.like(shown.a, { status: 'healthy', is_listed: true, removed_at: null, requests: 12, last_used_at: at(2) });
});

test('a proxy that was forgotten stays off the list when a checker still reports it', async (t) => {
  const pool = await openPool(t);
  const names = (list: string) => Array.from({ length: 600 }, (_, n) => `${list}${n}`);
  await pool.list(names('a'));
  await pool.list(names('b'));
  await pool.list(names('c'));
  await pool.shown();
  const removed = [...names('a'), ...names('b')];
  const documents = await Promise.all(removed.map((name) => pool.read.get(idOf(name))));
  const forgotten = removed.filter((_, n) => documents[n] === null);
  t.is(forgotten.length, 200);
  await pool.observe(forgotten[0]!, { requests: 2, answered: 2 });
  await pool.shown();
  t.like(await pool.read.get(idOf(forgotten[0]!)), { status: 'removed', removed_at: at(1), requests: 2 });
  t.is(await pool.read.count({ is_listed: true }), 600);
});

test('the same list found again is no event, and one that an administrator asked for is', async (t) => {
  const pool = await openPool(t);
  await pool.list(['a']);
  const wasAsked = await watchRefreshRequests(pool.log);
  await pool.list(['a']);
  t.false(await wasAsked());
  t.like(await pool.list(['a'], 'request'), { added: 0, removed: 0 });
  await pool.list(['b']);
  t.true(await wasAsked());
  t.false(await wasAsked());
  let events = 0;
  for await (const _ of pool.log.readStream('proxy_list-current')) events++;
  t.is(events, 3);
});

test('two administrators and a checker at once leave one list after the other', async (t) => {
  const pool = await openPool(t);
  await Promise.all([pool.list(['a'], 'request'), pool.list(['a', 'b'], 'request'), pool.list(['c'])]);
  let last: readonly { proxy_id: string }[] = [];
  for await (const { data } of pool.log.readStream('proxy_list-current'))
    last = (data as { proxies: typeof last }).proxies;
  const listed = Object.values(await pool.shown()).filter(({ is_listed }) => is_listed);
  t.deepEqual(listed.map(({ _id }) => _id).sort(), last.map(({ proxy_id }) => proxy_id).sort());
});

test('a proxy is degraded by its recent requests, quarantined while a checker rests it, and healthy again', async (t) => {
  const pool = await openPool(t);
  await pool.list(['a']);
  await pool.observe('a', { requests: 900, answered: 900, response_time_ms: 90_000 });
  t.like((await pool.shown()).a, { status: 'healthy' });
  await pool.observe('a', { requests: 300, blocked: 100, timed_out: 100, failed: 100, response_time_ms: 30_000 });
  // 1,200 recent requests are halved.
  const recent = { requests: 600, answered: 450, blocked: 50, timed_out: 50, failed: 50, response_time_ms: 60_000 };
  t.like((await pool.shown()).a, { status: 'degraded', requests: 1200, answered: 900, recent });
  await pool.observe('a', { requests: 1, failed: 1, status: 'benched', retry_at: at(9) });
  await pool.observe('a', { requests: 1, failed: 1, status: 'benched', retry_at: at(12) });
  t.like((await pool.shown()).a, { status: 'quarantined', quarantined_since: at(3), retry_at: at(12) });
  await pool.observe('a', { requests: 2000, answered: 2000, status: 'healthy' });
  t.like((await pool.shown()).a, { status: 'healthy', quarantined_since: null, retry_at: null, last_used_at: at(5) });
});

test('a domain that blocks a proxy is listed until it works again', async (t) => {
  const pool = await openPool(t);
  await pool.list(['a']);
  const of = (domain: string, blocked: number, failed: number, answered?: number) => ({
    ...{ domain, blocked, failed },
    ...(answered === undefined ? {} : { answered }),
  });
  await pool.observe('a', { domains: [of('old.example', 1, 0), of('guarded.example', 3, 1, 4)] });
  await pool.observe('a', { domains: [of('slow.example', 0, 1, 1), of('guarded.example', 9, 0, 1)] });
  const found = await pool.domains('a');
  t.deepEqual(
    found.map((one) => [one.domain, domainStatus(one), one.requests, one.blocked, one.failed]),
    [
      ['slow.example', 'degraded', 2, 0, 1],
      ['guarded.example', 'blocked', 18, 12, 1],
      ['old.example', 'blocked', 1, 1, 0],
    ],
  );
  t.like(found[1], { first_seen_at: at(1), last_seen_at: at(2) });
  t.is((await pool.shown()).a!.troubled_domains, 3);
  // Halvings forget the trouble of long ago.
  for (let n = 0; n < 4; n++) await pool.observe('a', { domains: [of('guarded.example', 0, 0, 60)] });
  t.deepEqual(
    (await pool.domains('a')).map(({ domain }) => domain),
    ['slow.example', 'old.example'],
  );
  t.is((await pool.shown()).a!.troubled_domains, 2);
});

test('a proxy keeps a bounded number of domains, the last ones', async (t) => {
  const pool = await openPool(t);
  const rounds = MAX_TROUBLED_DOMAINS / 100 + 1;
  for (let round = 0; round < rounds; round++) {
    const domains = Array.from({ length: 100 }, (_, n) => ({
      domain: `d${round}-${n}.example`,
      blocked: 1,
      failed: 0,
    }));
    await pool.observe('a', { domains });
  }
  const found = await pool.domains('a');
  t.is(found.length, MAX_TROUBLED_DOMAINS);
  t.false(found.some(({ domain }) => domain.startsWith('d0-')));
  t.true(found.some(({ domain }) => domain.startsWith('d1-')));
});

test('events of a service that recorded no lists name the proxies, and a rebuild makes the same documents', async (t) => {
  const pool = await openPool(t);
  await pool.observe('a', {
    requests: 3,
    answered: 1,
    failed: 2,
    domains: [{ domain: 'x.example', blocked: 0, failed: 2 }],
  });
  await pool.observe('b', { status: 'benched' });
  await pool.observe('b', { status: 'unlisted' });
  const shown = await pool.shown();
  t.like(shown, { a: { status: 'degraded', listed_at: null }, b: { status: 'removed', removed_at: at(3) } });
  await pool.list(['a', 'c']);
  await pool.list(['c']);
  const [before, domains] = [await pool.shown(), await pool.domains('a')];
  await requestRebuild(pool.documents, 'proxies');
  t.deepEqual(await pool.shown(), before);
  t.deepEqual(await pool.domains('a'), domains);
});

test('of the proxies that left, the last thousand are kept', async (t) => {
  const pool = await openPool(t);
  const names = (from: number) => Array.from({ length: 1000 }, (_, n) => `p${from + n}`);
  await pool.list(names(0));
  await pool.observe('p0', { domains: [{ domain: 'x.example', blocked: 1, failed: 0 }] });
  await pool.list(names(1000));
  await pool.observe('p1000', {});
  t.is((await pool.domains('p0')).length, 1);
  await pool.list(names(2000));
  await project(pool, [proxiesProjection]);
  t.deepEqual([await pool.read.count({ is_listed: true }), await pool.read.count({ status: 'removed' })], [1000, 1000]);
  t.is(await pool.read.get(idOf('p0')), null);
  t.deepEqual(await pool.domains('p0'), []);
});
