// Shortages of the machine reduce the number of requests for a while, and never become an outcome.
import test from 'ava';
import { createEngine } from '../../../checkers/engine/engine.ts';
import { errorCodeOf, isShortage } from '../../../checkers/engine/errors.ts';
import { Room } from '../../../checkers/engine/room.ts';
import { until } from '../../support/behind.ts';
import { SETTINGS } from '../../support/engine-settings.ts';
import { startTestSite } from '../../support/test-site.ts';

const errorOf = (code: string, address?: string) => Object.assign(new Error(code), { code, address });

test('a shortage halves the number of requests that run, and successes restore it', (t) => {
  const room = new Room(64);
  t.false(room.isShort);
  room.failed(0, 40, 10);
  t.is(room.limit, 20);
  t.false(room.mayStart(0, 10), 'not at once');
  t.true(room.mayStart(19, 100));
  t.false(room.mayStart(20, 100));
  for (let i = 0; i < 2000; i++) room.succeeded(200);
  t.false(room.isShort);
  t.is(room.limit, 64);
});

test('a request from before a lower limit does not lower it again', (t) => {
  const room = new Room(64);
  room.failed(0, 40, 10);
  for (let running = 39; running > 0; running--) room.failed(5, running, 11);
  t.is(room.limit, 20);
});

test('without room for a single request the retries come ever later', (t) => {
  const room = new Room(64);
  let now = 0;
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    room.failed(now, 0, now);
    const failed_at = now;
    while (!room.mayStart(0, now)) now += 50;
    waits.push(now - failed_at);
  }
  t.deepEqual(waits, [100, 200, 400, 800, 1600, 2000, 2000, 2000]);
  t.is(room.limit, 1);
  let has_room = false;
  const look = (at: number) => room.look(at, () => has_room);
  t.deepEqual([look(9_999), look(10_000), look(10_001)], [null, 'starved', null]);
  has_room = true;
  t.is(look(10_002), 'recovered');
  t.true(room.mayStart(0, 10_002));
});

test('the engine distinguishes local shortages from failures of the URL', (t) => {
  for (const code of ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL'])
    t.true(isShortage(errorOf(code)), code);
  for (const code of ['ECONNREFUSED', 'ETIMEDOUT', 'ECONNRESET']) t.false(isShortage(errorOf(code)), code);
  t.true(isShortage(new AggregateError([errorOf('EMFILE'), errorOf('EMFILE')])));
  const mixed = new AggregateError([errorOf('EADDRNOTAVAIL', '2001:db8::1'), errorOf('ECONNREFUSED', '192.0.2.1')]);
  t.false(isShortage(mixed));
  t.is(errorCodeOf(mixed, false), 'connection_refused');
});

test('during a lasting shortage the checker returns its batches and logs it, and it recovers by itself', async (t) => {
  const site = await startTestSite();
  let now = 0;
  let lacks = true;
  const said: (string | null)[] = [];
  const engine = createEngine(SETTINGS, {
    now: () => now,
    lookup: (_name, done) =>
      setImmediate(() => done(lacks ? { code: 'shortage' } : { addresses: ['127.0.0.1'], ttl_s: 60 })),
    starved: (reason) => said.push(reason),
  });
  t.teardown(async () => {
    await engine.close();
    await site.close();
  });
  const check = (name: string) => engine.check(`http://${name}.example:${site.port}/fine`);
  const checks = Promise.allSettled(Array.from('abcdefgh', check));
  await until(() => {
    now += 500;
    return said.length > 0;
  });
  for (const end of await checks) t.is(end.status === 'rejected' && end.reason.code, 'not_started');
  t.is(engine.backlog, 0);
  await until(() => said.length === 2);
  t.is(said[1], null);
  t.true(engine.free > 0);
  lacks = false;
  now += 5000;
  t.like(await check('z'), { verdict: 'ok', attempts: 1 });
});
