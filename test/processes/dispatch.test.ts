// The dispatcher: owners take turns, the queue stays shallow, the ceiling holds, and lost work is published again.
import test from 'ava';
import type { Work } from '../../checkers/work.ts';
import { maskOf } from '../../events/url-mask.ts';
import { dispatcherOver, job, LOST_AFTER_MS } from '../support/dispatching.ts';

test('owners take turns, and so do the jobs of one owner', async (t) => {
  const { pass, published } = dispatcherOver([job('a1', 'alice', 300), job('a2', 'alice', 100), job('b1', 'bob', 200)]);
  await pass();
  t.deepEqual(published(), ['a1:0-100', 'b1:0-100', 'a2:0-100', 'b1:100-200', 'a1:100-200', 'a1:200-300']);
});

test('a job whose listing is damaged holds up no other, and fails in the end', async (t) => {
  const documents = [job('a', 'alice', 100), job('b', 'bob', 200)];
  const { pass, published, later, failed } = dispatcherOver(documents, [], { damaged: 'a' });
  for (let n = 0; n < 2; n++) {
    await pass();
    t.deepEqual(published(), ['b:0-100', 'b:100-200']);
    t.deepEqual(failed, []);
    later(LOST_AFTER_MS + 1);
  }
  await pass();
  t.deepEqual(failed, ['a']);
});

test('the dispatcher fills the queue to its depth and no further, however large the job', async (t) => {
  const large = dispatcherOver([job('a', 'alice', 1_000_000)]);
  t.deepEqual(await large.pass(), { more: true });
  const depth = large.waiting();
  t.true(depth > 0 && depth <= 64);
  t.deepEqual(await large.pass(), { more: true });
  t.is(large.waiting(), depth, 'nothing is added to a full queue');
  large.take(3);
  large.published();
  await large.pass();
  t.is(large.published().length, 3);
});

test('the dispatcher reports how many URLs of each job are published and not done', async (t) => {
  const [one, two] = [job('a', 'alice', 250), job('b', 'bob', 30)];
  const { pass, inFlight } = dispatcherOver([one, two, job('c', 'carol', 0)]);
  await pass();
  t.deepEqual(inFlight().urls_by_job, { a: 250, b: 30 });
  one.batches_done = { 1: 100 };
  await pass();
  t.deepEqual(inFlight().urls_by_job, { a: 150, b: 30 });
  two.status = 'cancelled';
  await pass();
  t.deepEqual(inFlight().urls_by_job, { a: 150 });
});

test('after a flip the dispatcher reads all processing jobs, and drops those that have ended', async (t) => {
  const documents = [job('gone', 'alice', 1_000_000)];
  const { pass, published, take } = dispatcherOver(documents);
  await pass();
  take(published().length);
  documents.splice(0, 1, job('mended', 'bob', 100));
  await pass({ has_moved: false });
  t.true(published().every((one) => one.startsWith('gone:')));
  take(64);
  await pass({ has_moved: false, has_flipped: true });
  t.deepEqual(published(), ['mended:0-100']);
});

test('a job that arrives while a large one runs is published on the next pass', async (t) => {
  const documents = [job('large', 'alice', 1_000_000)];
  const { pass, published, take } = dispatcherOver(documents);
  await pass();
  published();
  documents.push(job('small', 'bob', 10, { batch_size: 10 }));
  take(4);
  await pass();
  t.true(published().includes('small:0-10'));
});

test('the dispatcher publishes only paid URLs, and after more credits the rest of the batch', async (t) => {
  const one = job('a', 'alice', 300, { credits_allocated: 150 });
  const { pass, published } = dispatcherOver([one]);
  await pass();
  t.deepEqual(published(), ['a:0-100', 'a:100-150']);
  one.credits_allocated = 300;
  await pass();
  t.deepEqual(published(), ['a:200-300'], 'the batch at the ceiling is in hand');
  one.batches_done = { 1: 50 };
  await pass();
  t.deepEqual(published(), ['a:150-200']);
});

test('a new dispatcher does not publish completed batches again', async (t) => {
  const { pass, published } = dispatcherOver([
    job('a', 'alice', 500, { batches_done_before: 1, batches_done: { 3: 100 } }),
  ]);
  await pass();
  t.deepEqual(published(), ['a:100-200', 'a:200-300', 'a:400-500']);
});

test('a batch that lacks results for too long is published again', async (t) => {
  const { pass, published, later } = dispatcherOver([job('a', 'alice', 100)]);
  await pass();
  published();
  later(LOST_AFTER_MS);
  await pass();
  t.deepEqual(published(), []);
  later(1);
  await pass();
  t.deepEqual(published(), ['a:0-100']);
});

test('a job without its listing delays no other job', async (t) => {
  const { pass, published } = dispatcherOver([job('gone', 'alice', 100), job('b', 'bob', 100)], ['gone']);
  await pass();
  t.deepEqual(published(), ['b:0-100']);
});

test('a job that was paused and resumed since the last pass is published again, because checkers dropped its messages', async (t) => {
  const one = job('a', 'alice', 300);
  const { pass, published } = dispatcherOver([one]);
  await pass();
  t.deepEqual(published(), ['a:0-100', 'a:100-200', 'a:200-300']);
  one.batches_done = { 1: 100 };
  one.revision = 2;
  await pass();
  t.deepEqual(published(), ['a:0-100', 'a:200-300']);
});

test('a batch that a checker works on never counts as lost, however long it takes', async (t) => {
  const { pass, published, later, hear } = dispatcherOver([job('a', 'alice', 100)]);
  await pass();
  published();
  for (let n = 0; n < 10; n++) {
    later(LOST_AFTER_MS);
    hear('a', [0]);
    await pass();
  }
  t.deepEqual(published(), []);
  later(LOST_AFTER_MS + 1);
  await pass();
  t.deepEqual(published(), ['a:0-100']);
});

test('a message that is published again has a new id', async (t) => {
  const ids = new Set<string>();
  const documents = [job('a', 'alice', 100)];
  for (let dispatchers = 0; dispatchers < 2; dispatchers++) {
    const { pass, later, messages } = dispatcherOver(documents);
    for (let n = 0; n < 3; n++) {
      await pass();
      later(LOST_AFTER_MS + 1);
    }
    for (const { id } of messages()) ids.add(id);
  }
  t.is(ids.size, 5, 'the first ones of both are the same: the queue drops the second');
});

test('small batches of a job share a message, and large ones do not', async (t) => {
  const small = dispatcherOver([job('a', 'alice', 250, { batch_size: 10 })]);
  await small.pass();
  t.deepEqual(
    small.messages().map(({ body }) => (body as Work).ranges.length),
    [10, 10, 5],
  );
});

test('a batch that is larger than a message is published in parts', async (t) => {
  const { pass, messages, published } = dispatcherOver([job('a', 'alice', 100)], [], {
    max_body_bytes: 10_000,
    url_chars: 150,
  });
  await pass();
  t.true(messages().every(({ body }) => JSON.stringify(body).length <= 10_000));
  const parts = published().map((part) => part.slice(2).split('-').map(Number));
  t.true(parts.length > 1);
  t.deepEqual([0, ...parts.map(([, to]) => to)], [...parts.map(([from]) => from), 100]);
});

test('the dispatcher fails a job whose listing stays absent, after several passes', async (t) => {
  const { pass, later, failed } = dispatcherOver([job('gone', 'alice', 100)], ['gone']);
  for (let n = 0; n < 2; n++) {
    await pass();
    t.deepEqual(failed, []);
    later(LOST_AFTER_MS + 1);
  }
  await pass();
  t.deepEqual(failed, ['gone']);
});

test('the URLs of a batch that are known are not held, whichever these are', async (t) => {
  const one = job('a', 'alice', 100);
  const { pass, inFlight, published } = dispatcherOver([one]);
  await pass();
  published();
  one.batches_done = { 0: maskOf(Array.from({ length: 98 }, (_, n) => n + 1)) };
  await pass();
  t.deepEqual(inFlight().urls_by_job, { a: 2 });
  t.is(inFlight().batches, 1);
  one.batches_done = {};
  one.batches_done_before = 1;
  await pass();
  t.is(inFlight().urls, 0);
  t.deepEqual(published(), []);
});

test('the unknown URLs of a lost batch are published again, and the message tells the checker to ask the log', async (t) => {
  const one = job('a', 'alice', 100);
  const { pass, messages, published, later } = dispatcherOver([one]);
  await pass();
  t.is((messages()[0]!.body as Work).ranges[0]!.is_begun, undefined);
  published();
  one.batches_done = { 0: maskOf([0, 1, 3, 99]) };
  later(LOST_AFTER_MS + 1);
  await pass();
  t.true((messages()[0]!.body as Work).ranges[0]!.is_begun);
  t.deepEqual(published(), ['a:2-3', 'a:4-99']);
});

test('a batch that was lost before anything was known of it also tells the checker to ask the log', async (t) => {
  const { pass, messages, published, later } = dispatcherOver([job('a', 'alice', 100)]);
  await pass();
  published();
  later(LOST_AFTER_MS + 1);
  await pass();
  t.true((messages()[0]!.body as Work).ranges[0]!.is_begun);
});
