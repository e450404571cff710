// The keys that a machine makes for itself.
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { readLocalKey } from '../service/local-key.ts';

test('processes that start at once share one key, which no other user can read', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const keys = await Promise.all(Array.from({ length: 8 }, () => readLocalKey(folder, 'link-key')));
  t.is(new Set(keys.map((key) => key.toString('hex'))).size, 1);
  t.is(keys[0]!.length, 32);
  const path = join(folder, 'identity', 'link-key');
  t.is((await stat(path)).mode & 0o777, 0o600);
  t.notDeepEqual(await readLocalKey(folder, 'webhook-key'), keys[0]);
  await writeFile(path, 'short');
  await t.throwsAsync(readLocalKey(folder, 'link-key'), { message: /holds no key/ });
});
