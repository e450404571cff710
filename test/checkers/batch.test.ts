// A batch in hand, and which URLs it requests when more of it arrives.
import test from 'ava';
import { Batch } from '../../checkers/batch.ts';
import { NotStarted } from '../../checkers/engine/engine.ts';
import type { WorkRange } from '../../checkers/work.ts';
import { EMPTY_BATCH, type RecordedBatch } from '../../commands/jobs/record-checks.ts';
import type { Outcome } from '../../events/checks.ts';
import { FOUND, until } from '../support/behind.ts';

/** The indexes of the outcomes that a batch records. */
const indexesOf = ({ from_index }: WorkRange, outcomes: readonly (Outcome | undefined)[]) =>
  outcomes.flatMap((outcome, n) => (outcome ? [from_index + n] : []));

test('a batch that is delivered again during its read of the log requests only the URLs that the log lacks', async (t) => {
  const asked: string[] = [];
  const recorded: number[] = [];
  const known = Promise.withResolvers<RecordedBatch>();
  const range = { batch: 0, from_index: 0, urls: ['a', 'b', 'c', 'd'] };
  const batch = new Batch(range, true, {
    async check(url) {
      asked.push(url);
      return FOUND;
    },
    async record(range, outcomes) {
      recorded.push(...indexesOf(range, outcomes));
      return { revision: 1, known: new Set([0, 2, 3, ...recorded]) };
    },
    read: () => known.promise,
  });
  batch.extend({ batch: 0, from_index: 0, urls: ['a', 'b', 'c', 'd', 'e'] });
  await batch.recordSoFar();
  known.resolve({ revision: 0, known: new Set([0, 2, 3]) });
  t.is(await batch.done, 'recorded');
  t.deepEqual(asked, ['b', 'e']);
  t.deepEqual(recorded, [1, 4]);
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
      return EMPTY_BATCH;
    },
    read: async () => EMPTY_BATCH,
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

test('outcomes are recorded when they are a look old, whatever is missing before and between them', async (t) => {
  const asked = new Map<string, () => void>();
  const recorded: number[][] = [];
  const batch = new Batch({ batch: 2, from_index: 20, urls: ['a', 'b', 'c', 'd', 'e'] }, false, {
    check: (url) => new Promise((resolve) => asked.set(url, () => resolve(FOUND))),
    async record(range, outcomes) {
      recorded.push(indexesOf(range, outcomes));
      return { revision: recorded.length - 1, known: new Set(recorded.flat()) };
    },
    read: async () => EMPTY_BATCH,
  });
  const find = async (url: string) => {
    asked.get(url)!();
    await new Promise(setImmediate);
  };
  await find('b');
  await batch.recordAged();
  t.deepEqual(recorded, [], 'the next outcomes may come together with it');
  await find('d');
  await batch.recordAged();
  t.deepEqual(recorded, [[21, 23]]);
  await batch.recordAged();
  await batch.recordAged();
  t.is(recorded.length, 1, 'nothing new is found');
  for (const url of ['c', 'e', 'a']) await find(url);
  t.is(await batch.done, 'recorded');
  t.deepEqual(recorded, [
    [21, 23],
    [20, 22, 24],
  ]);
});

test('a batch asks for no URL again that another checker has recorded meanwhile', async (t) => {
  const asked: string[] = [];
  const first = Promise.withResolvers<Outcome>();
  const batch = new Batch({ batch: 0, from_index: 0, urls: ['a', 'b', 'c'] }, false, {
    check(url) {
      asked.push(url);
      if (url === 'a') return first.promise;
      return url === 'b' ? Promise.resolve(FOUND) : Promise.reject(new NotStarted());
    },
    record: async () => ({ revision: 4, known: new Set([0, 1, 2, 3]) }),
    read: async () => EMPTY_BATCH,
  });
  await new Promise(setImmediate);
  await batch.recordSoFar();
  first.resolve(FOUND);
  t.is(await batch.done, 'recorded', 'and c, which it never asked for, is no gap');
  batch.extend({ batch: 0, from_index: 0, urls: ['a', 'b', 'c', 'd'] });
  t.deepEqual(asked, ['a', 'b', 'c']);
});
