// The address guard, address by address; and in every spelling that the URL parser takes for one.
import test from 'ava';
import { createAddressGuard } from '../../../checkers/engine/addresses.ts';

const REFUSED: readonly (readonly [address: string, why: string])[] = [
  ['0.0.0.0', 'this host'],
  ['0.255.255.255', 'this network'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.0', 'carrier-grade NAT'],
  ['100.100.100.200', 'metadata'],
  ['100.127.255.255', 'carrier-grade NAT'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['168.63.129.16', 'the host of a virtual machine'],
  ['169.254.0.1', 'link-local'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'metadata of containers'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.1', 'IETF assignments'],
  ['192.0.0.192', 'metadata'],
  ['192.0.2.1', 'documentation'],
  ['192.88.99.1', '6to4 relay'],
  ['192.168.0.1', 'private'],
  ['192.168.255.255', 'private'],
  ['198.18.0.1', 'benchmarks'],
  ['198.19.255.255', 'benchmarks'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.7', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.250', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::127.0.0.1', 'IPv4-compatible'],
  ['::8.8.8.8', 'IPv4-compatible, of a public one too'],
  ['::ffff:127.0.0.1', 'mapped loopback'],
  ['::ffff:10.1.2.3', 'mapped private'],
  ['::ffff:a9fe:a9fe', 'mapped metadata'],
  ['::ffff:0:127.0.0.1', 'IPv4-translated'],
  ['64:ff9b::7f00:1', 'NAT64 of loopback'],
  ['64:ff9b::a9fe:a9fe', 'NAT64 of metadata'],
  ['64:ff9b:1::808:808', 'local NAT64'],
  ['100::1', 'discard'],
  ['100:0:0:1::1', 'discard'],
  ['2001::1', 'Teredo'],
  ['2001:0:7f00:1::', 'Teredo'],
  ['2001:10::1', 'ORCHID'],
  ['2001:20::1', 'ORCHIDv2'],
  ['2001:db8::1', 'documentation'],
  ['2002:7f00:1::', '6to4 of loopback'],
  ['2002:a00:1::1', '6to4 of private'],
  ['2002:a9fe:a9fe::', '6to4 of metadata'],
  ['2620:4f:8000::1', 'AS112'],
  ['3fff::1', 'documentation'],
  ['4000::1', 'not given out'],
  ['5f00::1', 'segment routing'],
  ['fc00::1', 'unique local'],
  ['fd00:ec2::254', 'metadata'],
  ['fdff:ffff::1', 'unique local'],
  ['fe80::1', 'link-local'],
  ['febf::1', 'link-local'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'multicast'],
  ['', 'no address'],
  ['example.com', 'no address'],
  ['1.2.3.4.5', 'no address'],
  ['fe80::1%eth0', 'link-local with a zone'],
];

const ALLOWED = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '168.63.129.15',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '2002:808:808::1',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2606:4700:4700::1111',
  '2a00:1450:4001::1',
];

for (const [address, why] of REFUSED) {
  test(`${address || 'an empty text'} is refused: ${why}`, (t) => {
    t.false(createAddressGuard([]).allows(address));
  });
}

for (const address of ALLOWED) {
  test(`${address} is allowed`, (t) => {
    t.true(createAddressGuard([]).allows(address));
  });
}

// As the WHATWG parser gives them to the guard: every one is 127.0.0.1, 169.254.169.254 or ::1 in disguise.
const SPELLINGS = [
  'http://127.1/',
  'http://127.0.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://127.0.0.1./',
  'http://%31%32%37.0.0.1/',
  'http://127。0。0。1/',
  'http://１２７.0.0.1/',
  'http://⑯⑨.254.169.254/'.replace('⑯⑨', '169'),
  'http://0xa9fea9fe/',
  'http://2852039166/',
  'http://0251.0376.0251.0376/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[0:0:0:0:0:ffff:7f00:0001]/',
  'http://[64:ff9b::169.254.169.254]/',
  'http://user:password@127.0.0.1:80/',
];

for (const url of SPELLINGS) {
  test(`${url} is refused`, (t) => {
    const { hostname } = new URL(url);
    t.false(createAddressGuard([]).allows(hostname.replace(/^\[|\]$/g, '')));
  });
}

test('excepted ranges are let through, in embedding forms too, and nothing beside them', (t) => {
  const guard = createAddressGuard(['127.0.0.0/8', 'fd00::/8', '10.1.2.3/32']);
  for (const address of ['127.0.0.1', '127.255.0.9', '::ffff:127.0.0.1', 'fd12::1', '10.1.2.3'])
    t.true(guard.allows(address));
  for (const address of ['10.1.2.4', '128.0.0.0'.replace('128', '0'), 'fc12::1', '::1']) t.false(guard.allows(address));
});

test('everything may be excepted', (t) => {
  const guard = createAddressGuard(['0.0.0.0/0', '::/0']);
  t.true(guard.allows('10.0.0.1'));
  t.true(guard.allows('::1'));
});

test('a malformed range is an error at once', (t) => {
  t.throws(() => createAddressGuard(['127.0.0.1']));
  t.throws(() => createAddressGuard(['nonsense/8']));
});
