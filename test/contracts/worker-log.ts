// The worker log against a plain list of its entries: every filter, page and deletion, live and rebuilt. A store's test enrols with one
// line.
import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import { openWorkerLogCommands } from '../../commands/worker-log.ts';
import type { WorkerLogEvent } from '../../events/worker-log.ts';
import { type LogEntry, SEGMENT_ENTRIES } from '../../readmodels/operations/log-segments.ts';
import { requestRebuild } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { until } from '../support/behind.ts';
import { commandContext } from '../support/stores.ts';
import {
  A,
  append,
  assertSame,
  B,
  C,
  check,
  combinations,
  D,
  documentsOf,
  expire,
  follow,
  MINUTE_MS,
  openOver,
  openWorld,
  passes,
  START_MS,
  startFollower,
  urlsOf,
  WORKERS,
} from '../support/worker-log-world.ts';
import { type Fixture, sentences } from './documents/fixture.ts';

export function workerLogContract(test: TestFn, name: string, fixture: Fixture): void {
  const sentence = sentences(test, name, fixture);

  sentence('every filter and combination finds what a plain search finds, on any page', async (t, { documents }) => {
    const world = await openWorld(t, documents);
    const [large, small, old] = [A, B, C];
    await check(world, { job_id: large, urls: urlsOf(2500, 40) });
    await check(world, { job_id: old, urls: urlsOf(300, 5), worker: null });
    await follow(world.stores);
    // The second part fills the last segment up.
    await check(world, { job_id: small, urls: urlsOf(1700, 40, 7), at_ms: START_MS + MINUTE_MS, worker: WORKERS[1]! });
    await follow(world.stores);
    const worker_log = openOver(world.stores);
    t.true(world.expected.length > 2 * SEGMENT_ENTRIES);
    for (const filter of combinations([large, old, 'nobody'])) await assertSame(t, worker_log, world.expected, filter);
    await assertSame(t, worker_log, world.expected, { before_ms: START_MS + 1 });
    await assertSame(t, worker_log, world.expected, { domain: 'host-3.example host-4.example' });
    t.is((await worker_log.list({ job_id: old }, { limit: 1, offset: 0 })).items[0]!.worker, null);
  });

  sentence(
    'what is deleted stays deleted when the log is rebuilt, and the documents are the same',
    async (t, { documents }) => {
      const world = await openWorld(t, documents);
      const { stores } = world;
      const commands = openWorkerLogCommands(stores.log);
      const worker_log = openOver(stores);
      const remove = async (what: WorkerLogEvent, is_gone: (entry: LogEntry) => boolean) => {
        await commands.delete(what, { ...commandContext(), actor: 'admin:root' });
        world.expected = world.expected.filter((entry) => !is_gone(entry));
        await follow(stores);
        await assertSame(t, worker_log, world.expected, {});
      };
      await check(world, { job_id: A, urls: urlsOf(3000, 30) });
      await check(world, { job_id: B, urls: urlsOf(2000, 30), at_ms: START_MS + MINUTE_MS });
      await follow(stores);
      await assertSame(t, worker_log, world.expected, {});
      const one = { job_id: A, index: 1007, attempt: 2 };
      t.like(await worker_log.find(one), one);
      await remove(
        { type: 'LogDeleted', data: one },
        ({ job_id, index, attempt }) => job_id === A && index === 1007 && attempt === 2,
      );
      t.is(await worker_log.find(one), null);
      t.truthy(await worker_log.find({ ...one, attempt: 1 }));
      t.is(await worker_log.find({ ...one, job_id: 'nobody' }), null);
      await remove(
        { type: 'LogsDeleted', data: { job_id: A, domain: 'host-3.example' } },
        ({ job_id, domain }) => job_id === A && domain === 'host-3.example',
      );
      await remove(
        { type: 'LogsDeleted', data: { non_2xx: true, before: new Date(START_MS + 1).toISOString() } },
        (entry) => passes(entry, { non_2xx: true, before_ms: START_MS + 1 }),
      );
      await remove(
        { type: 'LogsDeleted', data: { domain: 'host-4.example' } },
        ({ domain }) => domain === 'host-4.example',
      );
      // A deletion is about the entries before it.
      await check(world, { job_id: C, urls: urlsOf(500, 5) });
      await follow(stores);
      await assertSame(t, worker_log, world.expected, { domain: 'host-4.example' });

      // A deleted job's entries go, and a late result of it makes none.
      await append(world, B, 'JobDeleted', 'no_stream');
      world.expected = world.expected.filter(({ job_id }) => job_id !== B);
      const before = world.expected.length;
      await check(world, { job_id: B, urls: [...urlsOf(2000, 30), ...urlsOf(50, 2)] }).catch(() => {});
      world.expected.length = before;
      await follow(stores);
      await assertSame(t, worker_log, world.expected, {});
      t.is((await worker_log.list({ job_id: B }, { limit: 1, offset: 0 })).total, 0);
      t.false(JSON.stringify((await documentsOf(stores)).segments).includes(B), 'no segment names the job');
      await append(world, B, 'JobPurged', 0);
      const expired_job = randomUUID();
      // So do those of a job whose results expired.
      await check(world, { job_id: expired_job, urls: urlsOf(3, 3) });
      await expire(world, expired_job);
      world.expected = world.expected.filter(({ job_id }) => job_id !== expired_job);
      await follow(stores);
      await assertSame(t, worker_log, world.expected, {});

      const live = await documentsOf(stores);
      t.deepEqual(live.jobs.map(({ _id }) => _id).sort(), [A, C].sort());
      await requestRebuild(stores.documents, 'worker_log');
      const stop = new AbortController();
      const following = startFollower(stores, stop.signal);
      const { projections } = openReadModels(stores.documents);
      await until(async () =>
        (await projections()).some(({ _id, generation }) => _id === 'worker_log' && generation === 2),
      );
      stop.abort();
      await following;
      t.deepEqual(await documentsOf(stores), live);
      // The reader notices the flip.
      await assertSame(t, worker_log, world.expected, {});

      await remove({ type: 'LogsTruncated', data: {} }, () => true);
      t.deepEqual((await documentsOf(stores)).segments, []);
      t.deepEqual((await documentsOf(stores)).jobs, []);
      await check(world, { job_id: D, urls: urlsOf(10, 2) });
      await follow(stores);
      await assertSame(t, worker_log, world.expected, {});
    },
  );
}
