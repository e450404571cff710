// Commands over several aggregates, of which another one does something in between.
import test, { type ExecutionContext } from 'ava';
import { openDeleteJob } from '../../../commands/jobs/delete-job.ts';
import { openJobs } from '../../../commands/jobs/job.ts';
import { openResumeJob } from '../../../commands/jobs/resume-job.ts';
import { type CreditsLedger, openCredits } from '../../../commands/ledger/credits.ts';
import type { JobCreated } from '../../../events/job.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const CREATED: JobCreated = {
  job_id: 'j',
  owner_id: 'alice',
  owner_email: null,
  source: 'api',
  total_urls: 10,
  batch_size: 1,
  credits_allocated: 0,
  reservation_id: 'j:0',
  duplicates_removed: 0,
  invalid_urls_rejected: 0,
  blocked_urls_skipped: 0,
  filename: null,
  blob_key: null,
};

/** A job that waits for credits, of a user who has none. */
async function waitingJob(t: ExecutionContext) {
  const { log } = await openTestStores(t);
  const [jobs, credits] = [openJobs(log), openCredits(log)];
  await jobs.run('j', { type: 'create', job: CREATED }, commandContext());
  return { jobs, credits };
}

test("a resumption after a cancellation gets a refusal with the job's status", async (t) => {
  const { jobs, credits } = await waitingJob(t);
  const overtaken: CreditsLedger = {
    ...credits,
    async run(...args) {
      await jobs.run('j', { type: 'cancel' }, commandContext());
      return credits.run(...args);
    },
  };
  t.like(await openResumeJob(jobs, overtaken)('j', commandContext()), {
    ok: false,
    refused: { code: 'illegal_transition', details: { status: 'cancelled', legal: ['delete'] } },
  });
});

test('a second deletion finds no such job', async (t) => {
  const { jobs, credits } = await waitingJob(t);
  await jobs.run('j', { type: 'cancel' }, commandContext());
  const overtaken = openDeleteJob(jobs, credits, async () => {
    await jobs.run('j', { type: 'delete' }, commandContext());
    return null;
  });
  t.like(await overtaken('j', commandContext()), { ok: false, refused: { code: 'job_not_found' } });
});

test("a deletion waits until the read model has counted the job's results", async (t) => {
  const { jobs, credits } = await waitingJob(t);
  await jobs.run('j', { type: 'cancel' }, commandContext());
  const behind = openDeleteJob(jobs, credits, async () => null);
  t.like(await behind('j', commandContext()), { ok: false, refused: { code: 'unavailable' } });
});
