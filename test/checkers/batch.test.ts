// A batch in hand, and which URLs it requests when more of it arrives.
import test from 'ava';
import { Batch } from '../../checkers/batch.ts';
import type { BatchEnd } from '../../commands/record-checks.ts';
import { FOUND, until } from '../support/behind.ts';

const NOTHING: BatchEnd = { revision: 'no_stream', to_index: 0 };

test('a batch that is delivered again during its read of the log requests only the URLs that the log lacks', async (t) => {
  const asked: string[] = [];
  const recorded: number[] = [];
  const known = Promise.withResolvers<BatchEnd>();
  const range = { batch: 0, from_index: 0, urls: ['a', 'b', 'c', 'd'] };
  const batch = new Batch(range, true, {
    async check(url) {
      asked.push(url);
      return FOUND;
    },
    async record({ from_index, urls }) {
      recorded.push(...urls.map((_url, n) => from_index + n));
      return { revision: 1, to_index: from_index + urls.length };
    },
    readEnd: () => known.promise,
  });
  batch.extend({ batch: 0, from_index: 0, urls: ['a', 'b', 'c', 'd', 'e'] });
  await batch.recordSoFar();
  known.resolve({ revision: 0, to_index: 3 });
  t.is(await batch.done, 'recorded');
  t.deepEqual(asked, ['d', 'e']);
  t.deepEqual(recorded, [3, 4]);
});

test('outcomes that arrive while a recording fails are recorded with the next one', async (t) => {
  const outcomes = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const recording = Promise.withResolvers<void>();
  let is_recording = false;
  let asked = 0;
  const batch = new Batch({ batch: 0, from_index: 0, urls: ['a'] }, false, {
    async check() {
      await outcomes[asked++]!.promise;
      return FOUND;
    },
    async record() {
      is_recording = true;
      await recording.promise;
      return NOTHING;
    },
    readEnd: async () => NOTHING,
  });
  outcomes[0]!.resolve();
  await until(() => is_recording);
  batch.extend({ batch: 0, from_index: 1, urls: ['b'] });
  let is_over = false;
  const done = batch.done.finally(() => (is_over = true));
  recording.reject(new Error('refused'));
  await new Promise(setImmediate);
  t.true(batch.is_checking);
  t.false(is_over);
  outcomes[1]!.resolve();
  await t.throwsAsync(done, { message: 'refused' });
});
