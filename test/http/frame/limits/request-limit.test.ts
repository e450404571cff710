// The limit of one route, of an address and of the /48 that it is of.
import test from 'ava';
import { openMemoryRates } from '../../../../adapters/rate-counters/memory.ts';
import { openRequestLimit } from '../../../../http/frame/limits/request-limit.ts';

const open = () => openRequestLimit(openMemoryRates(), { name: 'sample', subject: 'An address', most: 2 });

test('an address has a limit, an IPv6 address as its /64', async (t) => {
  const { admitAddress } = open();
  for (const ip of ['2001:db8:1:1::1', '2001:db8:1:1::2', '192.0.2.1', '::ffff:192.0.2.1']) await admitAddress(ip);
  const said = { code: 'rate_limited', message: /^An address may send 2 requests a minute\./ };
  await t.throwsAsync(admitAddress('2001:db8:1:1:ffff::3'), said);
  await t.throwsAsync(admitAddress('192.0.2.1'), said);
  await admitAddress('192.0.2.2');
});

test('a /48 may send four times as many, and what a /64 is refused does not count for it', async (t) => {
  const { admitAddress } = open();
  for (let n = 0; n < 20; n++) await admitAddress('2001:db8:1:1::1').catch(() => {});
  for (const subnet of [2, 3, 4]) for (const host of [1, 2]) await admitAddress(`2001:db8:1:${subnet}::${host}`);
  await t.throwsAsync(admitAddress('2001:db8:1:5::1'), { message: /8 requests a minute/ });
  await admitAddress('2001:db8:2:5::1');
});
