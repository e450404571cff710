// The pool of proxies: its choices, its bench and its counts, by a clock and random numbers that the test holds.
import test from 'ava';
import { type ProxyEndpoint, parseProxy } from '../../../checkers/proxies/endpoint.ts';
import { MAX_TROUBLED_HOSTS, type PooledProxy, ProxyPool } from '../../../checkers/proxies/pool.ts';

const endpoint = (name: string): ProxyEndpoint => parseProxy(`http://${name}:8080`)!;

function world(names: readonly string[], per_proxy = 100) {
  const clock = { ms: 0 };
  let seed = 1;
  // mulberry32
  const random = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const pool = new ProxyPool({ per_proxy, now: () => clock.ms, random });
  pool.list(names.map(endpoint));
  const take = (): PooledProxy => {
    const proxy = pool.take();
    if (proxy === null) throw new Error('none is usable');
    return proxy;
  };
  return { pool, clock, take };
}

test('the pool chooses equal proxies equally often', (t) => {
  const { take } = world(['a', 'b', 'c', 'd'], 10_000);
  const chosen = new Map<string, number>();
  for (let i = 0; i < 4000; i++) {
    const { host } = take().endpoint;
    chosen.set(host, (chosen.get(host) ?? 0) + 1);
  }
  for (const count of chosen.values()) t.true(count > 900 && count < 1100, String(count));
});

test('the pool chooses a proxy that fails half of the time half as often, until it recovers', (t) => {
  const { pool, take } = world(['good', 'poor'], 100_000);
  const poor = pool.drain().find(({ proxy }) => proxy.endpoint.host === 'poor')!.proxy;
  for (let i = 0; i < 50; i++) pool.record(poor, i % 2 === 0 ? 'answered' : 'failed', 'site.example');
  const share = () => {
    let count = 0;
    for (let i = 0; i < 3000; i++) if (take() === poor) count++;
    return count / 3000;
  };
  const when_poor = share();
  t.true(when_poor > 0.25 && when_poor < 0.42, String(when_poor));
  for (let i = 0; i < 50; i++) pool.record(poor, 'answered', 'site.example');
  t.true(share() > 0.45);
});

test('the pool benches a proxy that is down, longer each time, and tries it with one connection', (t) => {
  const { pool, clock, take } = world(['only']);
  const proxy = take();
  const also = take();
  for (const bench_ms of [1000, 2000, 4000, 8000]) {
    pool.record(proxy, 'proxy_down', 'site.example');
    // Requests in flight fail too, and do not count as a second failure.
    pool.record(also, 'proxy_down', 'site.example');
    while (proxy.open > 0) pool.release(proxy);
    clock.ms += bench_ms - 1;
    t.false(pool.usable);
    t.is(pool.take(), null);
    clock.ms += 1;
    t.is(pool.take(), proxy);
    t.is(pool.take(), null, 'one connection at a time until it answers');
  }
  pool.record(proxy, 'answered', 'site.example');
  t.is(pool.take(), proxy);
});

test('consecutive failures over many hosts bench a proxy, and blocks and answers do not', (t) => {
  const { pool, take } = world(['only']);
  const proxy = take();
  for (let i = 0; i < 19; i++) pool.record(proxy, 'timed_out', `site-${i}.example`);
  pool.record(proxy, 'blocked', 'site.example');
  for (let i = 0; i < 19; i++) pool.record(proxy, 'failed', `site-${i}.example`);
  t.true(pool.usable);
  pool.record(proxy, 'failed', 'last.example');
  t.false(pool.usable);
});

test('a proxy has a limit of connections, and the pool chooses avoided proxies last', (t) => {
  const { pool, take } = world(['a', 'b'], 2);
  const first = take();
  const others = [pool.take(new Set([first])), pool.take(new Set([first]))];
  t.true(others.every((proxy) => proxy !== null && proxy !== first));
  t.is(pool.take(new Set([first])), first, 'better than none');
  t.is(pool.take(), null);
  t.false(pool.usable);
  pool.release(first);
  t.is(pool.take(), first);
});

test('a new list keeps the health and the counts of remaining proxies, and reports removed ones a last time', (t) => {
  const { pool, take } = world(['stays', 'leaves']);
  while (pool.usable) {
    const proxy = take();
    pool.record(proxy, 'proxy_down', 'site.example');
    pool.release(proxy);
  }
  pool.list([endpoint('stays'), endpoint('new')]);
  t.is(take().endpoint.host, 'new');
  const told = pool.drain().map(({ proxy, counts }) => [proxy.endpoint.host, proxy.listed, counts.failed]);
  t.deepEqual(told, [
    ['stays', true, 1],
    ['new', true, 0],
    ['leaves', false, 1],
  ]);
  t.deepEqual(
    pool.drain().map(({ proxy }) => proxy.endpoint.host),
    ['stays', 'new'],
  );
});

test('the pool hands over its counts once, with a bounded number of troubled hosts', (t) => {
  const { pool, take } = world(['only']);
  const proxy = take();
  pool.record(proxy, 'answered', 'good.example', 120);
  pool.record(proxy, 'blocked', 'guarded.example', 80);
  pool.record(proxy, 'timed_out', 'slow.example');
  const [drained] = pool.drain();
  t.like(drained!.counts, { requests: 3, answered: 1, blocked: 1, timed_out: 1, failed: 0, response_time_ms: 200 });
  t.deepEqual(Object.fromEntries(drained!.counts.hosts), {
    'guarded.example': { blocked: 1, failed: 0, answered: 0 },
    'slow.example': { blocked: 0, failed: 1, answered: 0 },
  });
  for (let i = 0; i < 3 * MAX_TROUBLED_HOSTS; i++) pool.record(proxy, 'blocked', `site-${i}.example`);
  const { counts } = pool.drain()[0]!;
  t.is(counts.requests, 3 * MAX_TROUBLED_HOSTS);
  t.is(counts.hosts.size, MAX_TROUBLED_HOSTS);
});
