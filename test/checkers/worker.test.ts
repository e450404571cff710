// The worker lets go of the work of jobs that stop: when it is told, and when it was not told but the log says so.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteQueue } from '../../adapters/queue/sqlite/sqlite-queue.ts';
import { STOP_SUBJECT, type Stop, WORK_SUBJECT, type Work } from '../../checkers/work.ts';
import { runWorker } from '../../checkers/worker.ts';
import { openJobs } from '../../commands/job.ts';
import type { JobCreated } from '../../events/job.ts';
import { until } from '../support/behind.ts';
import { fakeEngine } from '../support/fake-engine.ts';
import { commandContext, openTestStores, silent } from '../support/stores.ts';

/** A worker whose engine never finds anything; a job with one batch in its hand. */
async function workerWithBatch(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-worker-'));
  const queue = await openSqliteQueue({ path: join(folder, 'queue.db') });
  const { log } = await openTestStores(t);
  const jobs = openJobs(log);
  const job: JobCreated = {
    job_id: randomUUID(),
    owner_id: 'alice',
    owner_email: null,
    source: 'api',
    total_urls: 40,
    batch_size: 2,
    credits_allocated: 40,
    reservation_id: 'r',
    duplicates_removed: 0,
    invalid_urls_rejected: 0,
    blocked_urls_skipped: 0,
    filename: null,
    blob_key: null,
  };
  await jobs.run(job.job_id, { type: 'create', job }, commandContext());
  const checking = new Set<string>();
  const begun: string[] = [];
  const engine = fakeEngine({
    free: 10,
    check: (url, { signal } = {}) =>
      new Promise((_, reject) => {
        begun.push(url);
        checking.add(url);
        signal!.addEventListener('abort', () => {
          checking.delete(url);
          reject(new DOMException('aborted', 'AbortError'));
        });
      }),
  });
  const stop = new AbortController();
  const worker = runWorker({
    log,
    queue,
    engine,
    jobs: openJobs(log),
    logger: silent,
    signal: stop.signal,
    ack_wait_ms: 30_000,
    attempt_ms: 1000,
  });
  t.teardown(async () => {
    stop.abort();
    await worker;
    await queue.close();
    await rm(folder, { recursive: true, force: true });
  });
  const publish = (batch: number, revision: number) => {
    const urls = [`https://example.com/${batch}`];
    const from = batch * 2;
    const work: Work = { job_id: job.job_id, batch, batch_from_index: from, from_index: from, urls, revision };
    return queue.publish(WORK_SUBJECT, [{ id: `${batch}:${revision}`, body: work }]);
  };
  await publish(0, 0);
  await until(() => checking.size === 1);
  const change = async (type: 'pause' | 'cancel') => {
    const changed = await jobs.run(job.job_id, { type }, commandContext());
    if (!changed.ok) throw new Error(changed.refused.message);
  };
  const tell = (revision: number, drops_in_hand: boolean) =>
    queue.broadcast(STOP_SUBJECT, { job_id: job.job_id, revision, drops_in_hand } satisfies Stop);
  const idle = () => until(async () => (await queue.depth(WORK_SUBJECT)) === 0);
  return { checking, begun, publish, change, tell, idle };
}

test('told of a cancellation it drops what it has in hand, and what comes from before', async (t) => {
  const { checking, begun, publish, tell, idle } = await workerWithBatch(t);
  await tell(1, true);
  await until(() => checking.size === 0);
  await publish(1, 0);
  await idle();
  t.deepEqual(begun, ['https://example.com/0']);
});

test('told of a pause it keeps what it has in hand, drops what comes from before, and takes what is resumed', async (t) => {
  const { checking, begun, publish, tell, idle } = await workerWithBatch(t);
  await tell(1, false);
  await publish(1, 0);
  await publish(2, 2);
  await idle();
  await until(() => begun.length === 2);
  t.deepEqual([...checking], ['https://example.com/0', 'https://example.com/2']);
});

test('not told of a cancellation it finds it in the log', async (t) => {
  const { checking, begun, publish, change, idle } = await workerWithBatch(t);
  await change('cancel');
  await until(() => checking.size === 0);
  await publish(1, 0);
  await idle();
  t.deepEqual(begun, ['https://example.com/0'], 'nor does it take more of it');
});

test('as many batches as a job can have published, all of them stuck, do not keep the next one out', async (t) => {
  const { begun, publish } = await workerWithBatch(t);
  for (let batch = 1; batch <= 512; batch++) await publish(batch, 0);
  await publish(513, 0);
  await until(() => begun.length === 514);
  t.is(begun.at(-1), 'https://example.com/513');
});
