// What stopped half-way is taken back, and can then no longer go on.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openCredits } from '../../commands/credits.ts';
import { openJobs } from '../../commands/job.ts';
import { openSubmitJob } from '../../commands/submit-job.ts';
import { creditsStream, urlsStream } from '../../events/streams.ts';
import { sweep } from '../../processes/sweeper.ts';
import { jobs } from '../../readmodels/jobs.ts';
import { pending } from '../../readmodels/pending.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { commandContext, openTestStores, project } from '../support/stores.ts';

const MINUTE = 60_000;

/** A job that was listed and whose credits were reserved, by a process that then ended. */
async function abandoned(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const { log, documents } = stores;
  const [commands, credits] = [openJobs(log), openCredits(log)];
  const began = Date.now();
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
    ...commands,
    run: ((...args: Parameters<typeof commands.run>) => {
      create ??= () => commands.run(...args);
      return Promise.reject(new Error('killed'));
    }) as typeof commands.run,
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
      yield ['https://example.com/a', 'https://example.com/b'];
    })(),
  };
  await t.throwsAsync(openSubmitJob(log, dying, credits)(submission, commandContext()), { message: 'killed' });
  const sweepAt = async (now: number) => {
    await project(stores);
    const readmodels = openReadModels(documents);
    await sweep({
      log,
      jobs: readmodels.collection(jobs),
      pending: readmodels.collection(pending),
      commands,
      credits,
      context: () => commandContext(now),
      now: () => now,
      began_at: began,
    });
  };
  const balance = async () => (await credits.aggregate.read(creditsStream('alice'))).state.balance;
  const listed = async () => (await Array.fromAsync(log.readStream(urlsStream(job_id)))).length;
  const left = async () => {
    await project(stores);
    return openReadModels(documents).collection(pending).count({});
  };
  return { job_id, began, sweepAt, balance, listed, left, create: () => create!() };
}

test('a reservation without a job event is released after ten minutes, its listing deleted after an hour', async (t) => {
  const { began, sweepAt, balance, listed, left } = await abandoned(t);
  await sweepAt(began + 9 * MINUTE);
  t.is(await balance(), 8);
  await sweepAt(began + 11 * MINUTE);
  t.is(await balance(), 10);
  t.is(await listed(), 1);
  await sweepAt(began + 61 * MINUTE);
  t.is(await listed(), 0);
  await sweepAt(began + 62 * MINUTE);
  t.is(await balance(), 10, 'it is released once');
  t.is(await left(), 0, 'nothing is left to look at');
});

test('a job whose reservation was released can no longer be created', async (t) => {
  const { began, sweepAt, create } = await abandoned(t);
  await sweepAt(began + 11 * MINUTE);
  t.like(await create(), { ok: false, refused: { code: 'reservation_voided' } });
});

test('a job that was created late, but before the sweep, keeps its credits', async (t) => {
  const { began, sweepAt, balance, listed, create } = await abandoned(t);
  t.like(await create(), { ok: true });
  await sweepAt(began + 90 * MINUTE);
  t.is(await balance(), 8);
  t.is(await listed(), 1);
});
