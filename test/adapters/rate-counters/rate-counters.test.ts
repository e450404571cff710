import test from 'ava';
import { openMemoryRates } from '../../../adapters/rate-counters/memory.ts';
import { openMongoRates } from '../../../adapters/rate-counters/mongodb.ts';
import { freePort } from '../../support/free-port.ts';

test('the memory counts each key of each window separately, until the window ends', async (t) => {
  const rates = openMemoryRates();
  const [minute, instant] = [rates.open({ name: 'a', duration_s: 60 }), rates.open({ name: 'b', duration_s: 0.05 })];
  t.is((await minute.count('k')).used, 1);
  const { used, resets_in_ms } = await minute.count('k');
  t.is(used, 2);
  t.true(resets_in_ms > 59_000 && resets_in_ms <= 60_000);
  t.is((await minute.count('other')).used, 1);
  t.is((await instant.count('k')).used, 1);
  while ((await instant.count('k')).used !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
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
