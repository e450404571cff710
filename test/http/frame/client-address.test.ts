import type { IncomingMessage } from 'node:http';
import test from 'ava';
import { openClientAddress } from '../../../http/frame/client-address.ts';

const from = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;
const address = openClientAddress(['10.0.0.0/8', '::1/128']);

test('the client address is the peer of the connection, as plain IPv4', (t) => {
  t.is(address(from('203.0.113.7')), '203.0.113.7');
  t.is(address(from('::ffff:203.0.113.7')), '203.0.113.7');
  t.is(address(from('2001:db8::1')), '2001:db8::1');
});

test('the service ignores forwarding headers of untrusted peers', (t) => {
  t.is(address(from('203.0.113.7', { 'x-forwarded-for': '1.1.1.1', 'x-real-client-ip': '1.1.1.1' })), '203.0.113.7');
});

test('the service trusts the address that a trusted proxy reports', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '203.0.113.7' })), '203.0.113.7');
  t.is(address(from('::ffff:10.0.0.1', { 'x-forwarded-for': '2001:db8::1' })), '2001:db8::1');
  t.is(address(from('::1', { 'x-real-client-ip': '203.0.113.7' })), '203.0.113.7');
});

test('the address that a trusted proxy reports may have a port', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '1.1.1.1, 203.0.113.7:51234' })), '203.0.113.7');
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '203.0.113.7:51234, 10.0.0.2:443' })), '203.0.113.7');
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '[2001:db8::1]:51234' })), '2001:db8::1');
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '[2001:db8::1]' })), '2001:db8::1');
  t.is(address(from('10.0.0.1', { 'x-real-client-ip': '203.0.113.7:51234' })), '203.0.113.7');
  for (const garbage of ['203.0.113.7:', ':80', '[]:80', '[203.0.113.7', '203.0.113.7:80:80', '2001:db8::1:x']) {
    t.is(address(from('10.0.0.1', { 'x-forwarded-for': garbage })), '10.0.0.1', garbage);
  }
});

test('the service ignores addresses before an untrusted hop', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '1.1.1.1, 203.0.113.7, 10.0.0.2' })), '203.0.113.7');
});

test('the service ignores X-Real-Client-IP beside X-Forwarded-For', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '203.0.113.7', 'x-real-client-ip': '1.1.1.1' })), '203.0.113.7');
});

test('a proxy that reports no address counts as the client', (t) => {
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': 'unknown' })), '10.0.0.1');
  t.is(address(from('10.0.0.1', { 'x-forwarded-for': '10.0.0.2' })), '10.0.0.1');
  t.is(address(from('10.0.0.1')), '10.0.0.1');
});
