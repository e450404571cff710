// Answers of name servers whose bytes are damaged, or made to cost time.
import { isIP } from 'node:net';
import test from 'ava';
import { type Query, queryFor, readAnswer } from '../../../checkers/engine/dns/message.ts';
import { message, questionOf, record, uint16, writeName } from '../../support/dns-server.ts';

const [A, CNAME, SOA, AAAA, OPT] = [1, 5, 6, 28, 41];
const KINDS = ['found', 'none', 'missing', 'failed', 'wants_no_edns', 'loses_case', 'foreign'];
const query: Query = queryFor('shop.example', 'A', { edns: true, mixes_case: false });
const query6: Query = queryFor('shop.example', 'AAAA', { edns: true, mixes_case: false });
const v4 = Buffer.from([192, 0, 2, 1]);

const soa = record('example', SOA, 60, Buffer.concat([writeName('a'), writeName('b'), Buffer.alloc(20)]));
const SEEDS: readonly [query: Query, bytes: Buffer][] = [
  [query, message(query.bytes, 0, [record('shop.example', A, 60, v4), record('shop.example', A, 60, v4)])],
  [
    query,
    message(query.bytes, 0, [record('shop.example', CNAME, 60, writeName('b.example')), record('b.example', A, 9, v4)]),
  ],
  [query, message(query.bytes, 3, [], { authority: [soa] })],
  [query, message(query.bytes, 0, [], { authority: [soa, record('.', OPT, 0, Buffer.alloc(0))] })],
  [query6, message(query6.bytes, 0, [record('shop.example', AAAA, 60, Buffer.alloc(16, 7))])],
];

/** Numbers in [0, below) that follow from a seed (xorshift). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

test('no damage to an answer throws, and what is read of it is an answer', (t) => {
  const number = numbers(40);
  const seen = new Set<string>();
  for (let i = 0; i < 30_000; i++) {
    const [asked, bytes] = SEEDS[i % SEEDS.length]!;
    let damaged = Buffer.from(bytes);
    for (let n = number(4); n >= 0; n--) damaged[2 + number(damaged.length - 2)] = number(256);
    const length = number(4);
    if (length === 0) damaged = damaged.subarray(0, number(damaged.length + 1));
    else if (length === 1) damaged = Buffer.concat([damaged, Buffer.alloc(number(64), number(256))]);
    const answer = readAnswer(damaged, asked);
    seen.add(answer.kind);
    if (!KINDS.includes(answer.kind)) t.fail(`${answer.kind}: ${damaged.toString('hex')}`);
    if (answer.kind !== 'found') continue;
    const family = asked === query ? 4 : 6;
    const { addresses, ttl_s } = answer;
    const is_sound = addresses.every((one) => isIP(one) === family) && addresses.length <= 2 && ttl_s >= 0;
    if (!is_sound) t.fail(damaged.toString('hex'));
  }
  t.deepEqual([...seen].sort(), [...KINDS].sort(), 'the damage reaches every kind of answer');
});

test('no beginning of an answer throws', (t) => {
  for (const [asked, bytes] of SEEDS)
    for (let end = 0; end < bytes.length; end++) t.true(KINDS.includes(readAnswer(bytes.subarray(0, end), asked).kind));
});

/** A record whose name is given in bytes. */
const named = (name: Buffer, data: Buffer): Buffer => Buffer.concat([name, record('', CNAME, 60, data).subarray(1)]);

/** An answer in whose first record each of so many references leads to the one before, and the last name begins at the last of them. */
function references(count: number): Buffer {
  const from = 12 + questionOf(query.bytes).length + 1 + 10;
  const data = Buffer.concat([
    writeName('end'),
    ...Array.from({ length: count - 1 }, (_, i) => uint16(0xc000 | (i === 0 ? from : from + 5 + 2 * (i - 1)))),
  ]);
  const last = uint16(0xc000 | (from + 5 + 2 * (count - 2)));
  const rest = Array.from({ length: 1000 }, () => named(last, last));
  return message(query.bytes, 0, [record('.', 99, 60, data), ...rest]);
}

test('a name has few references to others, so that an answer of thousands of names costs little', (t) => {
  t.is(readAnswer(references(64), query).kind, 'none');
  t.is(readAnswer(references(65), query).kind, 'failed');
  t.is(readAnswer(references(6000), query).kind, 'failed');
});

test('references lead back, and names are as short as they have to be', (t) => {
  const from = 12 + questionOf(query.bytes).length;
  const label = Buffer.concat([Buffer.from([63]), Buffer.alloc(63, 97)]);
  const end = Buffer.from([0]);
  for (const [what, name] of [
    ['to itself', uint16(0xc000 | from)],
    ['ahead', uint16(0xc000 | (from + 20))],
    ['past the end', uint16(0xffff)],
    ['a label of an unknown kind', Buffer.from([0x40, 0])],
    ['256 bytes', Buffer.concat([label, label, label, label, end])],
  ] as const)
    t.is(readAnswer(message(query.bytes, 0, [named(name, v4)]), query).kind, 'failed', what);
  const longest = Buffer.concat([label, label, label, Buffer.from([61]), Buffer.alloc(61, 97), end]);
  t.is(readAnswer(message(query.bytes, 0, [named(longest, writeName('a'))]), query).kind, 'none');
});
