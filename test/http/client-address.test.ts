import type { IncomingMessage } from 'node:http';
import test from 'ava';
import { openClientAddress } from '../../http/client-address.ts';

const from = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;
const address = openClientAddress(['10.0.0.0/8', '::1/128']);

test('it is that of the connection, without the mapping of sockets of both families', (t) => {
  t.is(address(from('203.0.113.7')), '203.0.113.7');
  t.is(address(from('::ffff:203.0.113.7')), '203.0.113.7');
  t.is(address(from('2001:db8::1')), '2001:db8::1');
});

test('what anybody says of itself is not believed', (t) => {
  t.is(address(from('203.0.113.7', { 'x-forwarded-for': '1.1.1.1', 'x-real-client-ip': '1.1.1.1' })), '203.0.113.7');
});

test('a trusted proxy is believed', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '203.0.113.7' })), '203.0.113.7');
  t.is(address(from('::ffff:10.0.0.1', { 'x-forwarded-for': '2001:db8::1' })), '2001:db8::1');
  t.is(address(from('::1', { 'x-real-client-ip': '203.0.113.7' })), '203.0.113.7');
});

test('of a chain, what came before an untrusted hop is hearsay', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '1.1.1.1, 203.0.113.7, 10.0.0.2' })), '203.0.113.7');
});

test('a proxy that names its clients does not vouch for what they sent', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '203.0.113.7', 'x-real-client-ip': '1.1.1.1' })), '203.0.113.7');
});

test('nonsense of a proxy leaves its own address', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': 'unknown' })), '10.0.0.1');
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '10.0.0.2' })), '10.0.0.1');
  t.is(address(from('10.0.0.1')), '10.0.0.1');
});
