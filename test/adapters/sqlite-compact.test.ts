// Compacting writes its copy beside the file, whatever the process opened before.
import { watch } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { compactFiles } from '../../adapters/sqlite-compact.ts';
import { until } from '../support/behind.ts';

test('the copy is in the folder of the file, and leaves nothing there', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "compact's-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'large.db');
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE kept (bytes BLOB)');
  // More than SQLite keeps of the copy in memory.
  for (let n = 0; n < 8; n++) db.exec('INSERT INTO kept VALUES (randomblob(1000000))');
  db.close();
  const made = new Set<string | null>();
  const watcher = watch(folder, (_event, name) => made.add(name));
  t.teardown(() => watcher.close());

  const [compacted] = compactFiles([path]);
  t.true(compacted!.after_bytes >= 8_000_000);
  t.deepEqual(await readdir(folder), ['large.db']);
  await writeFile(join(folder, 'last'), '');
  await until(() => made.has('last'));
  t.true([...made].some((name) => name?.startsWith('etilqs_')));
  const after = new DatabaseSync(':memory:');
  t.teardown(() => after.close());
  t.deepEqual(
    { ...after.prepare('PRAGMA temp_store_directory').get() },
    {},
    "the process's other copies are where they were",
  );
});
