// The purge of a deleted job completes after any fault, and the documents always equal those of a replay.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openFileBlobs } from '../../adapters/blobs/files/file-blobs.ts';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openCredits } from '../../commands/credits.ts';
import { openDeleteJob } from '../../commands/delete-job.ts';
import { openJobs } from '../../commands/job.ts';
import { batchSize } from '../../events/job.ts';
import { purgeSome } from '../../processes/purge.ts';
import { settleJobs } from '../../processes/settlement.ts';
import { endedJob, jobs } from '../../readmodels/jobs.ts';
import { purges } from '../../readmodels/purges.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { results } from '../../readmodels/results.ts';
import { assertExact } from '../support/ledger.ts';
import { commandContext, openTestStores, project } from '../support/stores.ts';
import { submitUpload } from '../support/submitted.ts';

/** Results that one step removes. */
const SLICE = 60;

/** A job with some checked URLs that is cancelled and deleted, and another job that stays. */
async function deletedJob(t: ExecutionContext, total_urls: number, checked: number) {
  const batch_size = batchSize(total_urls);
  const stores = await openTestStores(t);
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-purge-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const blobs = await openFileBlobs({ folder: join(folder, 'blobs') });
  const { log, documents } = stores;
  const [commands, credits] = [openJobs(log), openCredits(log)];
  const grant = { transaction_type: 'purchase', reference_id: 'p', amount: 2 * total_urls, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...grant }, commandContext());
  for (const job_id of ['gone', 'kept']) {
    const urls = Array.from({ length: total_urls }, (_, i) => `https://site-${i}.example/${job_id}`);
    const of = { job_id, owner_id: 'alice', owner_email: null, filename: 'urls.csv', urls, batch_size, checked };
    await submitUpload({ log, blobs, commands, credits }, of);
    await commands.run(job_id, { type: 'cancel' }, commandContext());
  }
  await project(stores);
  const readmodels = openReadModels(documents);
  const documentOf = async (job_id: string) => (await readmodels.collection(jobs).get(job_id))!;
  const ended = async (job_id: string) => endedJob(await documentOf(job_id));
  t.like(await openDeleteJob(commands, credits, ended)('gone', commandContext()), { ok: true });
  await settleJobs(readmodels.collection(jobs), commands, credits, () => commandContext());
  await project(stores);

  /** Runs one pass with new aggregates, as after a start. */
  async function pass(parts: Partial<{ log: typeof log; blobs: typeof blobs }> = {}): Promise<boolean> {
    const options = { log, blobs, readmodels, context: () => commandContext(), slice: SLICE, ...parts };
    const position = await purgeSome({ ...options, commands: openJobs(options.log) }, new AbortController().signal);
    return position !== null;
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
  const { stores, readmodels, pass, assertExactNow, assertGone } = await deletedJob(t, 150, 140);
  const left: number[] = [];
  do {
    await project(stores);
    left.push(await readmodels.collection(results).count({ job_id: 'gone' }));
    if (left.length % 2) await assertExactNow();
  } while (await pass());
  t.deepEqual(left, [140, 80, 20, 0, 0]);
  await assertGone();
  await assertExactNow();
});

test('the next process finishes a purge that ended before or after any step, once', async (t) => {
  for (const when of ['before', 'after'] as const) {
    for (let fatal = 1, finished = false; !finished; fatal++) {
      const { stores, blobs, pass, assertGone, assertExactNow } = await deletedJob(t, 60, 30);
      let steps = 0;
      /** Kills the process at its `fatal` step. */
      const dying =
        <Args extends unknown[], R>(step: (...args: Args) => Promise<R>) =>
        async (...args: Args): Promise<R> => {
          steps++;
          if (steps > fatal || (steps === fatal && when === 'before')) throw new Error('killed');
          const done = await step(...args);
          if (steps === fatal) throw new Error('killed');
          return done;
        };
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
        (error: Error) => error.message,
      );
      finished = outcome === 'finished';
      if (!finished) t.is(outcome, 'killed');
      await project(stores);
      if (fatal % 5 === 0) await assertExactNow();
      await work();
      await assertGone();
      const types = (await Array.fromAsync(log.readStream('job-gone'))).map(({ type }) => type);
      t.deepEqual(types, ['JobCreated', 'JobCancelled', 'JobDeleted', 'ResultsPurged', 'JobPurged']);
    }
  }
});

/** The methods of a store as functions without `this`. */
function bound<T extends object>(store: T): T {
  const methods = new Set([...Object.keys(store), ...Object.getOwnPropertyNames(Object.getPrototypeOf(store))]);
  const of = store as Record<string, unknown>;
  const functions = [...methods].filter((name) => name !== 'constructor' && typeof of[name] === 'function');
  return Object.fromEntries(functions.map((name) => [name, (of[name] as () => unknown).bind(store)])) as T;
}
