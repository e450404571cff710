import test from 'ava';
import { pino } from 'pino';
import { openJobWatch } from '../../../http/jobs/job-watch.ts';
import type { JobDocument } from '../../../readmodels/jobs/jobs.ts';
import { until } from '../sample-app.ts';

/** Documents that a test changes by hand, and how often they were asked. */
function openWorld() {
  const world = {
    jobs: new Map<string, number>(),
    deleted: new Set<string>(),
    position: '001',
    down: false,
    reads: [] as string[][],
    looks: 0,
    in_flight: {} as Record<string, number> | null,
    logged: 0,
  };
  const watch = openJobWatch({
    look_ms: 1,
    log: pino({ level: 'warn' }, { write: () => void world.logged++ }),
    async position() {
      world.looks++;
      if (world.down) throw new Error('the documents are down');
      return world.position;
    },
    jobs: {
      async getMany(ids) {
        world.reads.push([...ids]);
        return ids.flatMap((_id) => {
          const completed_urls = world.jobs.get(_id);
          return completed_urls === undefined ? [] : [{ _id, completed_urls } as JobDocument];
        });
      },
    },
    is_deleted: async (job_id) => world.deleted.has(job_id),
    work: () => world.in_flight && { urls_by_job: world.in_flight },
  });
  const change = (job_id: string, completed_urls: number, position: string) => {
    world.jobs.set(job_id, completed_urls);
    world.position = position;
  };
  /** What a follower was told last. */
  const follow = (job_id: string) => {
    const told: (number | null)[] = [];
    const leave = watch.follow(job_id, (job) => told.push(job === null ? null : job.completed_urls));
    return { told, leave, last: () => told.at(-1) };
  };
  const looked = async (times: number) => {
    const from = world.looks;
    await until(() => world.looks >= from + times);
  };
  return { world, watch, change, follow, looked };
}

test('a follower receives the job until it leaves', async (t) => {
  const { watch, change, follow } = openWorld();
  change('a', 1, '002');
  const alice = follow('a');
  await until(() => alice.last() === 1);
  change('a', 2, '003');
  await until(() => alice.last() === 2);
  alice.leave();
  const { length } = alice.told;
  change('a', 3, '004');
  const bob = follow('a');
  await until(() => bob.last() === 3);
  t.is(alice.told.length, length);
  watch.close();
});

test('one look reads each job once for all followers', async (t) => {
  const { world, watch, change, follow } = openWorld();
  for (const id of ['a', 'b', 'c']) change(id, 1, '002');
  const followers = Array.from({ length: 300 }, (_, n) => follow('abc'[n % 3]!));
  await until(() => followers.every(({ last }) => last() === 1));
  for (const ids of world.reads) t.deepEqual([...new Set(ids)], ids);
  t.deepEqual(world.reads[0], ['a', 'b', 'c']);
  t.is(world.reads.length, 1);
  watch.close();
});

test('the watch reads nothing while the documents stay the same', async (t) => {
  const { world, watch, change, follow, looked } = openWorld();
  change('a', 1, '002');
  const alice = follow('a');
  await until(() => alice.last() === 1);
  await looked(10);
  t.is(world.reads.length, 1);
  change('a', 2, '003');
  await until(() => alice.last() === 2);
  t.is(world.reads.length, 2);
  // Those of a job that nobody follows concern nobody.
  world.in_flight = { b: 40 };
  await looked(10);
  t.is(world.reads.length, 2);
  world.in_flight = { a: 40 };
  await until(() => alice.told.length === 3);
  world.in_flight = {};
  await until(() => alice.told.length === 4);
  // Nobody knows any more.
  world.in_flight = null;
  await until(() => alice.told.length === 5);
  t.is(world.reads.length, 5);
  watch.close();
});

test('a follower that comes between two looks receives the job', async (t) => {
  const { watch, change, follow, looked } = openWorld();
  change('a', 1, '002');
  change('b', 1, '002');
  const alice = follow('a');
  await until(() => alice.last() === 1);
  await looked(2);
  const bob = follow('b');
  await until(() => bob.last() === 1);
  t.pass();
  watch.close();
});

test('the watch reports a missing job as deleted only when the log says so', async (t) => {
  const { world, watch, change, follow, looked } = openWorld();
  change('a', 1, '002');
  const alice = follow('a');
  await until(() => alice.last() === 1);
  world.jobs.delete('a');
  world.position = '003';
  await looked(3);
  t.is(alice.last(), 1);
  world.deleted.add('a');
  world.position = '004';
  await until(() => alice.last() === null);
  t.pass();
  watch.close();
});

test('the watch asks failing documents again, and logs one line', async (t) => {
  const { world, watch, change, follow, looked } = openWorld();
  world.down = true;
  change('a', 1, '002');
  const alice = follow('a');
  await looked(10);
  t.deepEqual(alice.told, []);
  t.is(world.logged, 1);
  world.down = false;
  await until(() => alice.last() === 1);
  t.is(world.logged, 1);
  watch.close();
});

test('the watch stops without followers, and starts again with one', async (t) => {
  const { world, watch, change, follow } = openWorld();
  change('a', 1, '002');
  const alice = follow('a');
  await until(() => alice.last() === 1);
  alice.leave();
  const { looks } = world;
  // Another watch that goes on is the clock.
  const clock = openWorld();
  clock.follow('a');
  await clock.looked(10);
  clock.watch.close();
  t.true(world.looks <= looks + 1, 'at most the look that was under way');
  const bob = follow('a');
  await until(() => bob.last() === 1);
  watch.close();
});
