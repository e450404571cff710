// What resolv.conf says of name servers and names.
import test from 'ava';
import { candidates } from '../../../checkers/engine/dns/lookup.ts';
import { type Endpoint, parseEndpoint, parseResolvConf, type ResolvConf } from '../../../checkers/engine/dns/system.ts';

const local: Endpoint = { address: '127.0.0.1', port: 53 };
const at = (...addresses: string[]): Endpoint[] => addresses.map((address) => ({ address, port: 53 }));
const NOTHING: ResolvConf = {
  servers: [local],
  search: [],
  ndots: 1,
  timeout_ms: null,
  attempts: null,
  rotates: false,
  tcp_only: false,
};

const FILES: readonly [what: string, text: string, conf: Partial<ResolvConf>][] = [
  ['an empty file', '', {}],
  ['comments alone', '# nameserver 192.0.2.1\n; nameserver 192.0.2.2\n', {}],
  ['one server', 'nameserver 192.0.2.1\n', { servers: at('192.0.2.1') }],
  ['no line end', 'nameserver 192.0.2.1', { servers: at('192.0.2.1') }],
  [
    'several servers, in order',
    'nameserver 192.0.2.2\nnameserver 192.0.2.1\n',
    { servers: at('192.0.2.2', '192.0.2.1') },
  ],
  [
    'more servers than the system asks',
    '1234'.replace(/./g, 'nameserver 192.0.2.$&\n'),
    { servers: at('192.0.2.1', '192.0.2.2', '192.0.2.3') },
  ],
  [
    'IPv6, with a zone and without',
    'nameserver fe80::1%eth0\nnameserver ::1\n',
    { servers: at('fe80::1%eth0', '::1') },
  ],
  [
    'a server that is no address',
    'nameserver dns.example\nnameserver\nnameserver 192.0.2.1\n',
    { servers: at('192.0.2.1') },
  ],
  [
    'comments behind values',
    'nameserver 192.0.2.1 # ours\noptions ndots:2 ; so\n',
    { servers: at('192.0.2.1'), ndots: 2 },
  ],
  [
    'tabs, spaces and carriage returns',
    '  nameserver\t192.0.2.1 \r\nsearch\ta.example\r\n',
    { servers: at('192.0.2.1'), search: ['a.example'] },
  ],
  ['a search list', 'search a.example B.Example. c.example\n', { search: ['a.example', 'b.example', 'c.example'] }],
  [
    'the last of search and domain',
    'domain a.example\nsearch b.example c.example\n',
    { search: ['b.example', 'c.example'] },
  ],
  [
    'a domain after a search list',
    'search b.example c.example\ndomain a.example b.example\n',
    { search: ['a.example'] },
  ],
  ['the root as a search list', 'search .\n', {}],
  ['time-out and attempts', 'options timeout:2 attempts:4\n', { timeout_ms: 2000, attempts: 4 }],
  [
    'options of several lines',
    'options timeout:2\noptions rotate use-vc\n',
    { timeout_ms: 2000, rotates: true, tcp_only: true },
  ],
  [
    'options beyond their caps',
    'options timeout:99 attempts:99 ndots:99\n',
    { timeout_ms: 30_000, attempts: 5, ndots: 15 },
  ],
  ['options of zero', 'options timeout:0 attempts:0 ndots:0\n', { timeout_ms: 1000, attempts: 1, ndots: 0 }],
  ['options that are no numbers', 'options timeout: attempts:-1 ndots:two\n', {}],
  ['options that we do not know', 'options edns0 trust-ad single-request debug\nsortlist 192.0.2.0\n', {}],
];

for (const [what, text, conf] of FILES) {
  test(`resolv.conf with ${what}`, (t) => {
    t.deepEqual(parseResolvConf(text), { ...NOTHING, ...conf });
  });
}

test('endpoints have a port of their own or that of DNS', (t) => {
  for (const [text, address, port] of [
    ['192.0.2.1', '192.0.2.1', 53],
    ['192.0.2.1:5353', '192.0.2.1', 5353],
    ['::1', '::1', 53],
    ['[::1]', '::1', 53],
    ['[::1]:5353', '::1', 5353],
    ['fe80::1%eth0', 'fe80::1%eth0', 53],
  ] as const)
    t.deepEqual(parseEndpoint(text), { address, port }, text);
});

test('a name is asked for under the search list by its dots', (t) => {
  const search = ['lan.example', 'corp.example'];
  for (const [name, ndots, names] of [
    ['box', 1, ['box.lan.example', 'box.corp.example', 'box']],
    ['box', 0, ['box']],
    ['a.box', 1, ['a.box']],
    ['a.box', 2, ['a.box', 'a.box.lan.example', 'a.box.corp.example']],
    ['box.', 1, ['box']],
    ['a.box.', 2, ['a.box']],
    ['secret.onion', 5, []],
    ['bookshop.invalid', 5, []],
    [
      `${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}.${'w'.repeat(58)}`,
      15,
      [`${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}.${'w'.repeat(58)}`],
    ],
  ] as const)
    t.deepEqual(candidates(name, { search, ndots }), names, name);
});
