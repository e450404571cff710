import test from 'ava';
import { MOST_KEYS, openMemoryRate, openMemoryRates } from '../../../adapters/rate-counters/memory.ts';
import { openMongoRates } from '../../../adapters/rate-counters/mongodb.ts';
import { freePort } from '../../support/free-port.ts';

test('the memory counts each key of each bucket separately', async (t) => {
  const rates = openMemoryRates();
  const [minute, other] = [rates.open({ name: 'a', duration_s: 60 }), rates.open({ name: 'b', duration_s: 60 })];
  t.is((await minute.count('k', 10)).used, 1);
  const { used, resets_in_ms } = await minute.count('k', 10);
  t.is(used, 2);
  t.true(resets_in_ms > 11_000 && resets_in_ms <= 12_000, String(resets_in_ms));
  t.is((await minute.count('other', 10)).used, 1);
  t.is((await other.count('k', 10)).used, 1);
});

test('room comes back evenly, by a clock that no step of the time of day moves, and never all at once', async (t) => {
  let now = 1000;
  const minute = openMemoryRate({ name: 'a', duration_s: 60 }, () => now);
  const count = () => minute.count('k', 60);
  for (let n = 1; n <= 60; n++) t.is((await count()).used, n);
  t.deepEqual(await count(), { used: 61, next_in_ms: 1000, resets_in_ms: 60_000 });
  t.is((await count()).next_in_ms, 1000, 'a refused request takes no room');
  now += 999;
  t.is((await count()).used, 61);
  now += 1;
  t.deepEqual(await count(), { used: 60, next_in_ms: 1000, resets_in_ms: 60_000 });
  t.is((await count()).used, 61);
  now += 30_000;
  for (let n = 31; n <= 60; n++) t.is((await count()).used, n);
  t.is((await count()).used, 61, 'in any minute and a half there were 60 and 31 and no more');
  now += 60_000;
  t.is((await count()).used, 1);
});

test('a million addresses take bounded memory: above the limit the least lately counted restarts', async (t) => {
  let now = 0;
  const minute = openMemoryRate({ name: 'a', duration_s: 60 }, () => now);
  const count = async (name: string) => (await minute.count(name, 1000)).used;
  await count('first');
  await count('second');
  for (let n = 2; n < MOST_KEYS; n++) await count(`${n}`);
  t.is(await count('first'), 2);
  await count('one more');
  t.is(await count('first'), 3);
  t.is(await count('second'), 1, 'the least lately counted made room');
  now += 60_000;
  t.is(await count('last'), 1);
});

test('without MongoDB a process counts alone, logs it once, and delays no later request', async (t) => {
  const warned: string[] = [];
  const log = { warn: (_: object, message: string) => void warned.push(message) };
  const rates = await openMongoRates({ url: `mongodb://127.0.0.1:${await freePort()}/?directConnection=true`, log });
  const counter = rates.open({ name: 'minute', duration_s: 60 });
  t.is((await counter.count('k', 1000)).used, 1);
  const began_ms = performance.now();
  const counts = [];
  for (let n = 0; n < 100; n++) counts.push(await counter.count('k', 1000));
  t.true(performance.now() - began_ms < 50_000, 'a server is waited for a second, each time');
  t.deepEqual(
    counts.map(({ used }) => used),
    Array.from({ length: 100 }, (_, n) => n + 2),
  );
  t.is(warned.length, 1);
  await rates.close();
});
