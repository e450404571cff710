// The worker log is in memory while somebody asks for it, and only then.
import test from 'ava';
import { logJobs } from '../../../readmodels/operations/log-segments.ts';
import { openWorkerLog, workerLogLimits } from '../../../readmodels/operations/worker-log.ts';
import { openReadModels, type ReadModels } from '../../../readmodels/read-models.ts';
import { FOUND } from '../../support/behind.ts';
import { A, B, check, follow, openWorld, SETTINGS, START_MS, urlsOf } from '../../support/worker-log-world.ts';

const PAGE = { limit: 5, offset: 0 };

test('the log is read by the first request, kept while there are others, and forgotten a minute after the last', async (t) => {
  const world = await openWorld(t);
  await check(world, { job_id: A, urls: urlsOf(5000, 3), outcomeOf: () => FOUND });
  await follow(world.stores);
  const clock = { ms: 0 };
  const { readmodels, found } = counted(openReadModels(world.stores.documents, { follower: 'worker_log' }));
  const worker_log = openWorkerLog(
    readmodels,
    workerLogLimits(SETTINGS),
    () => START_MS,
    () => clock.ms,
  );
  const readBy = async (work: () => Promise<unknown>) => {
    const before = found.segments;
    await work();
    return found.segments - before;
  };

  t.is(await readBy(() => worker_log.keepUp()), 0, 'nobody has asked');
  t.is(await readBy(() => worker_log.list({}, PAGE)), 3);
  const page = await worker_log.list({}, PAGE);
  clock.ms = 59_999;
  await check(world, { job_id: B, urls: urlsOf(10, 3), outcomeOf: () => FOUND });
  await follow(world.stores);
  t.is(await readBy(() => worker_log.keepUp()), 1, 'what has changed');
  t.is(await readBy(() => worker_log.stats(START_MS, START_MS)), 0);
  clock.ms += 59_999;
  t.is(await readBy(() => worker_log.keepUp()), 0);
  clock.ms += 1;
  await worker_log.keepUp();
  t.is(await readBy(() => worker_log.keepUp()), 0, 'forgotten, and not read again');
  let again = await worker_log.list({}, PAGE);
  t.is(again.total, page.total + 10);
  again = await worker_log.list({ job_id: A }, PAGE);
  t.deepEqual(again, page);
  const { domains_total } = await worker_log.options(10);
  t.is(domains_total, 3);

  found.afterJob = async () => {
    clock.ms += 60_000;
    await worker_log.keepUp();
  };
  const entry = await worker_log.find({ job_id: A, index: 0, attempt: 1 });
  t.is(entry?.job_id, A, 'the process slept for a minute in the middle of a request');
});

/** Counts the documents that finds return, and calls `afterJob` after each read of a job's document. */
function counted(of: ReadModels) {
  const found = { segments: 0, afterJob: async () => {} };
  const readmodels: Pick<ReadModels, 'collection' | 'position' | 'flips'> = {
    position: () => of.position(),
    get flips() {
      return of.flips;
    },
    collection(spec) {
      const collection = of.collection(spec);
      const find: typeof collection.find = async (...query) => {
        const documents = await collection.find(...query);
        found.segments += documents.length;
        return documents;
      };
      const get: typeof collection.get = async (id) => {
        const document = await collection.get(id);
        if (spec.name === logJobs.name) await found.afterJob();
        return document;
      };
      return { ...collection, find, get };
    },
  };
  return { readmodels, found };
}
