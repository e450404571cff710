// What is written in bulk leaves the reserve of the disk to users. The reserve here is larger than any disk.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test from 'ava';
import { openFileBlobs } from '../../adapters/blobs/files/file-blobs.ts';
import { filledFolder, folder, ops } from '../support/filled-log.ts';
import { startTestService } from '../support/service.ts';

const ALL = '10000000';

test('exports and answers are refused at the reserve, with the figures, and leave no file', async (t) => {
  const [DATA_DIR, out] = [await filledFolder(t), await folder(t)];
  const env = { DATA_DIR, DISK_RESERVE_MB: ALL };
  for (const name of ['a.jsonl', 'a.csv', 'a.parquet']) {
    for (const words of [
      ['export', '--out', join(out, name)],
      ['query', '--output', join(out, name), 'FROM jobs'],
    ]) {
      const { code, stderr } = await ops(env, ...words);
      t.is(code, 2, words.join(' '));
      t.regex(
        stderr,
        /^the disk of .* has [\d,]+ MB free, and 10,000,000 MB are kept for users \(DISK_RESERVE_MB\)\n$/,
      );
      t.is((await ops({ ...env, DISK_RESERVE_MB: '0' }, ...words)).code, 0);
      t.true((await stat(join(out, name))).size > 0);
    }
  }
  t.deepEqual((await readdir(out)).sort(), ['a.csv', 'a.jsonl', 'a.parquet']);
});

test('an upload is refused at the reserve as without room, and small writes go on', async (t) => {
  const service = await startTestService({ DISK_RESERVE_MB: ALL });
  t.teardown(() => service.stop());
  const alice = await service.client('alice');
  const refused = await alice.upload('https://a.example/');
  t.deepEqual([refused.status, refused.body.code], [503, 'storage_full']);
  t.is((await alice.ask('POST', '/users/me/api-keys', { name: 'small' })).status, 201);
});

test('a blob that comes to the reserve while it is written is not there', async (t) => {
  const root = await folder(t);
  let chunks = 0;
  const assertRoom = () => {
    if (++chunks > 3) throw Object.assign(new Error('full'), { code: 'storage_full' });
  };
  const blobs = await openFileBlobs({ folder: root, sign: (key) => key, assertRoom });
  const content = (count: number) => Readable.from(Array.from({ length: count }, () => Buffer.from('chunk')));
  await t.throwsAsync(blobs.put('uploads/large', content(5)), { code: 'storage_full' });
  t.deepEqual(await readdir(root), []);
  chunks = 0;
  t.deepEqual(await blobs.put('uploads/small', content(2)), { size_bytes: 10 });
});
