// Work that was handed out is lost, late or stuck: it is published again, and leaves room for other jobs.
import test from 'ava';
import fc from 'fast-check';
import type { Work } from '../../checkers/work.ts';
import { maskOf } from '../../events/url-mask.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { dispatcherOver, job, LOST_AFTER_MS } from '../support/dispatching.ts';

test('a job with a few slow URLs in each batch does not fill the window', async (t) => {
  const one = job('a', 'alice', 1_000_000);
  const { pass, published, take, waiting } = dispatcherOver([one]);
  for (let batches = 0; batches < 2000; ) {
    take(waiting());
    await pass();
    const some = published();
    if (some.length === 0) return t.fail(`no batch is published after ${batches}`);
    for (const each of some) {
      const batch = Number(each.split(':')[1]!.split('-')[0]) / 100;
      one.batches_done[batch] = maskOf(Array.from({ length: 97 }, (_, n) => n + 3));
    }
    batches += some.length;
  }
  t.pass();
});

test('the window follows the slots that checkers announce', async (t) => {
  const { pass, published, take, waiting, announce } = dispatcherOver([job('slow', 'alice', 1_000_000)]);
  const fill = async () => {
    for (let urls = 0; ; ) {
      take(waiting());
      await pass();
      const some = published();
      if (some.length === 0) return urls;
      urls += some.length * 100;
    }
  };
  t.true((await fill()) < 20_000);
  announce(10_000);
  t.true((await fill()) > 30_000);
});

test('any number of slow jobs leaves room for the next one', async (t) => {
  // None of these jobs ever progresses.
  const documents = Array.from({ length: 50 }, (_, n) => job(`slow-${n}`, `owner-${n % 5}`, 1_000_000));
  const { pass, published, take, waiting } = dispatcherOver(documents);
  let urls = 0;
  for (;;) {
    take(waiting());
    await pass();
    const some = published();
    if (some.length === 0) break;
    urls += some.length * 100;
  }
  t.true(urls < 32_768);
  documents.push(job('next', 'somebody', 1000));
  await pass();
  t.true(published().includes('next:0-100'));
});

test('work that ends although its acknowledgement was lost stops no pass', async (t) => {
  const [one, other] = [job('a', 'alice', 200), job('b', 'bob', 100)];
  const { pass, published, faults } = dispatcherOver([one, other]);
  faults.lost_ack = true;
  await t.throwsAsync(pass(), { message: 'away' });
  published();
  faults.lost_ack = false;
  one.batches_done = { 0: 100, 1: 100 };
  await pass();
  t.deepEqual(published(), ['b:0-100']);
});

test('a lost batch that ends before it is published again stops no pass', async (t) => {
  const one = job('a', 'alice', 100);
  const { pass, published, later, take, waiting } = dispatcherOver([one]);
  await pass();
  published();
  later(LOST_AFTER_MS + 1);
  await pass({ has_moved: false });
  take(waiting());
  published();
  later(LOST_AFTER_MS + 1);
  // The queue is full, so that the lost batch keeps its place.
  take(-1000);
  await pass({ has_moved: false });
  take(1000);
  one.batches_done = { 0: 100 };
  await pass();
  t.deepEqual(published(), []);
});

test('whatever happens in whatever order, a pass throws only the errors of stores, and all work is published in the end', async (t) => {
  const ids = ['a', 'b', 'c'];
  const which = fc.nat(ids.length - 1);
  const finish = ({ batches_done }: JobDocument, batch: number, urls: number) =>
    (batches_done[batch] = Math.max((batches_done[batch] as number) ?? 0, urls));
  const step = fc.oneof(
    fc.record({ type: fc.constant('done' as const), which, batch: fc.nat(1), urls: fc.constantFrom(5, 10, 10) }),
    fc.record({ type: fc.constant('resume' as const), which }),
    fc.record({ type: fc.constant('fault' as const), fault: fc.constantFrom('lost_ack', 'refused', 'log_away') }),
    fc.record({ type: fc.constantFrom('pass', 'look', 'flip', 'later', 'drain') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const documents = ids.map((id, n) => job(id, n === 0 ? 'alice' : 'bob', 20, { batch_size: 10 }));
      const world = dispatcherOver(documents);
      const { faults, pass, later, take, waiting, messages } = world;
      const passSafely = (options?: Parameters<typeof pass>[0]) =>
        pass(options).catch((error: Error) => {
          if (error.message !== 'away') throw error;
        });
      for (const step of steps) {
        if ('fault' in step) faults[step.fault as keyof typeof faults] = true;
        else if (step.type === 'done') finish(documents[step.which]!, step.batch, step.urls);
        else if (step.type === 'resume') documents[step.which]!.revision++;
        else if (step.type === 'later') later(LOST_AFTER_MS + 1);
        else if (step.type === 'drain') take(waiting());
        else {
          await passSafely({ has_moved: step.type !== 'look', has_flipped: step.type === 'flip' });
          Object.assign(faults, { lost_ack: false, refused: false, log_away: false });
        }
      }
      Object.assign(faults, { lost_ack: false, refused: false, log_away: false });
      messages().splice(0);
      for (let n = 0; n < 10; n++) {
        later(LOST_AFTER_MS + 1);
        take(waiting());
        await passSafely();
        for (const { body } of messages().splice(0)) {
          const { job_id, ranges } = body as Work;
          const { batches_done } = documents.find(({ _id }) => _id === job_id)!;
          for (const { batch } of ranges) batches_done[batch] = 10;
        }
      }
      t.deepEqual(
        documents.map(({ batches_done }) => Object.values(batches_done).filter((done) => done === 10).length),
        ids.map(() => 2),
      );
    }),
    { numRuns: 300 },
  );
});

test('when the queue has lost messages, everything that no checker works on is published again at once', async (t) => {
  const { pass, published, later, hear, lost } = dispatcherOver([job('a', 'alice', 300)], [], {
    lost_after_ms: 300_000,
  });
  await pass();
  t.deepEqual(published(), ['a:0-100', 'a:100-200', 'a:200-300']);
  hear('a', [1]);
  later(2_000);
  await pass();
  t.deepEqual(published(), []);
  lost.times = 1;
  later(2_000);
  hear('a', [1]);
  for (let passes = 0; passes < 3; passes++) await pass();
  t.deepEqual(published(), ['a:0-100', 'a:200-300']);
});

test('what the queue lost counts as lost until it is published again, and a queue that is back is asked at once', async (t) => {
  const { pass, published, later, lost, faults, inFlight } = dispatcherOver([job('a', 'alice', 200)], [], {
    lost_after_ms: 300_000,
  });
  await pass();
  await pass();
  t.deepEqual(inFlight().lost, { waiting: 0, batches: 0 });
  later(2_000);
  faults.queue_away = true;
  await t.throwsAsync(pass(), { code: 'unavailable' });
  faults.queue_away = false;
  lost.times = 1;
  faults.refused = true;
  published();
  await t.throwsAsync(pass(), { code: 'unavailable' });
  t.deepEqual(inFlight().lost, { waiting: 0, batches: 2 });
  faults.refused = false;
  for (let passes = 0; passes < 3; passes++) await pass();
  t.deepEqual(published(), ['a:0-100', 'a:100-200']);
});

test('lost work that cannot be published yet is told, and forgotten with its job', async (t) => {
  const jobs = [job('a', 'alice', 200)];
  const { pass, later, lost, faults, inFlight } = dispatcherOver(jobs, [], { lost_after_ms: 300_000 });
  await pass();
  await pass();
  later(2_000);
  lost.times = 1;
  faults.log_away = true;
  await t.throwsAsync(pass(), { code: 'unavailable' });
  t.deepEqual(inFlight().lost, { waiting: 2, batches: 2 });
  jobs[0] = { ...jobs[0]!, status: 'cancelled' };
  faults.log_away = false;
  await pass();
  t.deepEqual(inFlight().lost, { waiting: 0, batches: 2 });
});

test('work that is silent for too long is published again also where the queue did not answer just then', async (t) => {
  const { pass, published, later, faults } = dispatcherOver([job('a', 'alice', 100)], [], { lost_after_ms: 60_000 });
  await pass();
  t.deepEqual(published(), ['a:0-100']);
  later(60_001);
  faults.queue_away = true;
  await t.throwsAsync(pass(), { code: 'unavailable' });
  faults.queue_away = false;
  later(2_000);
  for (let passes = 0; passes < 3; passes++) await pass();
  t.deepEqual(published(), ['a:0-100']);
});
