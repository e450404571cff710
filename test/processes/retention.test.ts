// Results that have expired are removed from documents, log and blobs; the job, its statistics and its account stay, after any fault and
// in a replay of what the log still has.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openDomainChecks } from '../../commands/domain-checks.ts';
import { openDeleteJob } from '../../commands/jobs/delete-job.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { settleJob } from '../../commands/jobs/settle-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { batchSize } from '../../events/job.ts';
import { jobStream } from '../../events/streams.ts';
import { domainChecks } from '../../processes/domain-checks.ts';
import { ManagerRunner } from '../../processes/manager-runner.ts';
import { purging } from '../../processes/purge.ts';
import { PutOff } from '../../processes/put-off.ts';
import { openRemovals } from '../../processes/removals.ts';
import { retention } from '../../processes/retention.ts';
import { settlement } from '../../processes/settlement.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { endedJob, type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { purges } from '../../readmodels/jobs/purges.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { results } from '../../readmodels/results/results.ts';
import { jobDomains, jobResponseTimes, jobStats, noStats, summaryOf } from '../../readmodels/results/stats.ts';
import { FOUND } from '../support/behind.ts';
import { bound, dyingAt } from '../support/dying.ts';
import { fileBlobs } from '../support/file-blobs.ts';
import { assertExact } from '../support/ledger.ts';
import { passesOf, passOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project, silent } from '../support/stores.ts';
import { submitUpload } from '../support/submitted.ts';

const DAY_MS = 24 * 3_600_000;
const DAYS = 30;
const NONE = { has: () => false };
const never = new AbortController().signal;

interface Wanted {
  job_id: string;
  end: 'complete' | 'cancel' | 'fail';
  total_urls: number;
  checked: number;
}

/** Ended jobs, for which the processes have nothing left to do. */
async function endedJobs(t: ExecutionContext, wanted: readonly Wanted[]) {
  const stores = await openTestStores(t);
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-retention-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const blobs = await fileBlobs(join(folder, 'blobs'));
  const { log, documents } = stores;
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  const grant = { transaction_type: 'purchase', reference_id: 'p', amount: 10_000, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...grant }, commandContext());
  for (const { job_id, end, total_urls, checked } of wanted) {
    const urls = Array.from({ length: total_urls }, (_, i) => `https://site-${i}.example/${job_id}`);
    const batch_size = batchSize(total_urls);
    const outcomeOf = (index: number) => ({ ...FOUND, response_time_ms: (index * 7) % 1500 });
    const of = { job_id, owner_id: 'alice', owner_email: null, filename: 'urls.csv', urls, batch_size, checked };
    await submitUpload({ log, blobs, job_commands, credits }, { ...of, outcomeOf });
    const command =
      end === 'complete'
        ? ({ type: end, completed_urls: checked, broken_urls: 0 } as const)
        : end === 'fail'
          ? ({ type: end, reason: 'no_progress' } as const)
          : { type: end };
    t.like(await job_commands.run(job_id, command, commandContext()), { ok: true });
  }
  await project(stores);
  const readmodels = openReadModels(documents);
  const context = () => commandContext();
  await passOf(settlement({ job_commands, credits, context }), readmodels);
  await project(stores);
  await passOf(domainChecks({ readmodels, domain_checks: openDomainChecks(log), context }), readmodels);
  await project(stores);

  const removals = openRemovals();
  /** Runs one pass with new aggregates, as after a start. */
  async function pass(parts: Partial<{ log: typeof log; blobs: typeof blobs }> = {}, later_ms = 31 * DAY_MS) {
    const options = { log, blobs, readmodels, removals, context, slice: 400, ...parts };
    const common = { ...options, job_commands: openJobs(options.log) };
    const expiring = retention({ ...common, days: DAYS, failed_purges: NONE });
    const of = { logger: silent, now: () => Date.now() + later_ms };
    const position = await passOf(expiring, readmodels, of);
    return position !== null || (await passOf(purging(common), readmodels, of)) !== null;
  }
  const work = async (parts?: Parameters<typeof pass>[0]) => {
    while (await pass(parts)) await project(stores);
  };
  async function assertExactNow(): Promise<void> {
    const empty = await openSqliteDocuments({ path: join(folder, `${crypto.randomUUID()}.db`) });
    await assertExact(t, log, documents, empty);
    await empty.close();
  }
  const jobOf = async (job_id: string) => (await readmodels.collection(jobs).get(job_id))!;
  const deleteJob = openDeleteJob(job_commands, credits, async (job_id) => endedJob(await jobOf(job_id)));
  return { stores, blobs, readmodels, pass, work, assertExactNow, jobOf, deleteJob };
}

/** What clients see of a job when its results are gone. */
async function seen(documents: Documents, job_id: string) {
  const read = openReadModels(documents);
  const job = (await read.collection(jobs).get(job_id))!;
  const stats = (await read.collection(jobStats).get(job_id)) ?? noStats(job_id);
  const [domains, times] = [read.collection(jobDomains), read.collection(jobResponseTimes)];
  return { job: lasting(job), summary: await summaryOf({ domains, times }, stats) };
}
const lasting = ({ status, completed_urls, credits_refunded, started_at, completed_at, filename }: JobDocument) => ({
  ...{ status, completed_urls, credits_refunded, started_at, completed_at, filename },
});

const THREE: readonly Wanted[] = [
  { job_id: 'completed', end: 'complete', total_urls: 900, checked: 900 },
  { job_id: 'cancelled', end: 'cancel', total_urls: 100, checked: 40 },
  { job_id: 'failed', end: 'fail', total_urls: 60, checked: 20 },
  { job_id: 'unchecked', end: 'cancel', total_urls: 20, checked: 0 },
];

test('the results of ended jobs go after their time, and job, statistics and account stay in a replay too', async (t) => {
  const { stores, blobs, readmodels, pass, assertExactNow, jobOf, deleteJob } = await endedJobs(t, THREE);
  const { log, documents } = stores;
  const before = new Map<string, unknown>();
  for (const { job_id } of THREE) before.set(job_id, await seen(documents, job_id));
  t.false(await pass({}, 29 * DAY_MS), 'nothing expires too early');

  let passes = 0;
  do {
    await project(stores);
    await assertExactNow();
    passes++;
    for (const { job_id } of THREE) t.deepEqual(await seen(documents, job_id), before.get(job_id), job_id);
  } while (await pass());
  t.is(passes, 6, 'all expire, three slices, the content');

  t.is(await readmodels.collection(results).count({}), 0);
  t.is(await readmodels.collection(jobDomains).count({}), 0);
  t.is(await readmodels.collection(jobResponseTimes).count({}), 0);
  t.is(await readmodels.collection(purges).count({}), 0);
  const streams = new Set((await Array.fromAsync(log.readAll())).map(({ stream }) => stream));
  const of_content = [...streams].filter((stream) => /^(urls|checks)-/.test(stream));
  t.deepEqual(of_content, []);
  for (const { job_id } of THREE) {
    t.truthy((await jobOf(job_id)).results_expired_at);
    t.is(await blobs.get(`uploads/${job_id}`), null);
    t.is(await blobs.get(`left-out/${job_id}`), null);
  }

  // Documents that are just rebuilt lack the results for a moment.
  const early = { job_id: 'completed', owner_id: 'alice', credits_allocated: 900, completed_urls: 0 };
  await settleJob(early, openJobs(log), openCredits(log), commandContext());
  t.like(await deleteJob('failed', commandContext()), { ok: true });
  await project(stores);
  while (await pass()) await project(stores);
  await assertExactNow();
  const refunds = (await Array.fromAsync(log.readStream('credits-alice'))).flatMap(({ type, data }) =>
    type === 'CreditsRefunded' ? [data as { reference_id: string; amount: number }] : [],
  );
  t.deepEqual(refunds.map(({ reference_id, amount }) => [reference_id, amount]).sort(), [
    ['cancelled', 60],
    ['failed', 40],
    ['unchecked', 20],
  ]);
  const types = (await Array.fromAsync(log.readStream('job-failed'))).map(({ type }) => type);
  t.deepEqual(types.slice(-3), ['ResultsRemoved', 'JobDeleted', 'JobPurged']);
});

test('the next process resumes after one that was killed after any step, and a deletion in between wins', async (t) => {
  const one = { job_id: 'old', end: 'cancel', total_urls: 60, checked: 30 } as const;
  for (let fatal = 1, finished = false; !finished; fatal++) {
    const { stores, blobs, work, assertExactNow, deleteJob, jobOf } = await endedJobs(t, [one]);
    const dying = dyingAt(fatal, 'after');
    const { log } = stores;
    const killed = {
      log: { ...bound(log), append: dying(bound(log).append), deleteStream: dying(bound(log).deleteStream) },
      blobs: { ...bound(blobs), delete: dying(bound(blobs).delete) },
    };
    finished = await work(killed).then(
      () => true,
      () => false,
    );
    await project(stores);
    if (fatal % 3 === 0) await assertExactNow();
    const is_deleted = fatal % 2 === 0;
    if (is_deleted) {
      t.like(await deleteJob('old', commandContext()), { ok: true });
      await project(stores);
    } else {
      await work();
      t.like(await jobOf('old'), { status: 'cancelled', completed_urls: 30, credits_refunded: 30 });
    }
    await work();
    const types = (await Array.fromAsync(log.readStream('job-old'))).map(({ type }) => type);
    t.is(types.filter((type) => type === 'ResultsExpired').length, types.includes('ResultsExpired') ? 1 : 0);
    const slices = types.filter((type) => type === 'ResultsPurged').length;
    // A deletion removes what the purge has not.
    t.true(is_deleted ? slices <= 1 : slices === 1, String(slices));
    t.is(types.at(-1), is_deleted ? 'JobPurged' : 'ResultsRemoved');
    t.deepEqual(await Array.fromAsync(log.readStream('urls-old')), []);
    if (fatal % 3 === 1) await assertExactNow();
  }
});

test('results that the statistics do not count in full do not expire, and hold up no others', async (t) => {
  const { stores, readmodels, pass } = await endedJobs(t, THREE.slice(1, 3));
  const name = (await stores.documents.names()).find((each) => each.startsWith(jobStats.name))!;
  await (await stores.documents.collection({ ...jobStats, name })).write([{ delete: 'cancelled' }]);
  while (await pass()) await project(stores);
  const expired = await readmodels.collection(jobs).find({ results_kept_since: { $lt: '9' } });
  t.deepEqual(
    expired.map(({ _id }) => _id),
    ['cancelled'],
  );
  t.is(await readmodels.collection(results).count({ job_id: 'failed' }), 0);
});

test('while as many purges are under way as may be, nothing expires, and purges that fail are not counted', async (t) => {
  const { stores, blobs, readmodels } = await endedJobs(t, THREE.slice(3));
  const job_commands = openJobs(stores.log);
  const put_off = new PutOff(() => 0);
  const shared = { readmodels, job_commands, context: () => commandContext() };
  const late = { readmodels, logger: silent, now: () => Date.now() + 31 * DAY_MS, monotonic: () => 0 };
  const expiry = new ManagerRunner(retention({ ...shared, days: DAYS, failed_purges: put_off }), late);
  const name = (await stores.documents.names()).find((each) => each.startsWith(purges.name))!;
  const others = await stores.documents.collection({ ...purges, name });
  const of = { batch_size: 1, blob_key: null, purged_to: 0, urls: 1, is_deleted: false, since: '2026-01-31' };
  await others.write(Array.from({ length: 250 }, (_, n) => ({ replace: { _id: `purged-${n}`, ...of } })));
  t.deepEqual(await expiry.pass(never), { reached: null, is_held_up: true });

  // There are no such jobs, so that each purge fails, and holds up nothing any more.
  const removing = { log: stores.log, blobs, removals: openRemovals(), put_off };
  const purger = new ManagerRunner(purging({ ...shared, ...removing }), late);
  await purger.pass(never);
  t.deepEqual([put_off.has('purged-0'), put_off.has('purged-250')], [true, false]);
  t.deepEqual(await expiry.pass(never), { reached: null, is_held_up: true }, '150 may be under way');
  await purger.pass(never);
  t.like(await expiry.pass(never), { is_held_up: false });
  t.not((await job_commands.aggregate.read(jobStream('unchecked'))).state.expired, null);
  await project(stores);
  t.deepEqual(await expiry.pass(never), { reached: null, is_held_up: false }, 'nothing is left to expire');
});

test('however many purges fail, the next one is made, and results expire', async (t) => {
  const { stores, blobs, readmodels } = await endedJobs(t, THREE.slice(2));
  const job_commands = openJobs(stores.log);
  const put_off = new PutOff(() => 0);
  const shared = { readmodels, job_commands, context: () => commandContext() };
  const name = (await stores.documents.names()).find((each) => each.startsWith(purges.name))!;
  const others = await stores.documents.collection({ ...purges, name });
  const of = { batch_size: 1, blob_key: null, purged_to: 0, urls: 1, is_deleted: false, since: '2026-01-31' };
  const failed = Array.from({ length: 12_345 }, (_, n) => `failed-${n}`);
  for (const ids of [failed.slice(0, 10_000), failed.slice(10_000)])
    await others.write(ids.map((_id) => ({ replace: { _id, ...of } })));
  for (const id of failed) put_off.fail(id);
  const expiring = retention({ ...shared, days: DAYS, failed_purges: put_off });
  t.not(await passOf(expiring, readmodels, { now: () => Date.now() + 31 * DAY_MS }), null);
  await project(stores);
  const of_jobs = () => others.find({ _id: { $in: THREE.map(({ job_id }) => job_id) } });
  t.is((await of_jobs()).length, 2);
  const purger = passesOf(
    purging({ ...shared, log: stores.log, blobs, removals: openRemovals(), put_off }),
    readmodels,
  );
  while ((await purger.pass()) !== null) await project(stores);
  t.deepEqual(await of_jobs(), []);
});
