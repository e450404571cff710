import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { findRun, newRun, openRuns, removeRun, runsFolder } from '../../cli/check/run-folders.ts';
import { RunError, RunStore } from '../../cli/check/run-store.ts';

const DAY_MS = 24 * 3600 * 1000;
const DIGEST = 'ab'.repeat(32);

async function folderOf(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'runs-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

test('runs are kept in DATA_DIR, or in the folder of the user for state', (t) => {
  t.is(runsFolder({ DATA_DIR: '/data', XDG_STATE_HOME: '/state' }).path, '/data/check');
  t.is(runsFolder({ XDG_STATE_HOME: '/state' }).path, '/state/url-checker');
  t.regex(runsFolder({}).path!, /\/\.local\/state\/url-checker$/);
});

test('a run is removed after 30 days, unless a process works on it', async (t) => {
  const runs = await folderOf(t);
  const idle = await newRun(runs, DIGEST);
  idle.store.close();
  const running = await newRun(runs, DIGEST);
  await openRuns(runs, Date.now() + 29 * DAY_MS);
  t.is((await readdir(runs)).length, 2);
  await openRuns(runs, Date.now() + 31 * DAY_MS);
  t.false(existsSync(idle.folder));
  t.true(existsSync(running.folder));
  running.store.close();
});

test('a run whose listing was cut off is not found, and a damaged one is named', async (t) => {
  const runs = await folderOf(t);
  t.is(await findRun(runs, DIGEST), 'none');
  const { folder, store } = await newRun(runs, DIGEST);
  t.is(await findRun(runs, DIGEST), 'busy');
  store.close();
  t.is(await findRun(runs, DIGEST), 'none');
  await writeFile(join(folder, 'run.db'), 'not a database, but long enough to be taken for one'.repeat(100));
  await t.throwsAsync(findRun(runs, DIGEST), { instanceOf: RunError, message: /run\.db: file is not a database$/ });
});

const FACTS = {
  counts: { total_urls: 0, duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 },
  ...{ inputs: [], rejected: [], began_at: '2026-01-31T09:00:00.000Z' },
};

test('a process that searches while another one removes its finished run disturbs neither', async (t) => {
  const runs = await folderOf(t);
  for (let round = 0; round < 20; round++) {
    const run = await newRun(runs, DIGEST);
    await run.store.list((async function* () {})(), () => FACTS);
    const search = async () => {
      for (let found = await findRun(runs, null); found !== 'none'; found = await findRun(runs, null)) {
        t.is(found, 'busy');
      }
    };
    await Promise.all([search(), removeRun(run), search()]);
    t.deepEqual(await readdir(runs), []);
  }
});

test('a run whose removal was cut off is not found, and removed with the next check', async (t) => {
  const runs = await folderOf(t);
  const { folder, store } = await newRun(runs, DIGEST);
  await store.list((async function* () {})(), () => FACTS);
  store.close();
  await rename(folder, join(runs, 'removed-one'));
  t.is(await findRun(runs, null), 'none');
  await openRuns(runs, Date.now());
  t.deepEqual(await readdir(runs), []);
});

test('a new run waits for a search that opened it first', async (t) => {
  const runs = await folderOf(t);
  let searched = false;
  const { folder, store } = await newRun(runs, DIGEST, (path) => {
    const search = searched ? null : RunStore.open(path);
    const opened = RunStore.open(path);
    search?.close();
    searched = true;
    return opened;
  });
  t.is(store.facts, null);
  store.close();
  t.deepEqual(
    (await readdir(runs)).map((name) => join(runs, name)),
    [folder],
  );
});
