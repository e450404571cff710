// Whatever the service writes into its folder is its user's alone, also where others may look into the folder.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { startServiceProcess } from '../support/service-process.ts';

const run = promisify(execFile);
const PERSONAL_DATA_KEY = 'p'.repeat(32);
const ROOT = join(import.meta.dirname, '../..');

/** A folder that others may look into. */
async function openFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-modes-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  return folder;
}

async function assertPrivate(t: ExecutionContext, folder: string, least: number): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  t.true(found.length >= least, String(found.map(({ name }) => name)));
  for (const entry of found) {
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    t.is((mode & 0o777).toString(8), entry.isDirectory() ? '700' : '600', path);
  }
}

test("files in a DATA_DIR that was there are of mode 0600, and folders 0700, those of operators' commands too", async (t) => {
  const DATA_DIR = await openFolder(t);
  const service = await startServiceProcess({
    DATA_DIR,
    PERSONAL_DATA_KEY,
    ROLES: 'http,projector,processes,checker',
    LOG_FILE: join(DATA_DIR, 'service.log'),
  });
  t.teardown(() => service.kill());
  await assertPrivate(t, DATA_DIR, 8);
  t.is(await service.stop(), 0);

  const [restored, fresh] = [await openFolder(t), await openFolder(t)];
  const command = async (folder: string, program: string, ...args: string[]) => {
    const env = { ...process.env, PERSONAL_DATA_KEY, DATA_DIR: folder, BLOB_URL: `file://${DATA_DIR}/blobs` };
    const node = ['--import', join(ROOT, 'boot.js'), join(ROOT, 'cli', program)];
    return (await run(process.execPath, [...node, ...args], { env })).stdout;
  };
  await command(fresh, 'token.ts', '--user', 'alice');
  await assertPrivate(t, fresh, 2);
  await command(DATA_DIR, 'backup.ts', 'create');
  const [key] = /backups\/\S+/.exec(await command(DATA_DIR, 'backup.ts', 'list'))!;
  await assertPrivate(t, DATA_DIR, 9);
  await command(restored, 'backup.ts', 'restore', key);
  await command(restored, 'ops.ts', 'ledger', 'verify');
  await assertPrivate(t, restored, 1);
});
