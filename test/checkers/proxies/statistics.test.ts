// Outcomes through proxies reach the log once, with several checkers, lost acknowledgements and a clean stop.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { Value } from 'typebox/value';
import { parseProxy } from '../../../checkers/proxies/endpoint.ts';
import { ProxyPool } from '../../../checkers/proxies/pool.ts';
import { keepProxyStatistics } from '../../../checkers/proxies/statistics.ts';
import { recordProxyObserved } from '../../../commands/proxy.ts';
import type { EventStore } from '../../../events/event-store.ts';
import { PROXY_EVENTS, type ProxyObserved } from '../../../events/proxy.ts';
import { proxyStream } from '../../../events/streams.ts';
import { commandContext, openTestStores, silent } from '../../support/stores.ts';

const ENDPOINT = parseProxy(`http://user:${'secret'}@proxy.example:8080`)!;
const STREAM = proxyStream(ENDPOINT.id);

async function recorded(log: EventStore): Promise<ProxyObserved[]> {
  const events: ProxyObserved[] = [];
  for await (const { data } of log.readStream(STREAM)) events.push(data as ProxyObserved);
  return events;
}

function checker(t: ExecutionContext, log: EventStore) {
  const pool = new ProxyPool({ per_proxy: 100 });
  pool.list([ENDPOINT]);
  const statistics = keepProxyStatistics({ pool, log, logger: silent });
  t.teardown(() => statistics.close());
  const proxy = pool.take()!;
  return { pool, proxy, statistics };
}

/** The log, whose appends are stored and then fail `failures` times: their acknowledgements are lost. */
function losing(log: EventStore, failures: number): EventStore {
  return appendingBy(log, async (...args) => {
    const result = await log.append(...args);
    if (failures-- > 0) throw new Error('the acknowledgement was lost');
    return result;
  });
}

function appendingBy(log: EventStore, append: EventStore['append']): EventStore {
  const readStream: EventStore['readStream'] = (...args) => log.readStream(...args);
  return { append, readStream } as EventStore;
}

test('an event has the outcomes since the last one, without the credentials', async (t) => {
  const { log } = await openTestStores(t);
  const { pool, proxy, statistics } = checker(t, log);
  pool.record(proxy, 'answered', 'site.example', 100.4);
  pool.record(proxy, 'blocked', 'guarded.example', 50);
  await statistics.flush();
  pool.record(proxy, 'proxy_down', 'site.example');
  await statistics.flush();
  const [first, second, ...more] = await recorded(log);
  t.like(first, {
    requests: 2,
    answered: 1,
    blocked: 1,
    failed: 0,
    response_time_ms: 150,
    status: 'healthy',
    interval: 0,
  });
  t.deepEqual(first!.domains, [{ domain: 'guarded.example', blocked: 1, failed: 0, answered: 0 }]);
  t.like(second, { requests: 1, failed: 1, status: 'benched', interval: 1, from: first!.until });
  t.deepEqual(more, []);
  t.true(Value.Check(PROXY_EVENTS.ProxyObserved.schema, first));
  t.notRegex(JSON.stringify([first, second]), /secret|user/);
});

test('a troubled domain is counted until an interval without trouble', async (t) => {
  const { log } = await openTestStores(t);
  const { pool, proxy, statistics } = checker(t, log);
  const rounds = [['answered', 'failed', 'answered'], ['answered', 'answered'], ['answered'], ['blocked']] as const;
  for (const round of rounds) {
    for (const result of round) pool.record(proxy, result, 'site.example');
    await statistics.flush();
  }
  const counted = (await recorded(log)).map(({ domains }) => domains.map(({ domain: _, ...counts }) => counts));
  t.deepEqual(counted, [
    [{ blocked: 0, failed: 1, answered: 1 }],
    [{ blocked: 0, failed: 0, answered: 2 }],
    [],
    [{ blocked: 1, failed: 0, answered: 0 }],
  ]);
});

test('a proxy that failed is benched until an answer, and the event says when it is tried again', async (t) => {
  const { log } = await openTestStores(t);
  let now = 0;
  const pool = new ProxyPool({ per_proxy: 100, now: () => now });
  pool.list([ENDPOINT]);
  const statistics = keepProxyStatistics({ pool, log, logger: silent, now: () => now });
  t.teardown(() => statistics.close());
  const proxy = pool.take()!;
  pool.record(proxy, 'proxy_down', 'site.example');
  await statistics.flush();
  // The pause is over: the next request tries the proxy.
  now = 5000;
  pool.record(proxy, 'proxy_down', 'site.example');
  now = 60_000;
  await statistics.flush();
  pool.record(proxy, 'answered', 'site.example');
  await statistics.flush();
  t.deepEqual(
    (await recorded(log)).map(({ status, retry_at }) => [status, retry_at]),
    [
      ['benched', '1970-01-01T00:00:01.000Z'],
      ['benched', '1970-01-01T00:01:00.000Z'],
      ['healthy', undefined],
    ],
  );
});

test('a proxy without news gets no event, and a removed proxy gets a last one', async (t) => {
  const { log } = await openTestStores(t);
  const { pool, statistics } = checker(t, log);
  for (let i = 0; i < 3; i++) await statistics.flush();
  pool.list([]);
  for (let i = 0; i < 3; i++) await statistics.flush();
  t.deepEqual(
    (await recorded(log)).map(({ status }) => status),
    ['healthy', 'unlisted'],
  );
});

test('the log has an event once whose acknowledgement was lost', async (t) => {
  const { log } = await openTestStores(t);
  const { pool, proxy, statistics } = checker(t, losing(log, 1));
  pool.record(proxy, 'answered', 'site.example');
  await statistics.flush();
  // Another checker wrote in between.
  const other = checker(t, log);
  other.pool.record(other.proxy, 'answered', 'site.example');
  await other.statistics.flush();
  await statistics.flush();
  t.deepEqual(
    (await recorded(log)).map(({ requests }) => requests),
    [1, 1],
  );
});

test('concurrent checkers lose nothing, and each records the rest when it stops', async (t) => {
  const { log } = await openTestStores(t);
  const checkers = Array.from({ length: 8 }, () => checker(t, log));
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      checkers.map(({ pool, proxy, statistics }) => {
        pool.record(proxy, 'answered', 'site.example');
        return statistics.flush();
      }),
    );
  }
  for (const { pool, proxy } of checkers) pool.record(proxy, 'timed_out', 'site.example');
  await Promise.all(checkers.map(({ statistics }) => statistics.close()));
  const events = await recorded(log);
  t.is(
    events.reduce((sum, { answered }) => sum + answered, 0),
    40,
  );
  t.is(
    events.reduce((sum, { timed_out }) => sum + timed_out, 0),
    8,
  );
  t.is(new Set(events.map(({ observer, interval }) => `${observer} ${interval}`)).size, events.length);
});

test('the checker keeps counts that an absent log did not take', async (t) => {
  const { log } = await openTestStores(t);
  let away = true;
  const { pool, proxy, statistics } = checker(
    t,
    appendingBy(log, async (...args) => {
      if (away) throw new Error('away');
      return log.append(...args);
    }),
  );
  pool.record(proxy, 'answered', 'site.example');
  await statistics.flush();
  pool.record(proxy, 'answered', 'site.example');
  away = false;
  await statistics.flush();
  t.deepEqual(
    (await recorded(log)).map(({ interval, requests }) => [interval, requests]),
    [
      [0, 1],
      [1, 1],
    ],
  );
});

test('a repeated observation is recorded once', async (t) => {
  const { log } = await openTestStores(t);
  const at = new Date(0).toISOString();
  const observed: ProxyObserved = {
    proxy_id: ENDPOINT.id,
    address: ENDPOINT.address,
    observer: randomUUID(),
    interval: 3,
    from: at,
    until: at,
    status: 'healthy',
    requests: 1,
    answered: 1,
    blocked: 0,
    timed_out: 0,
    failed: 0,
    response_time_ms: 5,
    domains: [],
  };
  t.like(await recordProxyObserved(log, observed, commandContext()), { recorded: 'now' });
  t.like(await recordProxyObserved(log, observed, commandContext()), { recorded: 'already' });
  t.like(await recordProxyObserved(log, { ...observed, interval: 4 }, commandContext()), { recorded: 'now' });
  t.is((await recorded(log)).length, 2);
});
