// Whatever the service writes into its folder is its user's alone, also where others may look into the folder.
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { startServiceProcess } from './support/service-process.ts';

test('files in a DATA_DIR that was there are of mode 0600, and folders 0700', async (t) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'url-checker-modes-'));
  t.teardown(() => rm(DATA_DIR, { recursive: true, force: true }));
  await chmod(DATA_DIR, 0o755);
  const service = await startServiceProcess({
    DATA_DIR,
    ROLES: 'http,projector,processes,checker',
    LOG_FILE: join(DATA_DIR, 'service.log'),
  });
  t.teardown(() => service.kill());
  const found = await readdir(DATA_DIR, { recursive: true, withFileTypes: true });
  t.true(found.length > 8);
  for (const entry of found) {
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    t.is((mode & 0o777).toString(8), entry.isDirectory() ? '700' : '600', path);
  }
  t.is(await service.stop(), 0);
});
