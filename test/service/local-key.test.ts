// The keys that a machine makes for itself.
import { type FileHandle, mkdtemp, open, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import test from 'ava';
import { readLocalKey } from '../../service/local-key.ts';

test.serial('processes that start at once share one key, which no other user can read', async (t) => {
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

test.serial('a new key is on the disk before the service has it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await using any = await open(folder);
  const handles: Pick<FileHandle, 'sync'> = Object.getPrototypeOf(any);
  const { sync } = handles;
  t.teardown(() => (handles.sync = sync));
  const synced: string[] = [];
  handles.sync = async function (this: FileHandle) {
    synced.push(basename(await readlink(`/proc/self/fd/${this.fd}`)));
    return sync.call(this);
  };
  await readLocalKey(folder, 'link-key');
  t.regex(synced[0]!, /^link-key\..*\.new$/);
  t.deepEqual(synced.slice(1), ['identity', basename(folder)]);
  await readLocalKey(folder, 'link-key');
  t.is(synced.length, 3, 'a key that is there costs nothing');
});
