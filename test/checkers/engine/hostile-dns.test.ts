// Name servers that fail, lie, or send what is no message at all.
import test from 'ava';
import { DnsLookup, type DnsOptions } from '../../../checkers/engine/dns/lookup.ts';
import { createEngine } from '../../../checkers/engine/engine.ts';
import type { Answer } from '../../../checkers/engine/resolver.ts';
import {
  message,
  questionOf,
  record,
  startDnsServer,
  TRUNCATED,
  writeName,
  type Zone,
} from '../../support/dns-server.ts';
import { startTestSite } from '../../support/test-site.ts';
import { until } from '../../support/until.ts';

type Reply = Answer | { code: string; ttl_s?: number };
const [A, NS, CNAME, SOA, OPT] = [1, 2, 5, 6, 41];
const ADDRESS = Buffer.from([192, 0, 2, 1]);
const own = (name: string, ttl_s = 60): Buffer => record(name, A, ttl_s, ADDRESS);
const alias = (name: string, to: string): Buffer => record(name, CNAME, 60, writeName(to));
const soa = (ttl_s: number): Buffer =>
  record(
    'example',
    SOA,
    ttl_s,
    Buffer.concat([writeName('a'), writeName('b'), Buffer.alloc(16), Buffer.from([0, 0, 0, 90])]),
  );
/** Whether a query has an EDNS record. */
const hasEdns = (query: Buffer): boolean => query.readUInt16BE(10) > 0;
const typeOf = (query: Buffer): number => query.readUInt16BE(questionOf(query).length + 8);
const FOUND = { addresses: ['192.0.2.1'], ttl_s: 60 };
const FAILED = { code: 'dns_failed' };
const NOT_FOUND = { code: 'dns_not_found' };

function patched(bytes: Buffer, at: number, byte: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= byte;
  return copy;
}

/** The right answer: an address for A, none for AAAA. */
const right = (query: Buffer): Buffer => message(query, 0, typeOf(query) === A ? [own('shop.example')] : []);

/** As a router of D-Link answers EDNS (c-ares/c-ares#968). */
function misplaced(query: Buffer): Buffer {
  const bytes = message(query, 0, [record('.', OPT, 0, Buffer.alloc(0)), own('shop.example')]);
  bytes.writeUInt16BE(1, 6);
  bytes.writeUInt16BE(1, 10);
  return bytes;
}

type Answers = NonNullable<Zone[string]['answer']>;
const ROWS: readonly [what: string, answer: Answers, reply: Reply][] = [
  ['an answer with a wrong id before the right one', (q) => [patched(right(q), 0, 0xff), right(q)], FOUND],
  ['an answer to another question before the right one', (q) => [patched(right(q), 13, 1), right(q)], FOUND],
  ['a query instead of an answer, then the right one', (q) => [q, right(q)], FOUND],
  ['five bytes, then the right answer', (q) => [Buffer.from('hello'), right(q)], FOUND],
  [
    'a server that writes the name in small letters',
    (q) => [right(Buffer.from(q.toString('latin1').toLowerCase().slice(0), 'latin1').fill(q.subarray(0, 12), 0, 12))],
    FOUND,
  ],
  ['a server that does not know EDNS', (q) => [hasEdns(q) ? message(q, 1, []) : right(q)], FOUND],
  [
    'a refusal of EDNS by the header alone',
    (q) => [hasEdns(q) ? message(q, 1, [], { question: Buffer.alloc(0) }) : right(q)],
    FOUND,
  ],
  ['a refusal by the header alone', (q) => [message(q, 5, [], { question: Buffer.alloc(0) })], FAILED],
  ['a header alone without an error', (q) => [message(q, 0, [], { question: Buffer.alloc(0) })], FAILED],
  ['an alias of itself', (q) => [message(q, 0, [alias('shop.example', 'shop.example')])], FAILED],
  [
    'aliases in a loop',
    (q) => [message(q, 0, [alias('shop.example', 'b.example'), alias('b.example', 'shop.example')])],
    FAILED,
  ],
  [
    'a name that points to itself',
    (q) => [Buffer.concat([message(q, 0, [Buffer.alloc(0)]), Buffer.from([0xc0, 30, 0, 1])])],
    FAILED,
  ],
  [
    'a record that is cut off',
    (q) => [right(q).subarray(0, -2), message(q, 0, [own('shop.example').subarray(0, -2)])],
    FAILED,
  ],
  [
    'an address of three bytes beside a good one',
    (q) => [
      message(q, 0, typeOf(q) === A ? [record('shop.example', A, 60, ADDRESS.subarray(1)), own('shop.example')] : []),
    ],
    FOUND,
  ],
  [
    'an address of another name beside the right one',
    (q) => [
      message(
        q,
        0,
        typeOf(q) === A ? [record('evil.example', A, 60, Buffer.from([6, 6, 6, 6])), own('shop.example')] : [],
      ),
    ],
    FOUND,
  ],
  ['only the address of another name', (q) => [message(q, 0, [own('evil.example')])], NOT_FOUND],
  ['an answer that says no such name, with an address', (q) => [message(q, 3, [own('shop.example')])], NOT_FOUND],
  [
    'no such name, for as long as the zone says',
    (q) => [message(q, 3, [], { authority: [soa(600)] })],
    { ...NOT_FOUND, ttl_s: 90 },
  ],
  [
    'no such address, for as long as the record says',
    (q) => [message(q, 0, [], { authority: [soa(20)] })],
    { ...NOT_FOUND, ttl_s: 20 },
  ],
  [
    'a server that knows only whom to ask',
    (q) => [message(q, 0, [], { authority: [record('example', NS, 60, writeName('ns.example'))], base: 0x80_00 })],
    FAILED,
  ],
  ['nothing, by a server that neither knows nor asks others', (q) => [message(q, 0, [], { base: 0x81_00 })], FAILED],
  [
    'no such address, by a server that knows and does not ask others',
    (q) => [message(q, 0, [], { base: 0x84_00 })],
    NOT_FOUND,
  ],
  [
    'a time to live with its upper bit set',
    (q) => [message(q, 0, typeOf(q) === A ? [own('shop.example', 0xffff_ffff)] : [])],
    { ...FOUND, ttl_s: 0 },
  ],
  [
    'an alias without an address, for which the resolver asks',
    (q) => [message(q, 0, [alias('shop.example', 'edge.example')])],
    { addresses: ['192.0.2.9'], ttl_s: 60 },
  ],
  [
    'a truncated answer, and no TCP',
    (q, over) => (over === 'tcp' ? [] : [message(q, TRUNCATED, typeOf(q) === A ? [own('shop.example')] : [])]),
    FOUND,
  ],
  [
    'thousands of addresses over TCP',
    (q, over) => [
      over === 'udp'
        ? message(q, TRUNCATED, [])
        : message(q, 0, typeOf(q) === A ? Array.from({ length: 2000 }, () => own('shop.example')) : []),
    ],
    { addresses: Array.from({ length: 2000 }, () => '192.0.2.1'), ttl_s: 60 },
  ],
  ['a failure for IPv4, and no such name for IPv6', (q) => [message(q, typeOf(q) === A ? 2 : 3, [])], FAILED],
  ['no such name for IPv6, an address of IPv4', (q) => [typeOf(q) === A ? right(q) : message(q, 3, [])], FOUND],
  [
    'an address among the additional records, where EDNS is in its place',
    (q) => [hasEdns(q) && typeOf(q) === A ? misplaced(q) : right(q)],
    FOUND,
  ],
  ['a flood of answers to others', (q) => Array.from({ length: 200 }, () => patched(right(q), 0, 0xff)), FAILED],
  ['SERVFAIL, then REFUSED, then an address', failsFirst([2, 5]), FOUND],
];

function failsFirst(rcodes: readonly number[]): Answers {
  const counts = new Map<number, number>();
  return (query) => {
    const type = typeOf(query);
    const n = counts.get(type) ?? 0;
    counts.set(type, n + 1);
    return [n < rcodes.length ? message(query, rcodes[n]!, []) : right(query)];
  };
}

async function asking(
  t: { teardown(end: () => Promise<void>): void },
  zones: readonly Zone[],
  options: DnsOptions = {},
) {
  const servers = await Promise.all(zones.map((zone) => startDnsServer(zone)));
  const dns = new DnsLookup({
    servers: servers.map(({ address }) => address),
    timeout_ms: 1000,
    has_ipv6: true,
    ...options,
  });
  t.teardown(async () => {
    dns.close();
    await Promise.all(servers.map((server) => server.close()));
  });
  const ask = (name: string): Promise<Reply> => new Promise((resolve) => dns.lookup(name, resolve));
  return { servers, dns, ask };
}

for (const [what, answer, reply] of ROWS) {
  test(`${what}: ${'code' in reply ? reply.code : 'found'}`, async (t) => {
    const edge = { a: ['192.0.2.9'] };
    const { ask } = await asking(t, [
      { 'shop.example': { answer }, 'edge.example': edge, 'fine.example': { a: ['192.0.2.5'] } },
    ]);
    const [shop, fine] = await Promise.all([ask('shop.example'), ask('fine.example')]);
    t.deepEqual(shop, reply);
    t.deepEqual(fine, { addresses: ['192.0.2.5'], ttl_s: 60 }, 'other names are not concerned');
  });
}

const FINE: Zone = { 'shop.example': { a: ['192.0.2.1'] } };
const SECOND: readonly [what: string, first: Zone][] = [
  ['fails', { 'shop.example': { rcode: 'servfail' } }],
  ['refuses', { 'shop.example': { rcode: 'refused' } }],
  ['is silent', { 'shop.example': { silent: ['a', 'aaaa'] } }],
  ['sends rubbish', { 'shop.example': { answer: () => [Buffer.alloc(40, 7)] } }],
  ['has an empty answer for every name', { 'shop.example': {} }],
];
for (const [what, first] of SECOND) {
  test(`the second name server is asked when the first one ${what}`, async (t) => {
    const { ask, servers } = await asking(t, [first, FINE]);
    t.deepEqual(await ask('shop.example'), FOUND);
    t.true(servers[0]!.asked.length > 0);
  });
}

test('the second name server is asked when nobody listens at the first address', async (t) => {
  const gone = await startDnsServer({});
  await gone.close();
  const server = await startDnsServer(FINE);
  const dns = new DnsLookup({ servers: [gone.address, server.address] });
  t.teardown(async () => {
    dns.close();
    await server.close();
  });
  t.deepEqual(await new Promise<Reply>((resolve) => dns.lookup('shop.example', resolve)), FOUND);
});

test('while no name server answers, names wait, and are answered when one does', async (t) => {
  const said: (string | null)[] = [];
  const { ask, servers } = await asking(t, [FINE], { away: (reason) => said.push(reason) });
  servers[0]!.is_away = true;
  const replies = Promise.all([ask('shop.example'), ask('gone.example')]);
  await until(() => said.length === 1);
  t.is(said[0], 'no name server answers (127.0.0.1)');
  servers[0]!.is_away = false;
  t.deepEqual(await replies, [FOUND, NOT_FOUND]);
  t.is(said[1], null);
});

test('a name that alone is never answered fails, though nothing else is asked', async (t) => {
  const said: unknown[] = [];
  const zone: Zone = { 'shop.example': { silent: ['a', 'aaaa'] } };
  const { ask } = await asking(t, [zone], { away: (reason) => said.push(reason) });
  t.deepEqual(await ask('shop.example'), FAILED);
  t.deepEqual(said, []);
});

const SETTINGS = {
  concurrency: 4,
  per_host: 4,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};

test('names that are never answered take no slot', async (t) => {
  const silent = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`s${i}.example`, { silent: ['a', 'aaaa'] as const }]),
  );
  const { dns } = await asking(t, [{ ...silent, 'shop.example': { a: ['127.0.0.1'] } }], { timeout_ms: 30_000 });
  const site = await startTestSite();
  const engine = createEngine({ ...SETTINGS, concurrency: 1 }, { lookup: dns.lookup });
  t.teardown(() => site.close());
  const stuck = Promise.allSettled(Object.keys(silent).map((name) => engine.check(`http://${name}/`)));
  t.like(await engine.check(`http://shop.example:${site.port}/fine`), { verdict: 'ok', attempts: 1 });
  t.is(engine.running, 0);
  t.true(engine.free > 0);
  await engine.close();
  t.true((await stuck).every(({ status }) => status === 'rejected'));
});

test('the time that a name takes is not that of the attempt', async (t) => {
  const site = await startTestSite();
  let skipped_ms = 0;
  const held: (() => void)[] = [];
  const lookup: DnsLookup['lookup'] = (_name, done) =>
    void held.push(() => done({ addresses: ['127.0.0.1'], ttl_s: 60 }));
  const engine = createEngine(SETTINGS, { lookup, now: () => performance.now() + skipped_ms });
  t.teardown(() => site.close());
  const check = engine.check(`http://shop.example:${site.port}/fine`);
  await until(() => held.length === 1);
  skipped_ms = 10_000;
  // Time for a sweep, which would end a request that is late.
  await new Promise((resolve) => setTimeout(resolve, 500));
  held[0]!();
  const outcome = await check;
  t.like(outcome, { verdict: 'ok', attempts: 1 });
  t.true(outcome.response_time_ms! < 10_000);
  await engine.close();
});
