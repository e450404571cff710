// The purge of a deleted job completes after any fault, and the documents always equal those of a replay.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openDeleteJob } from '../../commands/jobs/delete-job.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { batchSize } from '../../events/job.ts';
import { purging } from '../../processes/purge.ts';
import { openRemovals } from '../../processes/removals.ts';
import { settlement } from '../../processes/settlement.ts';
import { endedJob, jobs } from '../../readmodels/jobs/jobs.ts';
import { purges } from '../../readmodels/jobs/purges.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { results } from '../../readmodels/results/results.ts';
import { bound, dyingAt } from '../support/dying.ts';
import { fileBlobs } from '../support/file-blobs.ts';
import { assertExact } from '../support/ledger.ts';
import { passesOf, passOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project, silent } from '../support/stores.ts';
import { submitUpload } from '../support/submitted.ts';

/** Results that one step removes: fewer than a job has whose deletion removes them all. */
const SLICE = 480;

/** A job with some checked URLs that is cancelled and deleted, and another job that stays. */
async function deletedJob(t: ExecutionContext, total_urls: number, checked: number) {
  const batch_size = batchSize(total_urls);
  const stores = await openTestStores(t);
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-purge-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const blobs = await fileBlobs(join(folder, 'blobs'));
  const { log, documents } = stores;
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  const grant = { transaction_type: 'purchase', reference_id: 'p', amount: 2 * total_urls, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...grant }, commandContext());
  for (const job_id of ['gone', 'kept']) {
    const urls = Array.from({ length: total_urls }, (_, i) => `https://site-${i % 300}.example/${job_id}/${i}`);
    const of = { job_id, owner_id: 'alice', owner_email: null, filename: 'urls.csv', urls, batch_size, checked };
    await submitUpload({ log, blobs, job_commands, credits }, of);
    await job_commands.run(job_id, { type: 'cancel' }, commandContext());
  }
  await project(stores);
  const readmodels = openReadModels(documents);
  const documentOf = async (job_id: string) => (await readmodels.collection(jobs).get(job_id))!;
  const ended = async (job_id: string) => endedJob(await documentOf(job_id));
  t.like(await openDeleteJob(job_commands, credits, ended)('gone', commandContext()), { ok: true });
  await passOf(settlement({ job_commands, credits, context: () => commandContext() }), readmodels);
  await project(stores);

  const removals = openRemovals();
  /** Runs one pass with new aggregates, as after a start. */
  async function pass(parts: Partial<{ log: typeof log; blobs: typeof blobs }> = {}): Promise<boolean> {
    const options = { log, blobs, removals, context: () => commandContext(), slice: SLICE, ...parts };
    const manager = purging({ ...options, job_commands: openJobs(options.log) });
    return (await passOf(manager, readmodels, { logger: silent })) !== null;
  }
  async function assertExactNow(): Promise<void> {
    const empty = await openSqliteDocuments({ path: join(folder, `${crypto.randomUUID()}.db`) });
    await assertExact(t, log, documents, empty);
    await empty.close();
  }
  async function assertGone(): Promise<void> {
    const streams = new Map<string, number>();
    for await (const { stream } of log.readAll()) streams.set(stream, (streams.get(stream) ?? 0) + 1);
    const of_gone = [...streams.keys()].filter((stream) => stream.includes('gone'));
    t.deepEqual(of_gone, ['job-gone']);
    t.is(
      [...streams.keys()].filter((stream) => stream.startsWith('checks-kept')).length,
      Math.ceil(checked / batch_size),
    );
    t.is(await readmodels.collection(results).count({ job_id: 'gone' }), 0);
    t.is(await readmodels.collection(results).count({ job_id: 'kept' }), checked);
    t.is(await readmodels.collection(purges).count({}), 0);
    t.is(await blobs.get('uploads/gone'), null);
    t.is(await blobs.get('left-out/gone'), null);
    t.truthy(await blobs.get('uploads/kept'));
    t.truthy(await blobs.get('left-out/kept'));
  }
  return { stores, blobs, readmodels, pass, assertExactNow, assertGone };
}

test('a purge deletes results slice by slice, then streams and file, and a replay always gives the same documents', async (t) => {
  const { stores, readmodels, pass, assertExactNow, assertGone } = await deletedJob(t, 1200, 1140);
  const left: number[] = [];
  do {
    await project(stores);
    left.push(await readmodels.collection(results).count({ job_id: 'gone' }));
    if (left.length % 2) await assertExactNow();
  } while (await pass());
  t.deepEqual(left, [1140, 660, 180, 0, 0]);
  await assertGone();
  await assertExactNow();
});

test('the deletion of a small job removes its results, and the log has no event of that', async (t) => {
  const { stores, readmodels, pass, assertExactNow, assertGone } = await deletedJob(t, 60, 30);
  t.is(await readmodels.collection(results).count({ job_id: 'gone' }), 0);
  await assertExactNow();
  t.true(await pass());
  await assertExactNow();
  await project(stores);
  await assertGone();
  await assertExactNow();
});

test('a purge that fails holds up no other, and is tried again later', async (t) => {
  const { stores, blobs, readmodels } = await deletedJob(t, 60, 30);
  const { log } = stores;
  const template = (await readmodels.collection(purges).get('gone'))!;
  // 150 deleted jobs that are older: of none is there an event in the log, so the log refuses each step.
  const broken = Array.from({ length: 150 }, (_, n) => ({ ...template, _id: `broken-${n}`, since: '2000-01-01' }));
  const name = (await stores.documents.names()).find((each) => each.startsWith(purges.name))!;
  await (await stores.documents.collection({ ...purges, name })).write(broken.map((each) => ({ replace: each })));
  let now = 0;
  let logged = 0;
  const options = { log, blobs, removals: openRemovals(), context: () => commandContext(), slice: 6_000 };
  const logger = { error: () => void logged++ } as never;
  const purger = passesOf(purging({ ...options, job_commands: openJobs(log) }), readmodels, {
    logger,
    monotonic: () => now,
  });
  t.is(await purger.pass(), null);
  t.is(logged, 100);
  for (let passes = 0; passes < 4; passes++) {
    await purger.pass();
    await project(stores);
  }
  t.is(logged, 150);
  t.is(await readmodels.collection(purges).get('gone'), null);
  now += 3_600_000;
  await purger.pass();
  t.is(logged, 250);
});

test('the next process finishes a purge that ended before or after any step, once', async (t) => {
  for (const when of ['before', 'after'] as const) {
    for (let fatal = 1, finished = false; !finished; fatal++) {
      const { stores, blobs, pass, assertGone, assertExactNow } = await deletedJob(t, 60, 30);
      const dying = dyingAt(fatal, when);
      const { log } = stores;
      const killed = {
        log: { ...bound(log), append: dying(bound(log).append), deleteStream: dying(bound(log).deleteStream) },
        blobs: { ...bound(blobs), delete: dying(bound(blobs).delete) },
      };
      const work = async (parts?: Parameters<typeof pass>[0]) => {
        while (await pass(parts)) await project(stores);
      };
      const outcome = await work(killed).then(
        () => 'finished',
        // The streams of batches are deleted at the same time.
        (error: Error) => (error instanceof AggregateError ? (error.errors[0] as Error) : error).message,
      );
      finished = outcome === 'finished';
      if (!finished) t.is(outcome, 'killed');
      await project(stores);
      if (fatal % 5 === 0) await assertExactNow();
      await work();
      await assertGone();
      const types = (await Array.fromAsync(log.readStream('job-gone'))).map(({ type }) => type);
      t.deepEqual(types, ['JobCreated', 'JobCancelled', 'JobDeleted', 'JobPurged']);
    }
  }
});
