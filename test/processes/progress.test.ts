// A job fails without progress only while a checker has its work in hand, by the monotonic clock and the log.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openJobs } from '../../commands/jobs/job.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import type { EventStore } from '../../events/event-store.ts';
import { jobStream } from '../../events/streams.ts';
import { NO_PROGRESS_MS, watchProgress } from '../../processes/progress.ts';
import { FOUND } from '../support/behind.ts';
import { coded, commandContext, openTestStores, silent } from '../support/stores.ts';

const SECOND = 1000;

async function standing(t: ExecutionContext) {
  const log = coded((await openTestStores(t)).log);
  const job_commands = openJobs(log);
  const job_id = randomUUID();
  const job = {
    ...{ job_id, owner_id: 'alice', owner_email: null, source: 'api' as const, total_urls: 40, batch_size: 10 },
    ...{ credits_allocated: 40, reservation_id: 'r', duplicates_removed: 0, invalid_urls_rejected: 0 },
    ...{ blocked_urls_skipped: 0, filename: null, blob_key: null },
  };
  await job_commands.run(job_id, { type: 'create', job }, commandContext());
  let now_ms = 0;
  let found = 0;
  const context = () => commandContext();
  const damaged = new Set<string>();
  const readStream: EventStore['readStream'] = (stream, options) => {
    if ([...damaged].some((id) => stream.includes(id))) throw new Error('an event of it is damaged');
    return log.readStream(stream, options);
  };
  const read = { ...log, readStream };
  const options = { log: read, job_commands: openJobs(read), logger: silent, context };
  const progress = watchProgress({ ...options, monotonic: () => now_ms });
  const say = (is_checking = true) =>
    progress.observe({ checker_id: 'c', jobs: [{ job_id, batches: [0], found, is_checking }] });
  return {
    ...{ job_id, damaged },
    say,
    progress,
    /** Runs a pass every five seconds, each after `each`. */
    async pass(ms: number, each: () => unknown) {
      for (const until = now_ms + ms; now_ms < until; ) {
        now_ms += 5 * SECOND;
        await each();
        await progress.pass();
      }
    },
    sleep: (ms: number) => (now_ms += ms),
    find: () => found++,
    record: (from: number, to: number) =>
      recordChecks(
        log,
        { job_id, batch: 0, from_index: from, urls: Array(to - from).fill('https://a.example/') },
        Array(to - from).fill(FOUND),
        commandContext(),
      ),
    status: async () => (await job_commands.aggregate.read(jobStream(job_id))).state.status,
  };
}

test('a job that no checker works on never fails', async (t) => {
  const { pass, status, say } = await standing(t);
  say();
  await pass(100 * NO_PROGRESS_MS, () => {});
  t.is(await status(), 'processing');
});

test('a job fails when a checker with its batch finds no outcome for fifteen minutes', async (t) => {
  const { pass, status, say } = await standing(t);
  await pass(NO_PROGRESS_MS - 10 * SECOND, say);
  t.is(await status(), 'processing');
  await pass(20 * SECOND, say);
  t.is(await status(), 'failed');
});

test('an outcome counts as progress before it is recorded', async (t) => {
  const { pass, status, say, find } = await standing(t);
  for (let n = 0; n < 3; n++) {
    await pass(NO_PROGRESS_MS - 10 * SECOND, say);
    find();
  }
  t.is(await status(), 'processing');
});

test('a checker that waits for the log does not count as stuck', async (t) => {
  const { pass, status, say } = await standing(t);
  await pass(3 * NO_PROGRESS_MS, () => say(false));
  t.is(await status(), 'processing');
});

test('results of another checker count as progress before any read model has them', async (t) => {
  const { pass, status, say, record } = await standing(t);
  await pass(NO_PROGRESS_MS - 10 * SECOND, say);
  await record(0, 3);
  await pass(20 * SECOND, say);
  t.is(await status(), 'processing');
  await pass(NO_PROGRESS_MS, say);
  t.is(await status(), 'failed');
});

test('time during which the processes slept does not count', async (t) => {
  const { pass, status, say, sleep } = await standing(t);
  await pass(60 * SECOND, say);
  sleep(100 * NO_PROGRESS_MS);
  await pass(60 * SECOND, say);
  t.is(await status(), 'processing');
});

test('a damaged job holds up the end of no other', async (t) => {
  const { pass, progress, status, say, damaged } = await standing(t);
  const other = randomUUID();
  damaged.add(other);
  const report = { job_id: other, batches: [0], found: 0, is_checking: true };
  await pass(2 * NO_PROGRESS_MS, () => {
    progress.observe({ checker_id: 'd', jobs: [report] });
    say();
  });
  t.is(await status(), 'failed');
});
