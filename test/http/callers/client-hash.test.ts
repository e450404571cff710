// The keyed hashes of clients' addresses: one for each subscriber, however the address is written.
import test from 'ava';
import { openClientHash } from '../../../http/callers/client-hash.ts';

const { address, site, text } = openClientHash(Buffer.from('a key of tests'));

test('an IPv4 address has one hash, in every way to write it', (t) => {
  t.is(address('::ffff:198.51.100.7'), address('198.51.100.7'));
  t.is(address('::ffff:c633:6407'), address('198.51.100.7'));
  t.not(address('::ffff:c633:6408'), address('198.51.100.7'), 'other clients of a proxy that writes them so');
});

test('the addresses of an IPv6 network (/64) have one hash', (t) => {
  t.is(address('2001:db8:1:2::1'), address('2001:0DB8:1:2:ffff:ffff:ffff:ffff'));
  t.not(address('2001:db8:1:2::1'), address('2001:db8:1:3::1'));
});

test('the networks of a site (/48) have one hash as that, and an IPv4 address has none', (t) => {
  t.is(site('2001:db8:1:2::1'), site('2001:0DB8:1:ffff::'));
  t.not(site('2001:db8:1:2::1'), site('2001:db8:2:2::1'));
  t.deepEqual([site('198.51.100.7'), site('::ffff:198.51.100.7')], [null, null]);
});

test('the hash depends on the kind of the text, and on the key', (t) => {
  t.not(text('user', 'a'), text('fingerprint', 'a'));
  t.not(openClientHash(Buffer.from('another key')).text('user', 'a'), text('user', 'a'));
});
