// Name servers, and firewalls before them, that know only the oldest form of a query: without EDNS, and in lower case.
import test from 'ava';
import { DnsLookup } from '../../../checkers/engine/dns/lookup.ts';
import { message, questionOf, startDnsServer, uint16 } from '../../support/dns-server.ts';

const NAME = 'shop.example';
const ADDRESS = Buffer.from([192, 0, 2, 1]);
const CNAME = 5;
type Says = (query: Buffer) => readonly Buffer[];

const typeOf = (query: Buffer) => questionOf(query).at(-3)!;
const hasEdns = (query: Buffer) => query.readUInt16BE(10) > 0;
const isMixed = (query: Buffer) => /[A-Z]/.test(questionOf(query).subarray(0, -4).toString('latin1'));
const bytesOf = (name: string) =>
  Buffer.concat(
    [...name.split('.'), ''].map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
  );
const record = (name: string, type: number, data: Buffer) =>
  Buffer.concat([bytesOf(name), uint16(type), uint16(1), Buffer.from([0, 0, 0, 60]), uint16(data.length), data]);
const has: Says = (query) => [message(query, 0, typeOf(query) === 1 ? [record(NAME, 1, ADDRESS)] : [])];
const unless = (is_new: (query: Buffer) => boolean, says: Says): Says => {
  return (query) => (is_new(query) ? says(query) : has(query));
};
const fails = (rcode: number): Says => {
  return (query) => [message(query, rcode, [])];
};
/** A chain of aliases that ends with the address. */
const chain = (length: number): Says => {
  const names = [NAME, ...Array.from({ length }, (_, i) => `a${i}.example`)];
  const aliases = names.slice(1).map((name, i) => record(names[i]!, CNAME, bytesOf(name)));
  return (query) => [
    message(query, 0, [...aliases, ...(typeOf(query) === 1 ? [record(names.at(-1)!, 1, ADDRESS)] : [])]),
  ];
};

const ROWS: readonly [what: string, answer: Says][] = [
  ['says nothing to EDNS', unless(hasEdns, () => [])],
  ['fails for EDNS', unless(hasEdns, fails(2))],
  ['refuses EDNS', unless(hasEdns, fails(5))],
  ['says nothing to upper case', unless(isMixed, () => [])],
  ['fails for upper case', unless(isMixed, fails(2))],
  ['knows no name in upper case', unless(isMixed, fails(3))],
  ['knows no address for upper case', unless(isMixed, fails(0))],
  ['tells of twenty aliases', chain(20)],
];
for (const [what, answer] of ROWS) {
  test(`the resolver finds the address at a server that ${what}`, async (t) => {
    const server = await startDnsServer({ [NAME]: { answer } });
    const dns = new DnsLookup({ servers: [server.address], has_ipv6: true, timeout_ms: 300 });
    t.teardown(async () => {
      dns.close();
      await server.close();
    });
    t.like(await new Promise((resolve) => dns.lookup(NAME, resolve)), { addresses: ['192.0.2.1'] });
  });
}

test('an alias without an address is asked for, also where the server fails for the other family', async (t) => {
  const server = await startDnsServer({
    'www.example': {
      answer: (query) =>
        typeOf(query) === 1
          ? [message(query, 0, [record('www.example', CNAME, bytesOf(NAME))])]
          : [message(query, 2, [])],
    },
    [NAME]: { a: ['192.0.2.1'] },
  });
  const dns = new DnsLookup({ servers: [server.address], has_ipv6: true });
  t.teardown(async () => {
    dns.close();
    await server.close();
  });
  t.like(await new Promise((resolve) => dns.lookup('www.example', resolve)), { addresses: ['192.0.2.1'] });
});
