// The real resolver against a name server of the test's own, and the connections to its answers.
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { DnsLookup, type DnsOptions } from '../../../checkers/engine/dns/lookup.ts';
import { createEngine, type EngineSettings } from '../../../checkers/engine/engine.ts';
import type { Answer, Lookup } from '../../../checkers/engine/resolver.ts';
import { type DnsServer, startDnsServer, type Zone } from '../../support/dns-server.ts';
import { patientClock } from '../../support/patient-clock.ts';
import { startTestSite } from '../../support/test-site.ts';

type Reply = Answer | { code: string };
const V6 = '2001:db8:0:0:0:0:0:7';

interface Asking {
  server: DnsServer;
  lookup: Lookup;
  ask(name: string): Promise<Reply>;
}

async function nameServer(t: ExecutionContext, zone: Zone, options: DnsOptions = {}): Promise<Asking> {
  const server = await startDnsServer(zone);
  const dns = new DnsLookup({ servers: [server.address], has_ipv6: true, ...options });
  const { lookup } = dns;
  t.teardown(async () => {
    dns.close();
    await server.close();
  });
  return { server, lookup, ask: (name) => new Promise((resolve) => lookup(name, resolve)) };
}

const ROWS: readonly [what: string, zone: Zone, reply: Reply][] = [
  [
    'addresses of both families, IPv4 first',
    { a: ['192.0.2.1', '192.0.2.2'], aaaa: [V6] },
    { addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::7'], ttl_s: 60 },
  ],
  ['IPv4 alone', { a: ['192.0.2.1'] }, { addresses: ['192.0.2.1'], ttl_s: 60 }],
  ['IPv6 alone', { aaaa: [V6] }, { addresses: ['2001:db8::7'], ttl_s: 60 }],
  ['a time to live of its own', { a: ['192.0.2.1'], ttl_s: 17 }, { addresses: ['192.0.2.1'], ttl_s: 17 }],
  ['no time to live', { a: ['192.0.2.1'], ttl_s: 0 }, { addresses: ['192.0.2.1'], ttl_s: 0 }],
  ['no addresses', {}, { code: 'dns_not_found' }],
  ['no such name', { rcode: 'nxdomain' }, { code: 'dns_not_found' }],
  ['a server that fails', { rcode: 'servfail' }, { code: 'dns_failed' }],
  ['a server that refuses', { rcode: 'refused' }, { code: 'dns_failed' }],
].map(([what, entry, reply]) => [what as string, { 'shop.example': entry as Zone[string] }, reply as Reply]);

for (const [what, zone, reply] of ROWS) {
  test(`${what}: ${'code' in reply ? reply.code : reply.addresses.join(', ')}`, async (t) => {
    const { ask } = await nameServer(t, zone);
    t.deepEqual(await ask('shop.example'), reply);
  });
}

const ALONE: readonly [what: string, entry: Zone[string], reply: Reply, asked: readonly string[]][] = [
  ['both families', { a: ['192.0.2.1'], aaaa: [V6] }, { addresses: ['192.0.2.1'], ttl_s: 60 }, ['a']],
  ['IPv6 alone', { aaaa: [V6] }, { addresses: ['2001:db8::7'], ttl_s: 60 }, ['a', 'aaaa']],
  [
    'IPv4 alone, and silence for IPv6',
    { a: ['192.0.2.1'], silent: ['aaaa'] },
    { addresses: ['192.0.2.1'], ttl_s: 60 },
    ['a'],
  ],
  ['an alias', { cname: 'edge.example' }, { addresses: ['192.0.2.9'], ttl_s: 60 }, ['a']],
  ['no addresses', {}, { code: 'dns_not_found' }, ['a', 'aaaa', 'a', 'aaaa']],
  ['no such name', { rcode: 'nxdomain' }, { code: 'dns_not_found' }, ['a', 'a']],
  ['a server that fails', { rcode: 'servfail' }, { code: 'dns_failed' }, ['a', 'a', 'a']],
];
for (const [what, entry, reply, asked] of ALONE) {
  test(`a machine without IPv6 asks for ${asked.join(', ')}: ${what}`, async (t) => {
    const zone = { 'shop.example': entry, 'edge.example': { a: ['192.0.2.9'] } };
    const { ask, server } = await nameServer(t, zone, { has_ipv6: false, timeout_ms: 60_000 });
    t.deepEqual(await ask('shop.example'), reply);
    t.deepEqual(
      server.asked,
      asked.map((type) => `${type} shop.example`),
    );
  });
}

test('the resolver follows aliases of aliases, and the shortest time to live counts', async (t) => {
  const { ask, server } = await nameServer(t, {
    'www.example': { cname: 'shop.example', ttl_s: 300 },
    'shop.example': { cname: 'edge.example', ttl_s: 30 },
    'edge.example': { a: ['192.0.2.9'], ttl_s: 200 },
  });
  t.deepEqual(await ask('www.example'), { addresses: ['192.0.2.9'], ttl_s: 30 });
  // A busy machine may repeat the query, but never asks for the aliases.
  t.deepEqual([...new Set(server.asked)].toSorted(), ['a www.example', 'aaaa www.example']);
});

test('the resolver asks over TCP when an answer is too long for UDP', async (t) => {
  const many = Array.from({ length: 20 }, (_, i) => `192.0.2.${i + 1}`);
  const { ask, server } = await nameServer(t, { 'many.example': { a: many, truncated: true } });
  const reply = await ask('many.example');
  t.deepEqual('addresses' in reply ? reply.addresses.toSorted() : reply, many.toSorted());
  t.true(server.asked.includes('tcp a many.example'));
});

test('a name server that never answers for one address family does not delay the other', async (t) => {
  const { ask } = await nameServer(t, {
    'four.example': { a: ['192.0.2.1'], silent: ['aaaa'] },
    'six.example': { aaaa: [V6], silent: ['a'] },
  });
  const elapsed_ms = patientClock(t);
  t.deepEqual(await ask('four.example'), { addresses: ['192.0.2.1'], ttl_s: 60 });
  t.deepEqual(await ask('six.example'), { addresses: ['2001:db8::7'], ttl_s: 60 });
  t.true(elapsed_ms() < 6000);
});

test('a name that does not fit into a DNS message counts as absent', async (t) => {
  const { ask, server } = await nameServer(t, {});
  t.deepEqual(await ask(`${'x'.repeat(64)}.example`), { code: 'dns_not_found' });
  t.deepEqual(server.asked, []);
});

const SETTINGS: EngineSettings = {
  concurrency: 8,
  per_host: 8,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8', '::1/128', '192.0.2.0/24'],
  user_agent: 'test',
};

test('a silent name server leads to dns_failed within its own time limits', async (t) => {
  const { lookup } = await nameServer(t, { 'shop.example': { silent: ['a', 'aaaa'] } }, { timeout_ms: 200 });
  const engine = createEngine({ ...SETTINGS, timeout_ms: 600 }, { lookup });
  const elapsed_ms = patientClock(t);
  t.like(await engine.check('http://shop.example/'), { error_code: 'dns_failed', attempts: 1 });
  t.true(elapsed_ms() < 20_000);
  await engine.close();
});

test('hundreds of unanswered names do not delay a name with an answer', async (t) => {
  const zone: Zone = { 'shop.example': { a: ['127.0.0.1'] } };
  for (let i = 0; i < 300; i++) zone[`s${i}.example`] = { silent: ['a', 'aaaa'] };
  const { lookup } = await nameServer(t, zone);
  const site = await startTestSite();
  const engine = createEngine({ ...SETTINGS, concurrency: 400 }, { lookup });
  t.teardown(() => site.close());
  const stuck = Array.from({ length: 300 }, (_, i) => engine.check(`http://s${i}.example/`));
  const ends = Promise.allSettled(stuck);
  t.like(await engine.check(`http://shop.example:${site.port}/fine`), { verdict: 'ok' });
  await engine.close();
  t.true((await ends).every(({ status }) => status === 'rejected'));
});

const THIRTY_NINE_REFUSE = Array.from({ length: 39 }, (_, i) => `127.0.0.${i + 2}`);
const WAYS: readonly [what: string, listens: '127.0.0.1' | '::1', addresses: Zone[string]][] = [
  ['IPv6 refuses, IPv4 answers', '127.0.0.1', { a: ['127.0.0.1'], aaaa: ['::1'] }],
  ['IPv4 refuses, IPv6 answers', '::1', { a: ['127.0.0.1'], aaaa: ['::1'] }],
  ['the first of three refuses', '127.0.0.1', { a: ['127.0.0.2', '127.0.0.1'], aaaa: ['::1'] }],
  ['the last of forty, the others refuse', '127.0.0.1', { a: [...THIRTY_NINE_REFUSE, '127.0.0.1'] }],
  // Nobody has this address: packets to it are lost, or refused at once where there is no route.
  ['IPv4 never answers, IPv6 does', '::1', { a: ['192.0.2.1'], aaaa: ['::1'] }],
  ['the first of two never answers', '127.0.0.1', { a: ['192.0.2.1', '127.0.0.1'] }],
];
for (const [what, host, entry] of WAYS) {
  test(`the engine reaches the site over ${what}`, async (t) => {
    const { lookup } = await nameServer(t, { 'shop.example': entry });
    const site = await startTestSite({ host });
    const engine = createEngine(SETTINGS, { lookup });
    t.teardown(() => site.close());
    const outcome = await engine.check(`http://shop.example:${site.port}/fine`);
    t.like(outcome, { verdict: 'ok', attempts: 1 });
    t.true(outcome.response_time_ms! < 8000, `${outcome.response_time_ms} ms`);
    await engine.close();
  });
}

test('the outcome is connection_refused when all addresses refuse', async (t) => {
  const { lookup } = await nameServer(t, { 'shop.example': { a: ['127.0.0.1', '127.0.0.2'], aaaa: ['::1'] } });
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  const engine = createEngine(SETTINGS, { lookup });
  t.like(await engine.check(`http://shop.example:${port}/`), { error_code: 'connection_refused', attempts: 1 });
  await engine.close();
});

test('the guard refuses a name with one private address, of either family', async (t) => {
  const { lookup } = await nameServer(t, {
    'four.example': { a: ['93.184.216.34', '10.0.0.1'] },
    'six.example': { a: ['93.184.216.34'], aaaa: ['fd00:0:0:0:0:0:0:1'] },
    'alias.example': { cname: 'four.example' },
  });
  const engine = createEngine(SETTINGS, { lookup });
  for (const name of ['four', 'six', 'alias']) {
    t.like(await engine.check(`http://${name}.example/`), { error_code: 'blocked_address', attempts: 1 });
  }
  await engine.close();
});

test('a name that turns private before the connection is reached at its vetted address', async (t) => {
  const zone: Zone = { 'rebind.example': { a: ['127.0.0.1'], ttl_s: 0 } };
  const { lookup, server } = await nameServer(t, zone);
  const site = await startTestSite();
  const inside = await startTestSite({ host: '127.0.0.2' });
  // Only 127.0.0.1 is allowed: 127.0.0.2 stands for the internal network.
  let time_ms = 0;
  const engine = createEngine(
    { ...SETTINGS, allow_addresses: ['127.0.0.1/32'] },
    {
      now: () => performance.now() + time_ms,
      lookup: (name, done) =>
        lookup(name, (answer) => {
          // The name changes before the connection is made.
          zone['rebind.example'] = { a: ['127.0.0.2'], ttl_s: 0 };
          done(answer);
        }),
    },
  );
  t.teardown(() => Promise.all([site.close(), inside.close()]));
  t.like(await engine.check(`http://rebind.example:${site.port}/fine`), { verdict: 'ok' });
  t.is(site.accepted, 1);
  t.is(server.asked.length, 2);
  // After the answer has expired the name is refused, and no internal address was ever reached.
  time_ms = 60_000;
  t.like(await engine.check(`http://rebind.example:${inside.port}/fine`), { error_code: 'blocked_address' });
  t.is(inside.accepted, 0);
  await engine.close();
});

test('forbidden addresses of the hosts file are left out, and a name with no other is refused', async (t) => {
  const site = await startTestSite();
  const lookup: Lookup = (_name, done) => done({ addresses: ['::1', '127.0.0.1'], ttl_s: 60, own: true });
  const engine = createEngine({ ...SETTINGS, allow_addresses: ['127.0.0.0/8'] }, { lookup });
  const strict = createEngine({ ...SETTINGS, allow_addresses: [] }, { lookup });
  t.teardown(() => site.close());
  t.like(await engine.check(`http://box:${site.port}/fine`), { verdict: 'ok' });
  t.like(await strict.check(`http://box:${site.port}/fine`), { error_code: 'blocked_address' });
  await engine.close();
  await strict.close();
});
