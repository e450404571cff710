import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { findRun, newRun, openRuns, runsFolder } from '../../cli/check/run-folders.ts';
import { RunError } from '../../cli/check/run-store.ts';

const DAY_MS = 24 * 3600 * 1000;
const DIGEST = 'ab'.repeat(32);

async function folderOf(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'runs-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

test('runs are kept in DATA_DIR, or in the folder of the user for state', (t) => {
  t.is(runsFolder({ DATA_DIR: '/data', XDG_STATE_HOME: '/state' }), '/data/check');
  t.is(runsFolder({ XDG_STATE_HOME: '/state' }), '/state/url-checker');
  t.regex(runsFolder({}), /\/\.local\/state\/url-checker$/);
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
