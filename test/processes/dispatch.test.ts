// The dispatcher: owners take turns, the queue stays shallow, the ceiling holds, and lost work is published again.
import test from 'ava';
import fc from 'fast-check';
import { assignPartitions, partitionOf } from '../../checkers/partitions.ts';
import type { Message } from '../../checkers/queue.ts';
import { type Members, WORK_SUBJECT, type Work, workSubjectOf } from '../../checkers/work.ts';
import { maskOf } from '../../events/url-mask.ts';
import { openDispatcher } from '../../processes/dispatch.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { silent } from '../support/stores.ts';

const LOST_AFTER_MS = 1000;

function job(id: string, owner_id: string, total_urls: number, more: Partial<JobDocument> = {}): JobDocument {
  return {
    _id: id,
    owner_id,
    owner_email: null,
    status: 'processing',
    total_urls,
    completed_urls: 0,
    credits_allocated: total_urls,
    credits_refunded: 0,
    duplicates_removed: 0,
    invalid_urls_rejected: 0,
    blocked_urls_skipped: 0,
    pause_reason: null,
    failure_reason: null,
    created_at: '2026-01-01T00:00:00.000Z',
    started_at: null,
    completed_at: null,
    source: 'api',
    filename: null,
    blob_key: null,
    batch_size: 100,
    batches_done_before: 0,
    batches_done: {},
    progress_at: '2026-01-01T00:00:00.000Z',
    revision: 0,
    position: '1',
    domains_recorded: false,
    due: null,
    ...more,
  };
}

/** A dispatcher over documents that the test changes, and a queue that the test drains. */
function dispatcherOver(
  documents: JobDocument[],
  missing: readonly string[] = [],
  options: {
    max_body_bytes?: number;
    url_chars?: number;
    damaged?: string;
    hosts?: number;
    lost_after_ms?: number;
  } = {},
) {
  const failed: string[] = [];
  /** What goes wrong now: the queue takes messages and its answer is lost, or it takes none, or the log does not answer. */
  const faults = { lost_ack: false, refused: false, log_away: false, queue_away: false };
  const lost = { times: 0 };
  const away = () => Object.assign(new Error('away'), { code: 'unavailable' });
  const published: Message[] = [];
  const sent: { subject: string; work: Work }[] = [];
  let waiting = 0;
  let now = 0;
  let view = 0;
  const members = new Set<string>();
  const queue = {
    publish: async (subject: string, messages: readonly Message[]) => {
      if (faults.refused) throw away();
      for (const { body } of messages) sent.push({ subject, work: body as Work });
      published.push(...messages);
      waiting += messages.length;
      if (faults.lost_ack) throw away();
    },
    depth: async () => waiting,
    losses: async () => {
      if (faults.queue_away) throw away();
      return lost.times;
    },
    drop: async () => {},
    broadcast: async (_subject: string, body: unknown) => {
      view = (body as Members).view;
      dispatcher.hearMembers(body as Members);
    },
    max_body_bytes: options.max_body_bytes ?? 1_000_000,
  };
  // Every look reports all documents as changed.
  const jobs = {
    find: async () => documents,
    get: async (id: string) => documents.find(({ _id }) => _id === id) ?? null,
    async *stream() {
      yield* documents;
    },
  } as never;
  const listing = {
    async range(job_id: string, from: number, to: number) {
      if (faults.log_away) throw away();
      if (job_id === options.damaged) throw new Error('the event is damaged');
      if (missing.includes(job_id)) return [];
      const hostOf = (index: number) => (options.hosts ? `h${index % options.hosts}.${job_id}` : job_id);
      const urlOf = (_: unknown, i: number) =>
        `https://${hostOf(from + i)}/${from + i}`.padEnd(options.url_chars ?? 0, 'x');
      return Array.from({ length: to - from }, urlOf);
    },
  };
  const dispatcher = openDispatcher({
    jobs,
    queue,
    listing,
    logger: silent,
    monotonic: () => now,
    lost_after_ms: options.lost_after_ms ?? LOST_AFTER_MS,
    fail: async (job_id) => failed.push(job_id),
  });
  // One of an older version: work is for anyone.
  dispatcher.hearAlive({ id: 'older', leaves: false });
  return {
    ...{ failed, faults, lost },
    hear: (job_id: string, batches: number[]) =>
      dispatcher.hear({ checker_id: 'c', jobs: [{ job_id, batches, found: 0, is_checking: true }] }),
    announce: (slots: number) => dispatcher.hearAlive({ id: 'c', leaves: false, slots }),
    /** These checkers are alive, and have let go what is not theirs. */
    alive: (...ids: string[]) => {
      if (members.size === 0) dispatcher.hearAlive({ id: 'older', leaves: true });
      for (const id of ids) {
        const known = members.has(id) ? view : 0;
        members.add(id);
        dispatcher.hearAlive({ id, leaves: false, slots: 10, has_subject: true, view: known, settled: known });
      }
    },
    leave: (id: string) => dispatcher.hearAlive({ id, leaves: true }),
    /** What was sent since the last call: the URLs by subject. */
    sent: () => {
      const by_subject = new Map<string, string[]>();
      for (const { subject, work } of sent.splice(0)) {
        const urls = by_subject.get(subject) ?? [];
        by_subject.set(subject, urls);
        urls.push(...work.ranges.flatMap(({ urls }) => urls));
      }
      return by_subject;
    },
    messages: () => published,
    pass: (options?: Parameters<typeof dispatcher.pass>[0]) => dispatcher.pass(options),
    /** The publications since the last call, as job:from-to. */
    published: () =>
      published.splice(0).flatMap(({ body }) => {
        const { job_id, ranges } = body as Work;
        return ranges.map(({ from_index, urls }) => `${job_id}:${from_index}-${from_index + urls.length}`);
      }),
    /** Checkers take this number of messages. */
    take: (n: number) => (waiting -= n),
    waiting: () => waiting,
    later: (ms: number) => (now += ms),
    inFlight: dispatcher.inFlight,
  };
}

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

const ownerAmong =
  (...ids: string[]) =>
  (url: string) =>
    workSubjectOf(assignPartitions(ids)[partitionOf(new URL(url).hostname)]!);

test('each checker gets the URLs of its hosts, in large messages', async (t) => {
  const world = dispatcherOver([job('a', 'alice', 1000)], [], { hosts: 200 });
  const { pass, alive, sent, messages } = world;
  alive('c1', 'c2', 'c3', 'c4');
  await pass();
  t.is(sent().size, 0, 'nobody before all of them know of each other');
  alive('c1', 'c2', 'c3', 'c4');
  await pass();
  const by_subject = sent();
  const ownerOf = ownerAmong('c1', 'c2', 'c3', 'c4');
  t.is(by_subject.size, 4);
  for (const [subject, urls] of by_subject) t.true(urls.every((url) => ownerOf(url) === subject));
  const all = [...by_subject.values()].flat();
  t.is(all.length, 1000);
  t.is(new Set(all).size, 1000);
  t.true(messages().length <= 14, `${messages().length} messages`);
  t.true(messages().every(({ body }) => (body as Work).view! > 0));
});

test('a lone checker gets messages as before, whole batches each', async (t) => {
  const { pass, alive, sent, published } = dispatcherOver([job('a', 'alice', 300)], [], { hosts: 20 });
  alive('c1');
  await pass();
  t.deepEqual([...sent().keys()], [workSubjectOf('c1')]);
  t.deepEqual(published(), ['a:0-100', 'a:100-200', 'a:200-300']);
});

test('hosts of a new checker are sent to it when the former one has let them go, what was sent before too', async (t) => {
  const { pass, alive, sent } = dispatcherOver([job('a', 'alice', 300)], [], { hosts: 30 });
  alive('c1');
  await pass();
  t.is(sent().get(workSubjectOf('c1'))!.length, 300);
  alive('c1', 'c2');
  await pass();
  t.is(sent().size, 0, 'c1 has not let go yet');
  alive('c1', 'c2');
  await pass();
  const again = sent();
  t.deepEqual([...again.keys()], [workSubjectOf('c2')]);
  const ownerOf = ownerAmong('c1', 'c2');
  t.true(again.get(workSubjectOf('c2'))!.every((url) => ownerOf(url) === workSubjectOf('c2')));
  t.true(again.get(workSubjectOf('c2'))!.length > 60);
});

test('what a checker had that leaves or falls silent goes to the others, and only what the log lacks', async (t) => {
  const one = job('a', 'alice', 300);
  const { pass, alive, leave, sent, later, take, waiting } = dispatcherOver([one], [], { hosts: 30 });
  for (let n = 0; n < 2; n++) {
    alive('c1', 'c2', 'c3');
    await pass();
  }
  take(waiting());
  const before = sent();
  const total = [...before.values()].flat().length;
  t.is(total, 300);
  leave('c3');
  await pass();
  for (let n = 0; n < 4; n++) {
    alive('c1', 'c2');
    await pass();
    take(waiting());
  }
  const moved = [...sent().values()].flat();
  for (const url of before.get(workSubjectOf('c3'))!) t.true(moved.includes(url), url);
  one.batches_done = { 0: 100, 1: 100 };
  for (let n = 0; n < 6; n++) {
    later(1000);
    alive('c1');
    await pass();
  }
  const isOpen = (url: string) => Number(new URL(url).pathname.slice(1)) >= 200;
  const rest = sent().get(workSubjectOf('c1'))!;
  t.true(rest.every(isOpen));
  for (const url of before.get(workSubjectOf('c2'))!.filter(isOpen)) t.true(rest.includes(url), url);
});

test('beside checkers of an older version all work is for anyone', async (t) => {
  const documents = [job('a', 'alice', 100)];
  const world = dispatcherOver(documents, [], { hosts: 30 });
  const { pass, alive, sent, leave } = world;
  alive('c1');
  world.announce(10);
  await pass();
  t.deepEqual([...sent().keys()], [WORK_SUBJECT]);
  leave('c');
  await pass();
  t.deepEqual([...sent().keys()], [workSubjectOf('c1')], 'and again for its checker once they are gone');
});
