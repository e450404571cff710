import test from 'ava';
import { idleContract } from '../contracts/idle.ts';
import { oneQueue } from '../support/one-queue.ts';
import { openTestStores } from '../support/stores.ts';

idleContract(test, 'embedded stores', async (t) => ({
  ...(await openTestStores(t)),
  queue: await (await oneQueue(t))(),
  // Each commit to the file, also of a lease, causes one read of some microseconds.
  max_reads_per_s: 4,
}));
