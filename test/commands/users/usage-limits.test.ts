// The limit of an administrator: what jobs get of it, and what their owners are told.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openJobs } from '../../../commands/jobs/job.ts';
import { openResumeJob } from '../../../commands/jobs/resume-job.ts';
import { settleJob } from '../../../commands/jobs/settle-job.ts';
import { openSubmitJob } from '../../../commands/jobs/submit-job.ts';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openAccounts } from '../../../commands/users/accounts.ts';
import { openUsageLimits } from '../../../commands/users/usage-limits.ts';
import { jobStream } from '../../../events/streams.ts';
import { balances, usageOf } from '../../../readmodels/billing/credits.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { users } from '../../../readmodels/users/users.ts';
import { coded, commandContext, openTestStores, project } from '../../support/stores.ts';

const NOVEMBER = Date.parse('2026-11-22T09:00:00.000Z');
const DECEMBER = Date.parse('2026-12-01T00:00:00.000Z');

/** A user with 1,000 credits, and what http and an administrator do with them. */
async function openWorld(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const [log, { documents }] = [coded(stores.log), stores];
  /** As another http process over the same log. */
  function process() {
    const [jobs, credits] = [openJobs(log), openCredits(log)];
    const submitJob = openSubmitJob(log, jobs, credits);
    const submit = (urls: number, { now = NOVEMBER, needs_credits = false } = {}) => {
      const submission = {
        ...{ job_id: randomUUID(), owner_id: 'alice', owner_email: null, source: 'api' as const },
        ...{ filename: null, blob_key: null, needs_credits },
        counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
        pages: (async function* () {
          yield { urls: Array.from({ length: urls }, (_, n) => `https://site.example/${n}`) };
        })(),
      };
      return submitJob(submission, commandContext(now));
    };
    return { jobs, credits, submit, resume: openResumeJob(jobs, credits), limits: openUsageLimits(credits) };
  }
  const own = process();
  const accounts = openAccounts(log, own.credits, { signup_credits: 1000, bonus_at: 'first_sight' });
  await accounts.see({ user_id: 'alice', email: null }, commandContext(NOVEMBER));
  const readmodels = openReadModels(documents);
  return {
    ...own,
    process,
    log,
    limit: (limit: number | null, now = NOVEMBER) =>
      own.limits.setLimit('alice', { limit, reason: 'abuse' }, commandContext(now)),
    /** The usage that the read model shows. */
    async used(now = NOVEMBER) {
      await project({ log, documents });
      return usageOf(await readmodels.collection(balances).get('alice'), now).credits_used;
    },
    async profile() {
      await project({ log, documents });
      return readmodels.collection(users).get('alice');
    },
  };
}

async function made(submitted: ReturnType<ReturnType<typeof openSubmitJob>>) {
  const outcome = await submitted;
  if (!outcome.ok) throw new Error(outcome.refused.message);
  return outcome.job;
}

test("a job gets what the limit leaves, and pauses with the limit's name", async (t) => {
  const { limit, submit, jobs, used, profile } = await openWorld(t);
  await limit(30);
  t.like(await made(submit(20)), { credits_allocated: 20 });
  const second = await made(submit(20));
  t.like(second, { credits_allocated: 10, ceiling: 'usage_limit' });
  const paused = await jobs.run(second.job_id, { type: 'pauseAtCeiling', credits_allocated: 10 }, commandContext());
  t.like(paused, { state: { pause_reason: 'usage_limit' } });
  const third = await made(submit(20));
  const { state } = await jobs.aggregate.read(jobStream(third.job_id));
  t.like(state, { status: 'paused', pause_reason: 'usage_limit', credits_allocated: 0 });
  t.is(await used(), 30);
  t.like(await profile(), { custom_limit: 30, jobs_created: 3 });
});

test('a job that needs a credit is refused for the limit, and for the balance', async (t) => {
  const { limit, submit } = await openWorld(t);
  await limit(0);
  t.like(await submit(5, { needs_credits: true }), { ok: false, refused: { code: 'usage_limit' } });
  await limit(null);
  await made(submit(1000));
  t.like(await submit(5, { needs_credits: true }), { ok: false, refused: { code: 'no_credits' } });
});

test('a resumption reports the limit, and continues when it is raised', async (t) => {
  const { limit, submit, resume, jobs } = await openWorld(t);
  await limit(0);
  const { job_id } = await made(submit(20));
  t.like(await resume(job_id, commandContext(NOVEMBER)), { ok: false, refused: { code: 'usage_limit' } });
  await limit(15);
  t.like(await resume(job_id, commandContext(NOVEMBER)), { ok: true, credits_added: 15, credits_allocated: 15 });
  const paused = await jobs.run(job_id, { type: 'pauseAtCeiling', credits_allocated: 15 }, commandContext());
  t.like(paused, { state: { pause_reason: 'usage_limit' } });
  await limit(null);
  t.like(await resume(job_id, commandContext(NOVEMBER)), { ok: true, credits_added: 5, credits_allocated: 20 });
});

test('the next period begins with the whole limit', async (t) => {
  const { limit, submit } = await openWorld(t);
  await limit(10);
  t.like(await made(submit(20)), { credits_allocated: 10 });
  t.like(await made(submit(20, { now: DECEMBER })), { credits_allocated: 10 });
});

test('a refund gives the limit back', async (t) => {
  const { limit, submit, jobs, credits } = await openWorld(t);
  await limit(10);
  const { job_id } = await made(submit(10));
  await jobs.run(job_id, { type: 'cancel' }, commandContext(NOVEMBER));
  const ended = { job_id, owner_id: 'alice', credits_allocated: 10, completed_urls: 4 };
  await settleJob(ended, jobs, credits, commandContext(NOVEMBER));
  t.like(await made(submit(10)), { credits_allocated: 6 });
});

test('a refund of what the last period reserved gives nothing of this one back', async (t) => {
  const { limit, submit, jobs, credits, used, process, resume } = await openWorld(t);
  await limit(10);
  const { job_id } = await made(submit(15));
  const paused = await jobs.run(job_id, { type: 'pauseAtCeiling', credits_allocated: 10 }, commandContext(NOVEMBER));
  t.true(paused.ok);
  t.like(await resume(job_id, commandContext(DECEMBER)), { ok: true, credits_added: 5 });
  t.like(await made(submit(10, { now: DECEMBER })), { credits_allocated: 5 });
  await jobs.run(job_id, { type: 'cancel' }, commandContext(DECEMBER));
  const ended = { job_id, owner_id: 'alice', credits_allocated: 15, completed_urls: 3 };
  await settleJob(ended, jobs, credits, commandContext(DECEMBER));
  t.is(await used(DECEMBER), 5, 'of 12 refunded credits, 5 were reserved in December');
  t.like(await made(process().submit(10, { now: DECEMBER })), { credits_allocated: 5 }, 'another process agrees');
  t.is(await used(DECEMBER), 10);
});

test('an administrator sets the usage of the period, and jobs count on from there', async (t) => {
  const { limit, limits, submit, used } = await openWorld(t);
  await limit(50);
  await made(submit(40));
  await limits.setUsage('alice', { usage: 5, reason: 'goodwill' }, commandContext(NOVEMBER));
  t.is(await used(), 5);
  t.like(await made(submit(60)), { credits_allocated: 45 });
  t.is(await used(), 50);
  await limits.setUsage('alice', { usage: 50, reason: 'again' }, commandContext(NOVEMBER));
  t.like(await made(submit(5)), { credits_allocated: 0, ceiling: 'usage_limit' });
  t.is(await used(DECEMBER), 0, 'a correction is of its own period');
});

test('twenty jobs at once, over two processes, get no more than the limit', async (t) => {
  const { limit, process } = await openWorld(t);
  await limit(70);
  const both = [process(), process()];
  const jobs = await Promise.all(Array.from({ length: 20 }, (_, n) => made(both[n % 2]!.submit(10))));
  t.is(
    jobs.reduce((sum, { credits_allocated }) => sum + credits_allocated, 0),
    70,
  );
  for (const { credits_allocated, ceiling } of jobs) {
    t.is(ceiling, credits_allocated < 10 ? 'usage_limit' : undefined);
  }
});

test('a reservation without a limit ends at the balance, also when more credits arrive in the same append', async (t) => {
  const { credits } = await openWorld(t);
  const grant = { type: 'grant', transaction_type: 'purchase', amount: 5, expires_at: null } as const;
  let is_done = false;
  const reservation = { reservation_id: 'r', job_id: 'j', up_to: 1_000_000 };
  const reserved = credits
    .run('alice', { type: 'reserve', ...reservation }, commandContext(NOVEMBER))
    .finally(() => (is_done = true));
  const grants: Promise<unknown>[] = [];
  while (!is_done) {
    grants.push(credits.run('alice', { ...grant, reference_id: `p-${grants.length}` }, commandContext(NOVEMBER)));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(grants);
  const outcome = await reserved;
  t.like(outcome, { ok: true, ceiling: 'credit_ceiling' });
  t.true(outcome.ok && outcome.state.balance > 0, 'there are credits by now');
});

test('limits of a user who does not exist are refused', async (t) => {
  const { limits } = await openWorld(t);
  const refused = { ok: false, refused: { code: 'user_not_found' } };
  t.like(await limits.setLimit('nobody', { limit: 1, reason: '' }, commandContext()), refused);
  t.like(await limits.setUsage('nobody', { usage: 1, reason: '' }, commandContext()), refused);
});

test('of the limits of an administrator and of the user the lower one holds, and each is removed by itself', async (t) => {
  const { submit, limits, limit, profile } = await openWorld(t);
  const own = (most: number | null) => limits.setOwn('alice', most, commandContext(NOVEMBER));
  const allocated = async (urls: number) => (await made(submit(urls))).credits_allocated;
  await limit(500);
  await own(100);
  t.is(await allocated(60), 60);
  t.is(await allocated(60), 40, 'its own');
  await own(900);
  t.is(await allocated(600), 400, 'that of the administrator');
  await limit(null);
  t.is(await allocated(300), 300);
  await own(null);
  t.is(await allocated(200), 200);
  t.like(await profile(), { custom_limit: null, spending_limit: null });
});
