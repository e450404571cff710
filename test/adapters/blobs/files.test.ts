// Stored files in a folder: the contract, and what only a folder has: unfinished files and who may read them.
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { openFileBlobs } from '../../../adapters/blobs/files/file-blobs.ts';
import { openSignedLinks } from '../../../http/frame/signed-links.ts';
import { blobLink, storedFile } from '../../../http/results/files.ts';
import { blobsContract } from '../../contracts/blobs.ts';
import { startSample } from '../../http/sample-app.ts';
import { fileBlobs } from '../../support/file-blobs.ts';

blobsContract('files', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'blobs-'));
  const links = openSignedLinks({ secret: Buffer.from('key'), base_url: () => served.url, now: Date.now });
  const open = () => openFileBlobs({ folder: join(parent, 'blobs'), sign: (key, link) => blobLink(links, key, link) });
  const served = await startSample([storedFile], { blobs: await open(), links });
  return {
    open,
    // The folder around it counts too: nothing may end up there.
    stored: async () => {
      const entries = await readdir(parent, { recursive: true, withFileTypes: true });
      return entries.filter((it) => it.isFile()).map((it) => join(it.parentPath, it.name));
    },
    async remove() {
      await served.close();
      await rm(parent, { recursive: true });
    },
  };
});

test('the sweep removes unfinished files of a crash after a day, and nothing else', async (t) => {
  const folder = await folderOf(t);
  const old = new Date(Date.now() - 25 * 60 * 60_000);
  for (const name of ['~old', '~young', 'a-blob']) {
    await writeFile(join(folder, name), 'content');
    if (name !== '~young') await utimes(join(folder, name), old, old);
  }
  await fileBlobs(folder);
  t.deepEqual((await readdir(folder)).sort(), ['a-blob', '~young']);
});

test('a put that cannot rename its file leaves nothing unfinished', async (t) => {
  const folder = await folderOf(t);
  const blobs = await fileBlobs(folder);
  await mkdir(join(folder, 'a', 'b'), { recursive: true });
  await t.throwsAsync(blobs.put('a', Readable.from(['content'])));
  t.deepEqual(await readdir(folder), ['a']);
});

test('only the owner can read blobs and their folders', async (t) => {
  const folder = join(await folderOf(t), 'blobs');
  const blobs = await fileBlobs(folder);
  await blobs.put('a/b', Readable.from(['content']));
  const modes = await Promise.all(['', 'a', 'a/b'].map(async (path) => (await stat(join(folder, path))).mode & 0o777));
  t.deepEqual(modes, [0o700, 0o700, 0o600]);
});

async function folderOf(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'blobs-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}
