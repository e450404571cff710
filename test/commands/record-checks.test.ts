// Recording what a batch found: whatever is delivered twice, late or in parts, each URL has one event, in order.
import test, { type ExecutionContext } from 'ava';
import { type Range, recordChecks } from '../../commands/record-checks.ts';
import { MAX_CONTENT_TYPE_CHARS, MAX_FOUND_URL_CHARS, type URLChecked } from '../../events/checks.ts';
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

test('a run records the rest of a range that another run has recorded in part', async (t) => {
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

test('a range of more bytes than an append takes is recorded in several, its texts cut where they are too long', async (t) => {
  const { log } = await openTestStores(t);
  const urls = Array.from({ length: 100 }, (_, n) => `https://example.com/${n}`);
  const long = (chars: number) => `https://example.com/${'x'.repeat(chars)}`;
  const outcomes = urls.map((_, n) => ({
    ...FOUND,
    redirect_chain: [long(3500), long(3500)],
    final_url: long(3500),
    content_type: 'ü'.repeat(n === 0 ? 5000 : 5),
    meta_refresh: long(n === 0 ? 2 ** 20 : 10),
  }));
  const range = { job_id: 'big', batch: 0, batch_from_index: 0, from_index: 0, urls };
  t.is(await recordChecks(log, range, outcomes, commandContext()), 'recorded');
  t.is(await recordChecks(log, range, outcomes, commandContext()), 'recorded', 'the same ids are the same append');
  const events = (await Array.fromAsync(log.readStream(checksStream('big', 0)))).map(({ data }) => data as URLChecked);
  t.deepEqual(
    events.map(({ index }) => index),
    urls.map((_, n) => n),
  );
  t.is(events[0]!.meta_refresh!.length, MAX_FOUND_URL_CHARS);
  t.is(events[0]!.content_type!.length, MAX_CONTENT_TYPE_CHARS);
  t.deepEqual(events[1]!.redirect_chain, [long(3500), long(3500)]);
});

test('the largest outcome that there may be fits an append, whatever its characters', async (t) => {
  const { log } = await openTestStores(t);
  const most = '\u{fffd}'.repeat(10 * MAX_FOUND_URL_CHARS);
  const outcome = {
    ...FOUND,
    final_url: most,
    redirect_chain: Array(50).fill(most),
    content_type: '"'.repeat(10_000),
    protection: most,
    meta_refresh: most,
  };
  const urls = [0, 1].map((n) => `https://example.com/${n}${'"'.repeat(65_000)}`);
  const range = { job_id: 'most', batch: 0, batch_from_index: 0, from_index: 0, urls };
  t.is(await recordChecks(log, range, [outcome, outcome], commandContext()), 'recorded');
});
