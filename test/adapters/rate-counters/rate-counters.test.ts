import test from 'ava';
import { MOST_KEYS, openMemoryRate, openMemoryRates } from '../../../adapters/rate-counters/memory.ts';
import { openMongoRates } from '../../../adapters/rate-counters/mongodb.ts';
import { freePort } from '../../support/free-port.ts';

test('the memory counts each key of each window separately, until the window ends', async (t) => {
  const rates = openMemoryRates();
  const [minute, other] = [rates.open({ name: 'a', duration_s: 60 }), rates.open({ name: 'b', duration_s: 60 })];
  t.is((await minute.count('k')).used, 1);
  const { used, resets_in_ms } = await minute.count('k');
  t.is(used, 2);
  t.true(resets_in_ms > 59_000 && resets_in_ms <= 60_000);
  t.is((await minute.count('other')).used, 1);
  t.is((await other.count('k')).used, 1);
});

test('a window ends by a clock that no step of the time of day moves', async (t) => {
  let now = 1000;
  const minute = openMemoryRate({ name: 'a', duration_s: 60 }, () => now);
  t.deepEqual(await minute.count('k'), { used: 1, resets_in_ms: 60_000 });
  now += 59_999;
  t.deepEqual(await minute.count('k'), { used: 2, resets_in_ms: 1 });
  now += 1;
  t.deepEqual(await minute.count('k'), { used: 1, resets_in_ms: 60_000 });
});

test('a million addresses take bounded memory: above the limit the oldest window restarts', async (t) => {
  let now = 0;
  const minute = openMemoryRate({ name: 'a', duration_s: 60 }, () => now);
  const count = async (name: string) => (await minute.count(name)).used;
  await count('first');
  await count('second');
  for (let n = 2; n < MOST_KEYS; n++) await count(`${n}`);
  t.is(await count('first'), 2);
  await count('one more');
  t.is(await count('second'), 2);
  t.is(await count('first'), 1, 'the oldest made room');
  now += 60_000;
  t.is(await count('last'), 1);
});

test('without MongoDB a process counts alone, logs it once, and delays no later request', async (t) => {
  const warned: string[] = [];
  const log = { warn: (_: object, message: string) => void warned.push(message) };
  const rates = await openMongoRates({ url: `mongodb://127.0.0.1:${await freePort()}/?directConnection=true`, log });
  const counter = rates.open({ name: 'minute', duration_s: 60 });
  t.is((await counter.count('k')).used, 1);
  const began_ms = performance.now();
  const counts = [];
  for (let n = 0; n < 100; n++) counts.push(await counter.count('k'));
  t.true(performance.now() - began_ms < 50_000, 'a server is waited for a second, each time');
  t.deepEqual(
    counts.map(({ used }) => used),
    Array.from({ length: 100 }, (_, n) => n + 2),
  );
  t.is(warned.length, 1);
  await rates.close();
});
