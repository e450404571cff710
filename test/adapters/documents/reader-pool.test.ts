// Threads that read for the calling thread: the pool gives up an endless read, which delays no other.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { ReadPlan } from '../../../adapters/documents/sqlite/read-plan.ts';
import { ReaderPool } from '../../../adapters/documents/sqlite/reader-pool.ts';
import { until } from '../../support/until.ts';

const READ_MS = 60_000;

async function openPool(
  t: ExecutionContext,
  options: { threads: number; read_ms?: number; idle_ms?: number },
): Promise<ReaderPool> {
  const folder = await mkdtemp(join(tmpdir(), 'reader-pool-'));
  const path = join(folder, 'documents.db');
  new DatabaseSync(path).close();
  const pool = new ReaderPool({ path, read_ms: READ_MS, ...options });
  t.teardown(async () => {
    await pool.close();
    await rm(folder, { recursive: true });
  });
  return pool;
}

const plan = (text: string, is_heavy: boolean): ReadPlan => ({
  statements: [{ text, params: [] }],
  page: null,
  is_heavy,
});
const ENDLESS = plan(
  'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c WHERE x % 1024 <> 0 OR wanted()',
  true,
);
const LIGHT = plan('SELECT 7', false);
const HEAVY = plan('SELECT 8', true);
const reason = new Error('nobody waits');

test('the pool answers light reads while heavy ones hold their threads', async (t) => {
  const pool = await openPool(t, { threads: 2 });
  const left = new AbortController();
  const endless = [1, 2, 3].map(() => pool.run(ENDLESS, left.signal));
  for (let n = 0; n < 20; n++) t.deepEqual((await pool.run(LIGHT)).values, [7]);
  left.abort(reason);
  for (const read of endless) t.is(await t.throwsAsync(read), reason);
});

test('a thread that reads nothing for a while ends, and the next read starts another', async (t) => {
  const pool = await openPool(t, { threads: 1, idle_ms: 1 });
  // The size of the cache is a connection's own, and so a thread's.
  const size = async () => (await pool.run(plan('PRAGMA cache_size', false))).values;
  await pool.run(plan('PRAGMA cache_size = 4711', false));
  await until(async () => (await size())[0] !== 4711);
  for (let n = 0; n < 20; n++) {
    t.deepEqual((await pool.run(LIGHT)).values, [7]);
    await delay(n % 4);
  }
});

test('an abandoned read ends, and its thread serves the next one', async (t) => {
  const pool = await openPool(t, { threads: 1 });
  for (let n = 0; n < 5; n++) {
    const left = new AbortController();
    const [endless, waiting] = [pool.run(ENDLESS, left.signal), pool.run(HEAVY, left.signal)];
    const next = pool.run(HEAVY);
    left.abort(reason);
    t.is(await t.throwsAsync(endless), reason);
    t.is(await t.throwsAsync(waiting), reason);
    t.deepEqual((await next).values, [8]);
  }
});

test('a statement whose read was abandoned serves the next one', async (t) => {
  const pool = await openPool(t, { threads: 1 });
  const text =
    'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT ?) SELECT count(*) FROM c WHERE wanted()';
  const counted = (most: number): ReadPlan => ({ ...HEAVY, statements: [{ text, params: [most] }] });
  const left = new AbortController();
  const endless = pool.run(counted(1e12), left.signal);
  left.abort(reason);
  t.is(await t.throwsAsync(endless), reason);
  t.deepEqual((await pool.run(counted(3))).values, [3]);
});

test('the pool does not begin an abandoned read', async (t) => {
  const pool = await openPool(t, { threads: 1 });
  t.is(await t.throwsAsync(pool.run(HEAVY, AbortSignal.abort(reason))), reason);
});

test('a read has a time limit, which includes its wait', async (t) => {
  const pool = await openPool(t, { threads: 1, read_ms: 200 });
  const reads = [pool.run(ENDLESS), pool.run(HEAVY)];
  for (const { status, reason: why } of (await Promise.allSettled(reads)) as PromiseRejectedResult[]) {
    t.like({ status, why }, { status: 'rejected', why: { code: 'read_too_slow' } });
  }
});

test('the event loop runs while threads read', async (t) => {
  const pool = await openPool(t, { threads: 2 });
  const left = new AbortController();
  const endless = pool.run(ENDLESS, left.signal);
  await pool.run(LIGHT);
  for (let turns = 0; turns < 1000; turns++) await new Promise((resolve) => setImmediate(resolve));
  left.abort(reason);
  t.is(await t.throwsAsync(endless), reason);
});

test('a wrong statement fails as it does on the calling thread', async (t) => {
  const pool = await openPool(t, { threads: 1 });
  await t.throwsAsync(pool.run(plan('SELECT nothing', false)), { message: /syntax error/ });
  await t.throwsAsync(pool.run(plan('SELECT 1 FROM gone', false)), { code: 'unavailable' });
  t.deepEqual((await pool.run(LIGHT)).values, [7]);
});

test('a closed pool ends its reads', async (t) => {
  const pool = await openPool(t, { threads: 1 });
  const reads = [pool.run(ENDLESS), pool.run(HEAVY)];
  const ended = Promise.allSettled(reads);
  await pool.close();
  for (const { status } of await ended) t.is(status, 'rejected');
  await t.throwsAsync(pool.run(LIGHT), { message: 'the documents are closed' });
});
