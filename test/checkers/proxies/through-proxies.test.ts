// The engine through proxies: what the site receives, what a proxy may not decide, and which failures count against whom.
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createEngine, type EngineParts, type EngineSettings } from '../../../checkers/engine/engine.ts';
import type { Lookup } from '../../../checkers/engine/resolver.ts';
import { parseProxy } from '../../../checkers/proxies/endpoint.ts';
import { ProxyPool } from '../../../checkers/proxies/pool.ts';
import { patientClock } from '../../support/patient-clock.ts';
import { AUTHORITY, GOOD } from '../../support/test-certificates.ts';
import { startTestProxy, type TestProxy, type TestProxyOptions } from '../../support/test-proxy.ts';
import { startTestSite, type TestSiteOptions, to } from '../../support/test-site.ts';

const SETTINGS: EngineSettings = {
  concurrency: 8,
  per_host: 8,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8', '::1/128'],
  user_agent: 'test',
};
const KINDS = ['http', 'https', 'socks5'] as const;

async function site(t: ExecutionContext, options: TestSiteOptions = {}) {
  const started = await startTestSite(options);
  t.teardown(() => started.close());
  return started;
}

async function proxy(t: ExecutionContext, options: TestProxyOptions = {}): Promise<TestProxy> {
  const started = await startTestProxy(options);
  t.teardown(() => started.close());
  return started;
}

function poolOf(lines: readonly string[], { per_proxy = 100, now }: { per_proxy?: number; now?: () => number } = {}) {
  const pool = new ProxyPool({ per_proxy, ...(now ? { now } : {}) });
  pool.list(lines.map((line) => parseProxy(line)!));
  return pool;
}

function engineOver(
  t: ExecutionContext,
  pool: ProxyPool,
  parts: EngineParts = {},
  settings: Partial<EngineSettings> = {},
) {
  const engine = createEngine({ ...SETTINGS, ...settings }, { ca: AUTHORITY, proxies: pool, ...parts });
  t.teardown(() => engine.close());
  return engine;
}

/** A port on which nobody listens. */
async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const counted = (pool: ProxyPool) => pool.drain().map(({ counts }) => counts);

test('the sandbox is not requested through a proxy, and counts for none', async (t) => {
  const [through, target] = [await proxy(t), await site(t)];
  const pool = poolOf([through.url]);
  const engine = engineOver(t, pool, { sandbox: { host: 'sandbox.test', port: target.port } });
  t.like(await engine.check('http://sandbox.test/fine'), { verdict: 'ok', status_code: 200 });
  t.deepEqual(
    counted(pool).map(({ requests }) => requests),
    [0],
  );
});

for (const kind of KINDS) {
  test(`${kind}: the engine requests a page through the proxy, by its vetted address`, async (t) => {
    const [through, target] = [await proxy(t, { kind }), await site(t)];
    const pool = poolOf([through.url]);
    const outcome = await engineOver(t, pool).check(`http://localhost:${target.port}/fine`);
    t.like(outcome, { verdict: 'ok', status_code: 200, attempts: 1 });
    t.deepEqual(through.asked, [`127.0.0.1:${target.port}`]);
    t.like(counted(pool)[0]!, { requests: 1, answered: 1, blocked: 0, failed: 0 });
  });

  test(`${kind}: port 0 is not the usual port`, async (t) => {
    const proxies = [await proxy(t, { kind }), await proxy(t, { kind })];
    const outcome = await engineOver(t, poolOf(proxies.map(({ url }) => url))).check('http://localhost:0/');
    t.is(outcome.verdict, 'unreachable');
    t.deepEqual(
      proxies.map(({ asked }) => asked[0]),
      ['127.0.0.1:0', '127.0.0.1:0'],
    );
  });

  test(`${kind}: TLS reaches the site, whose certificate must have the name in the URL`, async (t) => {
    const [through, target] = [await proxy(t, { kind }), await site(t, { certificate: GOOD })];
    const engine = engineOver(t, poolOf([through.url]), { lookup: at({ 'other.example': ['127.0.0.1'] }) });
    t.like(await engine.check(`https://localhost:${target.port}/fine`), {
      verdict: 'ok',
      final_url: `https://localhost:${target.port}/fine`,
    });
    t.like(await engine.check(`https://other.example:${target.port}/fine`), {
      verdict: 'unreachable',
      error_code: 'tls_hostname',
    });
  });

  test(`${kind}: the engine sends credentials, and wrong ones do not count against the URL`, async (t) => {
    const credentials = 'us%40r:p%3Ass';
    const [through, target] = [await proxy(t, { kind, credentials }), await site(t)];
    const engine = engineOver(t, poolOf([through.url.replace('p%3Ass@', 'wrong@'), through.url]));
    const checks = Array.from({ length: 8 }, (_, i) => engine.check(`${target.origin}/fine?${i}`));
    for (const outcome of await Promise.all(checks)) t.like(outcome, { verdict: 'ok', attempts: 1 });
  });

  test(`${kind}: the engine uses another proxy when one closes the connection`, async (t) => {
    const [dying, well, target] = [
      await proxy(t, { kind, behaviour: 'hang up' }),
      await proxy(t, { kind }),
      await site(t),
    ];
    const pool = poolOf([dying.url, well.url]);
    const engine = engineOver(t, pool);
    const checks = Array.from({ length: 8 }, (_, i) => engine.check(`${target.origin}/fine?${i}`));
    for (const outcome of await Promise.all(checks)) t.like(outcome, { verdict: 'ok', attempts: 1 });
    t.deepEqual(
      counted(pool).map(({ answered }) => answered),
      [0, 8],
    );
  });

  test(`${kind}: a close of the engine during a request leaves no socket`, async (t) => {
    const [hanging, target] = [await proxy(t, { kind, behaviour: 'hang' }), await site(t)];
    const pool = poolOf([hanging.url]);
    const engine = createEngine(SETTINGS, { ca: AUTHORITY, proxies: pool });
    const check = engine.check(`${target.origin}/fine`);
    while (hanging.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const aborted = t.throwsAsync(check, { name: 'AbortError' });
    await engine.close();
    await aborted;
    t.is(target.accepted, 0);
    t.not(pool.take(), null);
  });
}

test('the engine reuses a connection through a proxy for the same origin', async (t) => {
  const [through, target] = [await proxy(t), await site(t)];
  const engine = engineOver(t, poolOf([through.url]));
  for (let i = 0; i < 5; i++) t.like(await engine.check(`${target.origin}/fine?${i}`), { verdict: 'ok' });
  t.is(target.accepted, 1);
});

test('over plain http the verdict is that of what the proxy answers, whoever it asks', async (t) => {
  const [through, forger] = [await proxy(t, { leads_to: await site(t) }), await site(t)];
  await forger.close();
  t.like(await engineOver(t, poolOf([through.url])).check(`http://localhost:${forger.port}/fine`), {
    verdict: 'ok',
    status_code: 200,
  });
});

test('the engine reaches an IPv6 address through a proxy', async (t) => {
  for (const kind of KINDS) {
    const [through, target] = [await proxy(t, { kind }), await site(t, { host: '::1' })];
    const outcome = await engineOver(t, poolOf([through.url])).check(`http://[::1]:${target.port}/fine`);
    t.like(outcome, { verdict: 'ok' }, kind);
    t.is(through.asked.length, 1);
  }
});

test('the address guard applies through a proxy to names, literals and redirects', async (t) => {
  const through = await proxy(t);
  const target = await site(t, { behaviours: { '/inside': to('http://10.0.0.1/secret') } });
  const lookup = at({ 'inside.example': ['93.184.216.34', '10.0.0.1'] });
  const engine = engineOver(t, poolOf([through.url]), { lookup });
  for (const url of ['http://inside.example/', 'http://169.254.169.254/', `${target.origin}/inside`]) {
    t.like(await engine.check(url), { verdict: 'unreachable', error_code: 'blocked_address', is_broken: true }, url);
  }
  t.deepEqual(through.asked, [`127.0.0.1:${target.port}`]);
});

test('the engine resolves a changing name once, and gives the proxy the vetted address', async (t) => {
  const [through, target] = [await proxy(t), await site(t)];
  let asked = 0;
  const lookup: Lookup = (_name, done) => done({ addresses: [asked++ === 0 ? '127.0.0.1' : '10.0.0.1'], ttl_s: 60 });
  const engine = engineOver(t, poolOf([through.url]), { lookup });
  t.like(await engine.check(`http://rebinding.example:${target.port}/fine`), { verdict: 'ok' });
  t.deepEqual(through.asked, [`127.0.0.1:${target.port}`]);
  t.is(asked, 1);
});

for (const refusal of [502, 403, 500]) {
  test(`a proxy that answers ${refusal} does not make a URL broken, and another proxy is tried`, async (t) => {
    const [refusing, well, target] = [
      await proxy(t, { behaviour: { refuse: refusal } }),
      await proxy(t),
      await site(t),
    ];
    const engine = engineOver(t, poolOf([refusing.url, well.url]));
    const checks = Array.from({ length: 8 }, (_, i) => engine.check(`${target.origin}/fine?${i}`));
    for (const outcome of await Promise.all(checks)) t.like(outcome, { verdict: 'ok', attempts: 1 });
  });
}

test('a URL that no proxy reaches is unreachable with proxy_failed, and not broken', async (t) => {
  const refusing = await Promise.all([1, 2, 3].map(() => proxy(t, { behaviour: { refuse: 403 } })));
  const engine = engineOver(t, poolOf(refusing.map(({ url }) => url)));
  const outcome = await engine.check('http://127.0.0.1:9/');
  t.like(outcome, {
    verdict: 'unreachable',
    error_code: 'proxy_failed',
    is_broken: false,
    status_code: null,
    attempts: 1,
  });
  t.is(refusing.flatMap(({ asked }) => asked).length, 3);
});

test("one proxy's report of a dead host is no proof, and two reports are", async (t) => {
  const dead = `http://127.0.0.1:${await closedPort()}/`;
  const [one, two] = [await proxy(t), await proxy(t, { kind: 'socks5' })];
  const alone = await engineOver(t, poolOf([one.url])).check(dead);
  t.like(alone, { error_code: 'proxy_failed', is_broken: false });
  const both = await engineOver(t, poolOf([one.url, two.url])).check(dead);
  t.like(both, { verdict: 'unreachable', error_code: 'connection_refused', is_broken: true, attempts: 1 });
});

test('a break within the tunnel counts after it happened through two proxies', async (t) => {
  const [breaking, well] = [await proxy(t, { behaviour: 'break off' }), await proxy(t)];
  const target = await site(t);
  const engine = engineOver(t, poolOf([breaking.url, well.url]));
  for (let i = 0; i < 8; i++) t.like(await engine.check(`${target.origin}/fine?${i}`), { verdict: 'ok', attempts: 1 });
  t.like(await engine.check(`${target.origin}/reset`), { error_code: 'connection_reset', is_broken: true });
});

test('the engine uses another proxy when one does not answer in time', async (t) => {
  const [hanging, well, target] = [await proxy(t, { behaviour: 'hang' }), await proxy(t), await site(t)];
  const now = patientClock(t);
  const pool = poolOf([hanging.url, well.url], { now });
  const engine = engineOver(t, pool, { now }, { timeout_ms: 600, concurrency: 4 });
  const checks = Array.from({ length: 4 }, (_, i) => engine.check(`${target.origin}/fine?${i}`));
  for (const outcome of await Promise.all(checks)) t.like(outcome, { verdict: 'ok', attempts: 1 });
});

test('checks wait while no proxy works, and continue when one does', async (t) => {
  const [through, target] = [await proxy(t, { behaviour: 'hang up' }), await site(t)];
  let skipped_ms = 0;
  const now = () => performance.now() + skipped_ms;
  const pool = poolOf([through.url], { now });
  const engine = engineOver(t, pool, { now });
  const check = engine.check(`${target.origin}/fine`);
  while (pool.usable) await new Promise((resolve) => setImmediate(resolve));
  const before = through.asked.length;
  t.is(engine.free, SETTINGS.concurrency! - 1);
  through.behave('tunnel');
  skipped_ms += 10_000;
  t.like(await check, { verdict: 'ok', attempts: 1 });
  t.is(through.asked.length, before + 1);
});

test('a proxy has a limit of connections, and idle ones make room for others', async (t) => {
  const through = await proxy(t);
  const targets = await Promise.all(Array.from({ length: 6 }, () => site(t)));
  const engine = engineOver(t, poolOf([through.url], { per_proxy: 2 }));
  const outcomes = await Promise.all(
    targets.flatMap((target) => [1, 2, 3].map((i) => engine.check(`${target.origin}/fine?${i}`))),
  );
  for (const outcome of outcomes) t.like(outcome, { verdict: 'ok' });
});

test('a block counts for the proxy and the host, and is not retried through another proxy', async (t) => {
  const proxies = [await proxy(t), await proxy(t)];
  const target = await site(t, {
    behaviours: {
      '/guarded': (_request, socket) =>
        void socket.write(
          'HTTP/1.1 403 No\r\ncf-mitigated: challenge\r\nserver: cloudflare\r\nContent-Length: 0\r\n\r\n',
        ),
    },
  });
  const pool = poolOf(proxies.map(({ url }) => url));
  const outcome = await engineOver(t, pool).check(`${target.origin}/guarded`);
  t.like(outcome, { verdict: 'blocked', protection: 'cloudflare' });
  t.is(proxies.flatMap(({ asked }) => asked).length, 1);
  const blocked = counted(pool).find((counts) => counts.blocked === 1)!;
  t.deepEqual([...blocked.hosts], [['127.0.0.1', { blocked: 1, failed: 0, answered: 0 }]]);
});

function at(names: { [name: string]: readonly string[] }): Lookup {
  const known: { [name: string]: readonly string[] } = { localhost: ['127.0.0.1'], ...names };
  return (name, done) => {
    const addresses = known[name];
    setImmediate(() => done(addresses === undefined ? { code: 'dns_not_found' } : { addresses, ttl_s: 60 }));
  };
}
