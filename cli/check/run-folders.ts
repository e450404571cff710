// Where checks are kept until they are finished: a folder for each run, named after the digest of its input.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lastWrite, RunStore } from './run-store.ts';

export interface Run {
  folder: string;
  store: RunStore;
}

const FILE = 'run.db';
const DIGEST_CHARS = 16;
const SEARCH_MS = 5;
/** Begins the name of a folder that is being removed. */
const REMOVED = 'removed-';
/** An interrupted check that nobody continues with is removed after this long. */
const KEPT_MS = 30 * 24 * 3600 * 1000;

export interface RunsFolder {
  /** Null for a user without a home. */
  path: string | null;
  /** Whether the environment names it, so that it has to be usable. A home may be read-only, as in a container, or not exist. */
  is_named: boolean;
}

/** `DATA_DIR/check` where the environment names a `DATA_DIR`, else the user's folder for state (XDG Base Directory Specification). */
export function runsFolder(env: NodeJS.ProcessEnv): RunsFolder {
  if (env.DATA_DIR) return { path: resolve(env.DATA_DIR, 'check'), is_named: true };
  if (env.XDG_STATE_HOME) return { path: join(env.XDG_STATE_HOME, 'url-checker'), is_named: true };
  return { path: pathInHome(), is_named: false };
}

function pathInHome(): string | null {
  try {
    return join(homedir(), '.local', 'state', 'url-checker');
  } catch {
    return null;
  }
}

export async function newRun(runs: string, digest: string, open = RunStore.open): Promise<Run> {
  const folder = await mkdtemp(join(runs, `${digest.slice(0, DIGEST_CHARS)}-`));
  for (;;) {
    const store = open(join(folder, FILE));
    if (store !== null) return { folder, store };
    // A process that searches for a run opened this one first. It finds no facts in it, and closes it.
    await delay(SEARCH_MS);
  }
}

/** Closes the run and removes its folder. No other process finds the run meanwhile: its folder first gets another name. */
export async function removeRun({ folder, store }: Run): Promise<void> {
  const removed = join(dirname(folder), `${REMOVED}${basename(folder)}`);
  const left = await rename(folder, removed).then(
    () => removed,
    () => folder,
  );
  store.close();
  await rm(left, { recursive: true, force: true });
}

/** `busy`: another process works on the only runs of the input. */
export type Found = Run | 'none' | 'busy';

/** The run that was written last, of the input with this digest or of any input. */
export async function findRun(runs: string, digest: string | null): Promise<Found> {
  const folders = (await foldersOf(runs)).filter(
    ({ name }) => digest === null || name.startsWith(`${digest.slice(0, DIGEST_CHARS)}-`),
  );
  let found: Found = 'none';
  for (const { folder } of folders.toSorted((a, b) => b.written_at - a.written_at)) {
    const store = openFound(folder);
    if (store === 'gone') continue;
    if (store === null) found = 'busy';
    else if (store.facts !== null) return { folder, store };
    else store.close();
  }
  return found;
}

function openFound(folder: string): RunStore | null | 'gone' {
  try {
    return RunStore.open(join(folder, FILE));
  } catch (error) {
    // Another process finished the run since it was found.
    if (!existsSync(folder)) return 'gone';
    throw error;
  }
}

/** Makes the folder of runs, and removes the runs that nobody went on with. */
export async function openRuns(runs: string, now: number): Promise<void> {
  await mkdir(runs, { recursive: true, mode: 0o700 });
  const cut_off = (await readdir(runs)).filter((name) => name.startsWith(REMOVED));
  for (const name of cut_off) await rm(join(runs, name), { recursive: true, force: true });
  for (const { folder, written_at } of await foldersOf(runs)) {
    if (now - written_at > KEPT_MS && !isOpen(folder)) await rm(folder, { recursive: true, force: true });
  }
}

/** Whether another process works on the run: after a step of the clock its time of writing says nothing. */
function isOpen(folder: string): boolean {
  try {
    const store = RunStore.open(join(folder, FILE));
    store?.close();
    return store === null;
  } catch {
    // Another process removes it, or it is damaged.
    return false;
  }
}

async function foldersOf(runs: string): Promise<{ name: string; folder: string; written_at: number }[]> {
  const names = (await readdir(runs)).filter((name) => !name.startsWith(REMOVED) && existsSync(join(runs, name, FILE)));
  return names.map((name) => {
    const folder = join(runs, name);
    return { name, folder, written_at: lastWrite(join(folder, FILE)) };
  });
}
