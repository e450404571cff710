// Backups in a bucket: one of several parts of an upload, read again from there, and one whose store goes away.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import test, { type ExecutionContext } from 'ava';
import { openS3Blobs, type S3Blobs } from '../../adapters/blobs/s3/s3-blobs.ts';
import { verifyBackup } from '../../backups/read-backup.ts';
import { restoreBackup } from '../../backups/restore-backup.ts';
import { writeBackup } from '../../backups/write-backup.ts';
import { eventsOf, filesOf, openWorld, restoredEventsOf, use, type World } from '../backups/used-store.ts';
import { findMinio, type Minio, startMinio } from '../support/minio.ts';
import { listedSuites } from '../support/server-suites.ts';

const key = 'backups/b-1/file.ndjson.zst';
const { signal } = new AbortController();
const write = ({ stored_log: log }: World, blobs: S3Blobs) =>
  writeBackup({ backup_id: 'b-1', log, blobs, key, now: Date.now(), signal });

const program = listedSuites(process.env.SERVER_SUITES).includes('s3') ? findMinio() : null;
if (program === null) test.todo('backups in a bucket: left out without MINIO_BIN');
else {
  test('a backup of several parts in a bucket is whole, and restores into another bucket', async (t) => {
    const minio = await start(t, program);
    const [blobs, others] = [await bucket(t, minio, 'one'), await bucket(t, minio, 'other')];
    const [world, target] = [await openWorld(t, 'sqlite'), await openWorld(t, 'eventstoredb')];
    await use({ ...world, blobs });
    await blobs.put('notes/random', Readable.from([randomBytes(12_000_000)]));
    const written = await write(world, blobs);
    t.true(written.size_bytes > 12_000_000);
    const open = async () => (await blobs.get(key))!;
    t.is((await verifyBackup(open)).sha256, written.sha256);
    await restoreBackup({ open, into: async () => ({ log: target.stored_log, blobs: others }) });
    t.deepEqual(await restoredEventsOf(target.stored_log), await eventsOf(world.stored_log));
    t.deepEqual(await filesOf(others), await filesOf(blobs));
  });

  test('a backup whose bucket goes away fails as unavailable, and puts nothing', async (t) => {
    const minio = await start(t, program);
    const blobs = await bucket(t, minio, 'away');
    const world = await openWorld(t, 'sqlite');
    await use({ ...world, blobs });
    await blobs.put('notes/random', Readable.from([randomBytes(12_000_000)]));
    let parts = 0;
    const writing = writeBackup({
      ...{ backup_id: 'b-1', log: world.stored_log, blobs, key, now: Date.now(), signal },
      onPart: () => {
        parts += 1;
        if (parts === 3) minio.kill().catch(() => {});
      },
    });
    await t.throwsAsync(writing, { code: 'unavailable' });
    await minio.start();
    t.deepEqual(await Array.fromAsync(blobs.list('backups/')), []);
    t.true((await write(world, blobs)).files > 6);
  });
}

async function start(t: ExecutionContext, binary: string): Promise<Minio> {
  const minio = await startMinio(binary);
  t.teardown(() => minio.remove());
  return minio;
}

async function bucket(t: ExecutionContext, { url: endpoint, credentials }: Minio, name: string): Promise<S3Blobs> {
  const { access_key_id, secret_access_key } = credentials;
  const keys = { accessKeyId: access_key_id, secretAccessKey: secret_access_key };
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: keys });
  await client.send(new CreateBucketCommand({ Bucket: name }));
  client.destroy();
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-bucket-'));
  const blobs = await openS3Blobs({
    bucket: name,
    prefix: '',
    endpoint,
    public_endpoint: null,
    region: 'us-east-1',
    path_style: true,
    credentials,
    folder,
  });
  t.teardown(async () => {
    await blobs.close();
    await rm(folder, { recursive: true, force: true });
  });
  return blobs;
}
