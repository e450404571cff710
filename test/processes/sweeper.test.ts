// The sweeper takes back half-made jobs, which can then no longer continue.

import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openJobs } from '../../commands/jobs/job.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { creditsStream, urlsStream } from '../../events/streams.ts';
import { openRemovals } from '../../processes/removals.ts';
import { type SweeperOptions, sweeper } from '../../processes/sweeper.ts';
import { pending } from '../../readmodels/jobs/pending.ts';
import { openReadModels, type ReadModels } from '../../readmodels/read-models.ts';
import { passesOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project } from '../support/stores.ts';

const MINUTE = 60_000;

/** A job with a listing and a reservation, whose process ended before it created the job. */
async function abandoned(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  const grant = {
    type: 'grant',
    transaction_type: 'purchase',
    reference_id: 'p',
    amount: 10,
    expires_at: null,
  } as const;
  await credits.run('alice', grant, commandContext());
  const job_id = randomUUID();
  let create: (() => Promise<unknown>) | null = null;
  const dying = {
    ...job_commands,
    run: ((...args: Parameters<typeof job_commands.run>) => {
      create ??= () => job_commands.run(...args);
      return Promise.reject(new Error('killed'));
    }) as typeof job_commands.run,
  };
  const submission = {
    job_id,
    owner_id: 'alice',
    owner_email: null,
    source: 'api' as const,
    filename: null,
    blob_key: null,
    needs_credits: true,
    counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
    pages: (async function* () {
      yield { urls: ['https://example.com/a', 'https://example.com/b'] };
    })(),
  };
  await t.throwsAsync(openSubmitJob(log, dying, credits)(submission, commandContext()), { message: 'killed' });
  await project(stores);
  const deleted: string[] = [];
  let elapsed_ms = 0;
  let wall_ms = Date.now();
  const of = {
    log,
    job_commands,
    credits,
    blobs: { delete: async (key: string) => void deleted.push(key) },
    removals: openRemovals(),
    context: () => commandContext(wall_ms),
  };
  const sweeping = passesOf(sweeper(of), openReadModels(documents), {
    monotonic: () => elapsed_ms,
    now: () => wall_ms,
  });
  await sweeping.pass();
  /** The time since the sweeper began. */
  const sweepAt = async (ms: number) => {
    elapsed_ms = ms;
    await project(stores);
    await sweeping.pass();
  };
  const step = (ms: number) => (wall_ms += ms);
  const balance = async () => (await credits.aggregate.read(creditsStream('alice'))).state.balance;
  const listed = async () => (await Array.fromAsync(log.readStream(urlsStream(job_id)))).length;
  const left = async () => {
    await project(stores);
    return openReadModels(documents).collection(pending).count({});
  };
  return { job_id, deleted, sweepAt, step, balance, listed, left, create: () => create!() };
}

test('the sweeper releases a reservation without a job after ten minutes, and deletes its listing and its files after an hour', async (t) => {
  const { job_id, deleted, sweepAt, balance, listed, left } = await abandoned(t);
  await sweepAt(9 * MINUTE);
  t.is(await balance(), 8);
  await sweepAt(11 * MINUTE);
  t.is(await balance(), 10);
  t.is(await listed(), 1);
  t.deepEqual(deleted, []);
  await sweepAt(61 * MINUTE);
  t.is(await listed(), 0);
  t.deepEqual(deleted, [`uploads/${job_id}`, `left-out/${job_id}`]);
  await sweepAt(62 * MINUTE);
  t.is(await balance(), 10, 'it is released once');
  t.is(await left(), 0, 'nothing is left to look at');
});

test('a step that fails holds up no other', async (t) => {
  const [first, second] = ['first', 'second'].map((job_id) => ({
    ...{ _id: `reservation:${job_id}:0`, kind: 'reservation' as const, id: `${job_id}:0`, since: '' },
    ...{ first: 'credits-alice', second: `job-${job_id}` },
  }));
  const asked: string[] = [];
  let elapsed_ms = 0;
  const of = {
    job_commands: {
      async run(job_id: string) {
        asked.push(job_id);
        if (job_id === 'first') throw new Error('the event is damaged');
        return { ok: true, state: { reservations: new Map([['second:0', 'used']]) } };
      },
    },
    context: () => commandContext(),
  } as unknown as SweeperOptions;
  const readmodels = { collection: () => ({ find: async () => [first, second] }) } as unknown as ReadModels;
  const sweeping = passesOf(sweeper(of), readmodels, { monotonic: () => elapsed_ms });
  await sweeping.pass();
  elapsed_ms = 11 * MINUTE;
  await t.throwsAsync(sweeping.pass(), { message: 'the event is damaged' });
  t.deepEqual(asked, ['first', 'second']);
});

test('a job whose reservation was released can no longer be created', async (t) => {
  const { sweepAt, create } = await abandoned(t);
  await sweepAt(11 * MINUTE);
  t.like(await create(), { ok: false, refused: { code: 'reservation_voided' } });
});

test('a job that is created late, but before the sweep, keeps its credits', async (t) => {
  const { sweepAt, balance, listed, create } = await abandoned(t);
  t.like(await create(), { ok: true });
  await sweepAt(90 * MINUTE);
  t.is(await balance(), 8);
  t.is(await listed(), 1);
});

test('a step of the clock releases no reservation in use, and delays no abandoned one', async (t) => {
  const { sweepAt, step, balance, create } = await abandoned(t);
  step(30 * MINUTE);
  await sweepAt(MINUTE);
  t.is(await balance(), 8);
  step(-90 * MINUTE);
  await sweepAt(11 * MINUTE);
  t.is(await balance(), 10);
  t.like(await create(), { ok: false, refused: { code: 'reservation_voided' } });
});
