// Recording what a batch found: whatever is delivered twice, late or in parts, each URL has one event, in order.
import test, { type ExecutionContext } from 'ava';
import { type Range, recordChecks } from '../../commands/record-checks.ts';
import type { URLChecked } from '../../events/checks.ts';
import { checksStream } from '../../events/streams.ts';
import { FOUND } from '../support/behind.ts';
import { commandContext, openTestStores } from '../support/stores.ts';

async function batch(t: ExecutionContext) {
  const { log } = await openTestStores(t);
  /** Batch 2 of a job, of the URLs 10 to 14: a range of it. */
  const rangeOf = (from: number, to: number): Range => ({
    job_id: 'j',
    batch: 2,
    batch_from_index: 10,
    from_index: from,
    urls: Array.from({ length: to - from }, (_, n) => `https://example.com/${from + n}`),
  });
  return {
    log,
    record(from: number, to: number, status_code = 200) {
      const range = rangeOf(from, to);
      return recordChecks(log, range, Array(range.urls.length).fill({ ...FOUND, status_code }), commandContext());
    },
    async recorded() {
      const events = await Array.fromAsync(log.readStream(checksStream('j', 2)));
      return events.map(({ data }) => [(data as URLChecked).index, (data as URLChecked).status_code]);
    },
  };
}

test('a range that was recorded stays as it is', async (t) => {
  const { record, recorded } = await batch(t);
  await record(10, 12);
  await record(10, 12, 404);
  t.deepEqual(await recorded(), [
    [10, 200],
    [11, 200],
  ]);
});

test('what another run has not recorded of a range is recorded', async (t) => {
  const { record, recorded } = await batch(t);
  await record(10, 12);
  t.is(await record(10, 15, 404), 'recorded');
  await record(12, 14);
  t.deepEqual(await recorded(), [
    [10, 200],
    [11, 200],
    [12, 404],
    [13, 404],
    [14, 404],
  ]);
});

test('a range is not recorded before the one before it', async (t) => {
  const { record, recorded } = await batch(t);
  await t.throwsAsync(record(12, 14), { message: /the range before is not recorded/ });
  t.deepEqual(await recorded(), []);
});

test('nothing is recorded of a batch that was purged', async (t) => {
  const { log, record, recorded } = await batch(t);
  await record(10, 12);
  await log.deleteStream(checksStream('j', 2));
  t.is(await record(10, 15), 'already');
  t.deepEqual(await recorded(), []);
});
