// Jobs that fail: for want of progress, by a clock that the test holds, or by a batch that nobody can record.
import test from 'ava';
import { WORK_SUBJECT, type Work } from '../../checkers/work.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { BEGINNING } from '../../events/event-store.ts';
import { NO_PROGRESS_MS, watchProgress } from '../../processes/progress.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { FOUND, openBehind } from '../support/behind.ts';
import { startTestService, type TestClient } from '../support/service.ts';
import { commandContext, silent } from '../support/stores.ts';

const MINUTE = 60_000;

/** Nobody asks for them here. */
const urlsOf = (count: number) => Array.from({ length: count }, (_, i) => `http://127.0.0.1:9/${i}`);
const submit = async (client: TestClient, urls: readonly string[]): Promise<string> =>
  (await client.upload(urls.join('\n'))).body.job_id;
const remove = (client: TestClient, job_id: string) => client.ask('DELETE', `/jobs/${job_id}`);
const jobOf = async (client: TestClient, job_id: string) => (await client.ask('GET', `/jobs/${job_id}`)).body;
const balanceOf = async (client: TestClient) => (await client.ask('GET', '/users/me/credits')).body.credit_balance;

test('a job without progress for fifteen minutes fails, and deleting it refunds its unused credits once', async (t) => {
  // Nobody works here but the test, which holds the clock.
  const still = await startTestService({ ROLES: 'http,projector' });
  const behind = await openBehind(still.data_dir);
  try {
    const alice = await still.client('failer');
    const urls = urlsOf(100);
    const [job_id, other] = [await submit(alice, urls), await submit(alice, urls)];
    const { log, documents } = behind;
    for (const batch of [0, 1]) {
      const from_index = batch * 10;
      const range = {
        job_id,
        batch,

        from_index,
        urls: urls.slice(from_index, from_index + 10),
      };
      await recordChecks(log, range, Array(10).fill(FOUND), commandContext());
    }
    const readmodels = openReadModels(documents);
    const job_commands = openJobs(log);
    let elapsed_ms = 0;
    const progress = watchProgress({
      log,
      job_commands,
      logger: silent,
      context: () => commandContext(),
      monotonic: () => elapsed_ms,
    });
    /** A checker says all the time that it checks a batch of the job, and finds nothing. */
    const standFor = async (ms: number) => {
      for (const until = elapsed_ms + ms; elapsed_ms < until; ) {
        elapsed_ms += 5000;
        const standing = [job_id, other].map((id) => ({ job_id: id, batches: [2], found: 0, is_checking: true }));
        progress.observe({ checker_id: 'c', jobs: standing });
        await progress.pass();
      }
      t.true(await readmodels.passed(await log.head(), 5000));
    };
    await standFor(NO_PROGRESS_MS - MINUTE);
    t.is((await jobOf(alice, job_id)).status, 'processing');
    await standFor(2 * MINUTE);
    const failed = await jobOf(alice, job_id);
    t.like(failed, { status: 'failed', failure_reason: 'no_progress', completed_urls: 20, credits_refunded: 0 });
    t.truthy(failed.completed_at);
    const refused = await alice.ask('POST', `/jobs/${job_id}/resume`);
    t.deepEqual([refused.status, refused.body.details], [409, { status: 'failed', legal: ['delete'] }]);

    // What a checker finds now is nobody's.
    const late = { job_id, batch: 2, from_index: 20, urls: urls.slice(20, 25) };
    await recordChecks(log, late, Array(5).fill(FOUND), commandContext());
    t.is(await balanceOf(alice), 100);
    const answers = await Promise.all(Array.from({ length: 5 }, () => remove(alice, job_id)));
    t.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404, 404, 404]);
    t.is(await balanceOf(alice), 180);
    const { body } = await alice.ask('POST', '/jobs/bulk-delete', { job_ids: [other, job_id] });
    t.deepEqual([body.deleted, body.errors[0].job_id], [[other], job_id]);
    t.is(await balanceOf(alice), 280);
  } finally {
    await behind.close();
    await still.stop();
  }
});

test('a job fails when every checker abandons one of its batches', async (t) => {
  const undispatched = await startTestService({ ROLES: 'http,projector,checker' });
  const behind = await openBehind(undispatched.data_dir);
  try {
    const alice = await undispatched.client('let-down');
    const urls = urlsOf(40);
    const job_id = await submit(alice, urls);
    // No event can tell of it.
    const ranges = [{ batch: 0, from_index: -1, urls: urls.slice(1, 2) }];
    const work: Work = { owner_id: 'let-down', job_id, revision: 0, position: BEGINNING, ranges };
    await behind.queue.publish(WORK_SUBJECT, [{ id: 'bad', body: work }]);
    t.like(await alice.ended(job_id), { status: 'failed', failure_reason: 'batch_undeliverable', completed_urls: 0 });
    t.is((await remove(alice, job_id)).status, 200);
    t.is(await balanceOf(alice), 300);
  } finally {
    await behind.close();
    await undispatched.stop();
  }
});
