// While no name server answers: URLs with names wait, all others go on, and no name fails.
import test, { type ExecutionContext } from 'ava';
import { DnsLookup } from '../../../checkers/engine/dns/lookup.ts';
import { createEngine, type EngineSettings, NotStarted } from '../../../checkers/engine/engine.ts';
import { type DnsServer, startDnsServer, type Zone } from '../../support/dns-server.ts';
import { startTestSite } from '../../support/test-site.ts';
import { until } from '../../support/until.ts';

const SETTINGS: EngineSettings = {
  concurrency: 8,
  per_host: 4,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};
const NAMES = Array.from({ length: 100 }, (_, i) => `h${i}.example`);

async function engineWithDns(t: ExecutionContext) {
  const zone: Zone = Object.fromEntries(NAMES.map((name) => [name, { a: ['127.0.0.1'] }]));
  zone['broken.example'] = { rcode: 'servfail' };
  const server: DnsServer = await startDnsServer(zone);
  const site = await startTestSite({ host: '0.0.0.0' });
  const told: (string | null)[] = [];
  const engine = createEngine(SETTINGS, {
    openDns: (away) => new DnsLookup({ servers: [server.address], timeout_ms: 500, away }),
    starved: (reason) => told.push(reason),
  });
  t.teardown(async () => {
    await engine.close();
    await server.close();
    await site.close();
  });
  const check = (host: string) => engine.check(`http://${host}:${site.port}/fine`);
  return { server, engine, told, check };
}

test('a hundred URLs are given back while the name server is away, and are right when it is back', async (t) => {
  const { server, engine, told, check } = await engineWithDns(t);
  server.is_away = true;
  const ends = await Promise.allSettled(NAMES.map(check));
  t.true(ends.every((end) => end.status === 'rejected' && end.reason instanceof NotStarted));
  t.deepEqual(told, ['no name server answers (127.0.0.1)']);
  t.true(engine.areNamesAway);
  server.is_away = false;
  await until(() => !engine.areNamesAway);
  t.is(told.at(-1), null);
  const outcomes = await Promise.all(NAMES.map(check));
  t.deepEqual([...new Set(outcomes.map(({ verdict, error_code }) => `${verdict} ${error_code}`))], ['ok null']);
});

test('URLs with addresses are checked while the name server is away, before and after the engine knows', async (t) => {
  const { server, engine, check } = await engineWithDns(t);
  server.is_away = true;
  const named = Promise.allSettled(NAMES.map(check));
  t.like(await check('127.0.0.1'), { verdict: 'ok', attempts: 1 });
  await named;
  t.true(engine.areNamesAway);
  t.true(engine.free > 0);
  t.like(await check('127.0.0.2'), { verdict: 'ok', attempts: 1 });
  const late = await Promise.allSettled([check('h1.example'), check('127.0.0.3')]);
  t.true(late[0]!.status === 'rejected' && late[0].reason instanceof NotStarted);
  t.is(late[1]!.status, 'fulfilled');
});

for (const fails of ['servfail', 'refused'] as const) {
  test(`URLs are given back while the name server says ${fails} to everything, and are checked correctly once it recovers`, async (t) => {
    const { server, engine, told, check } = await engineWithDns(t);
    server.fails = fails;
    const ends = await Promise.allSettled(NAMES.map(check));
    t.true(ends.every((end) => end.status === 'rejected' && end.reason instanceof NotStarted));
    t.deepEqual(told, ['the name servers fail for every name (127.0.0.1)']);
    server.fails = null;
    await until(() => !engine.areNamesAway);
    const outcomes = await Promise.all(NAMES.map(check));
    t.true(outcomes.every(({ verdict }) => verdict === 'ok'));
  });
}

const ENDINGS: readonly [how: string, end: (server: DnsServer) => void][] = [
  ['says nothing any more', (server) => (server.is_away = true)],
  ['loses its uplink', (server) => (server.fails = 'servfail')],
];
for (const [how, end] of ENDINGS) {
  test(`no name fails when the name server ${how} in the middle of a list`, async (t) => {
    const { server, engine, check } = await engineWithDns(t);
    for (const { verdict } of await Promise.all(NAMES.slice(0, 50).map(check))) t.is(verdict, 'ok');
    end(server);
    const ends = await Promise.allSettled(NAMES.slice(50).map(check));
    t.true(ends.every((one) => one.status === 'rejected' && one.reason instanceof NotStarted));
    t.true(engine.areNamesAway);
  });
}

test('a name that fails by itself has an outcome, also where the name server refuses to answer for the root', async (t) => {
  for (const refuses_root of [false, true]) {
    const { server, engine, told, check } = await engineWithDns(t);
    server.refuses_root = refuses_root;
    t.like(await check('h1.example'), { verdict: 'ok' });
    t.like(await check('broken.example'), { verdict: 'unreachable', error_code: 'dns_failed' });
    t.false(engine.areNamesAway);
    t.deepEqual(told, []);
  }
});
