// The work in hand of a job that may have stopped before the work began.
import test from 'ava';
import { BatchesInHand } from '../../checkers/batches-in-hand.ts';
import { createRetry } from '../../checkers/retry.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import type { EventStore } from '../../events/event-store.ts';
import { until } from '../support/behind.ts';
import { manualEngine } from '../support/fake-engine.ts';
import { commandContext, openTestStores, silent } from '../support/stores.ts';

test('a job that cannot be read fails its work when the work has ended, and no earlier', async (t) => {
  const { log } = await openTestStores(t);
  let was_read = false;
  const refusing: EventStore = Object.assign(Object.create(log), {
    readStream: () => {
      was_read = true;
      throw new Error('unreadable');
    },
  });
  const untaken: unknown[] = [];
  const heard = (reason: unknown) => untaken.push(reason);
  process.on('unhandledRejection', heard);
  t.teardown(() => process.off('unhandledRejection', heard));
  const { engine, in_flight, finish } = manualEngine();
  const hands = new BatchesInHand({
    log,
    jobs: openJobs(refusing),
    engine,
    logger: silent,
    signal: new AbortController().signal,
    retry: createRetry({ logger: silent, wait: async () => {} }),
    context: () => commandContext(),
    standing: () => ({ isFor: () => true }),
    began_at: '9',
  });
  const work = { owner_id: 'alice', job_id: 'j', revision: 0, batch_size: 10, position: '1' };
  const ended = hands.work({ ...work, ranges: [{ batch: 0, from_index: 0, urls: ['http://a.example/'] }] }, false);
  await until(() => was_read);
  // An unhandled rejection would end the thread now.
  await new Promise(setImmediate);
  t.deepEqual(untaken, []);
  t.is(in_flight().length, 1);
  finish();
  await t.throwsAsync(ended, { message: 'unreadable' });
});
