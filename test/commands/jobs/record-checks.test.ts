// Recording what a batch found: whatever is delivered twice, late or in parts, each URL is recorded once.
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { EMPTY_BATCH, type Range, readBatch, recordChecks } from '../../../commands/jobs/record-checks.ts';
import { unfold } from '../../../events/checked-range.ts';
import { MAX_CONTENT_TYPE_CHARS, MAX_FOUND_URL_CHARS, type Outcome, type URLChecked } from '../../../events/checks.ts';
import { checksStream } from '../../../events/streams.ts';
import { FAULTS, Killed, openLogGate, Unavailable } from '../../properties/log-gate.ts';
import { FOUND } from '../../support/behind.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

async function batch(t: ExecutionContext) {
  const { log } = await openTestStores(t);
  /** Batch 2 of a job, of the URLs 10 to 14: a range of it. */
  const rangeOf = (from: number, to: number): Range => ({
    job_id: 'j',
    batch: 2,

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
      const rows = events.flatMap(({ data }) => unfold(data as URLChecked, []));
      return rows.map(({ index, status_code }) => [index, status_code]);
    },
  };
}

test('a recorded range does not change', async (t) => {
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
  t.is((await record(10, 15, 404)).result, 'recorded');
  await record(12, 14);
  t.deepEqual(await recorded(), [
    [10, 200],
    [11, 200],
    [12, 404],
    [13, 404],
    [14, 404],
  ]);
});

test('a range is recorded before the one before it', async (t) => {
  const { log, record, recorded } = await batch(t);
  t.is((await record(12, 14)).result, 'recorded');
  t.is((await record(10, 15, 404)).result, 'recorded');
  t.deepEqual(await recorded(), [
    [12, 200],
    [13, 200],
    [10, 404],
    [11, 404],
    [14, 404],
  ]);
  t.deepEqual(await readBatch(log, { job_id: 'j', batch: 2 }), { revision: 1, known: new Set([12, 13, 10, 11, 14]) });
});

test('outcomes that are not known yet are left out, and recorded later at the revision that the caller knows', async (t) => {
  const { log } = await openTestStores(t);
  const range = { job_id: 'j', batch: 0, from_index: 0, urls: ['a', 'b', 'c', 'd', 'e', 'f'] };
  const found = [undefined, FOUND, undefined, undefined, FOUND, undefined];
  const first = await recordChecks(log, range, found, commandContext());
  t.deepEqual(first, { result: 'recorded', batch: { revision: 0, known: new Set([1, 4]) } });
  t.is((await recordChecks(log, range, found, commandContext(), first.batch)).result, 'already');
  const all = await recordChecks(log, range, Array(6).fill(FOUND), commandContext(), first.batch);
  t.is(all.batch.revision, 1);
  t.deepEqual([...all.batch.known].sort(), [0, 1, 2, 3, 4, 5]);
  t.is((await recordChecks(log, range, Array(6).fill(undefined), commandContext())).result, 'already');
});

test('a batch that others append to is read on from where it is known, and then takes each append at once', async (t) => {
  const { log } = await openTestStores(t);
  const calls: string[] = [];
  const watched: typeof log = {
    ...log,
    append: async (stream, expected, events) => {
      const result = await log.append(stream, expected, events);
      calls.push(result.ok ? 'appended' : 'conflict');
      return result;
    },
    readStream(stream, options) {
      calls.push(`read from ${options?.from}`);
      return log.readStream(stream, options);
    },
  };
  const range = { job_id: 'j', batch: 0, from_index: 0, urls: ['a', 'b', 'c', 'd'] };
  const only = (place: number) => range.urls.map((_, n) => (n === place ? FOUND : undefined));
  await recordChecks(log, range, only(0), commandContext());
  let { batch } = await recordChecks(watched, range, only(1), commandContext());
  await recordChecks(log, range, only(2), commandContext(), batch);
  ({ batch } = await recordChecks(watched, range, only(3), commandContext(), batch));
  t.deepEqual(calls, ['conflict', 'read from 0', 'appended', 'read from 2', 'appended']);
  t.deepEqual([...batch.known].sort(), [0, 1, 2, 3]);
});

test('a batch of a log that was restored is read whole', async (t) => {
  const { log } = await openTestStores(t);
  const range = { job_id: 'j', batch: 0, from_index: 0, urls: ['a', 'b'] };
  await recordChecks(log, range, [FOUND, undefined], commandContext());
  const lost = { revision: 4, known: new Set([0, 1]) };
  const { result, batch } = await recordChecks(log, range, [undefined, FOUND], commandContext(), {
    ...lost,
    known: new Set(),
  });
  t.is(result, 'recorded');
  t.deepEqual(batch, { revision: 1, known: new Set([0, 1]), is_shared: true });
});

test('a purged batch takes no results', async (t) => {
  const { log, record, recorded } = await batch(t);
  await record(10, 12);
  await log.deleteStream(checksStream('j', 2));
  t.is((await record(10, 15)).result, 'already');
  t.deepEqual(await recorded(), []);
});

test('a range above the limit of an append becomes several, with long texts cut', async (t) => {
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
  const range = { job_id: 'big', batch: 0, from_index: 0, urls };
  t.is((await recordChecks(log, range, outcomes, commandContext())).result, 'recorded');
  t.is(
    (await recordChecks(log, range, outcomes, commandContext())).result,
    'recorded',
    'the same ids are the same append',
  );
  const ranges = (await Array.fromAsync(log.readStream(checksStream('big', 0)))).map(({ data }) => data as URLChecked);
  t.true(ranges.length > 1);
  const events = ranges.flatMap((data) => unfold(data, urls.slice(data.from_index)));
  t.deepEqual(
    events.map(({ index }) => index),
    urls.map((_, n) => n),
  );
  t.is(events[0]!.meta_refresh!.length, MAX_FOUND_URL_CHARS);
  t.is(events[0]!.content_type!.length, MAX_CONTENT_TYPE_CHARS);
  t.deepEqual(events[1]!.redirect_chain, [long(3500), long(3500)]);
});

test('the largest possible outcome fits an append, whatever its characters', async (t) => {
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
  const range = { job_id: 'most', batch: 0, from_index: 0, urls };
  t.is((await recordChecks(log, range, [outcome, outcome], commandContext())).result, 'recorded');
});

/** A checker that records a range as workers do: again after a fault of the log. */
const attempt = async (record: () => Promise<unknown>): Promise<void> => {
  for (;;) {
    try {
      await record();
      return;
    } catch (error) {
      if (error instanceof Killed) return;
      if (!(error instanceof Unavailable)) throw error;
    }
  }
};

test('overlapping ranges of several checkers count once, whatever the fate of their appends', async (t) => {
  const { log } = await openTestStores(t);
  const BATCH_URLS = 6;
  const urls = Array.from({ length: BATCH_URLS }, (_, n) => `https://example.com/${n}`);
  // Three outcomes of this length do not fit one append.
  const long = Array(20).fill(`https://example.com/${'\u{fffd}'.repeat(8000)}`);
  const range = fc.record({
    /** Which URLs' outcomes the checker has first. */
    first: fc.array(fc.boolean(), { minLength: BATCH_URLS, maxLength: BATCH_URLS }),
    is_long: fc.boolean(),
    /** The checker then records the rest of the batch, after what it knows. */
    goes_on: fc.boolean(),
  });
  const plan = fc.record({
    picks: fc.array(fc.nat({ max: 5 }), { maxLength: 30, size: 'max' }),
    faults: fc.array(
      fc.record({ call: fc.nat(12), fault: fc.constantFrom(...FAULTS.filter((fault) => fault !== 'overtaken')) }),
      { maxLength: 6 },
    ),
  });
  let jobs_made = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(range, { minLength: 2, maxLength: 4 }), plan, async (ranges, planned) => {
      const job_id = `job-${jobs_made++}`;
      const gate = openLogGate(log, async () => {});
      const checkers = ranges.map(({ first, is_long, goes_on }, n) => async () => {
        const of = gate.open().log;
        const outcome = { ...FOUND, status_code: 200 + n, redirect_chain: is_long ? long : [] };
        let batch = EMPTY_BATCH;
        const record = async (outcomes: (Outcome | undefined)[]) => {
          const range = { job_id, batch: 0, from_index: 0, urls };
          ({ batch } = await recordChecks(of, range, outcomes, commandContext(), batch));
        };
        await attempt(() => record(first.map((is_known) => (is_known ? outcome : undefined))));
        if (goes_on) await attempt(() => record(Array(BATCH_URLS).fill(outcome)));
      });
      await gate.run(checkers, planned);
      await gate.deliverLate();
      const whole = { job_id, batch: 0, from_index: 0, urls };
      await recordChecks(log, whole, Array(BATCH_URLS).fill(FOUND), commandContext());
      const rows = (await Array.fromAsync(log.readStream(checksStream(job_id, 0)))).flatMap(({ data }) =>
        unfold(data as URLChecked, []),
      );
      t.deepEqual(
        rows.map(({ index }) => index).sort((a, b) => a - b),
        urls.map((_, n) => n),
        'each URL once',
      );
    }),
    { numRuns: 20 },
  );
});
