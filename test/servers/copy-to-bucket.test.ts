// A copy of the events in a bucket: its manifest names objects of Parquet that have what SQL over the log has, also after kill -9 at each step.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import test, { type ExecutionContext } from 'ava';
import { openS3Blobs } from '../../adapters/blobs/s3/s3-blobs.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { COPIED_TABLES } from '../../analysis/copy.ts';
import { openDatabase } from '../../analysis/duckdb.ts';
import type { StoredLog } from '../../events/event-store.ts';
import { type BlobBucket, parseBlobUrl } from '../../settings/blob-url.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { fillLedger } from '../support/audited-ledger.ts';
import { rowsIn, rowsOfLog } from '../support/copied-rows.ts';
import { folder, ops } from '../support/filled-log.ts';
import { findMinio, type Minio, startMinio } from '../support/minio.ts';
import { listedSuites } from '../support/server-suites.ts';

const PROGRAM = join(import.meta.dirname, '../analysis/publishing-until.ts');
const binary = listedSuites(process.env.SERVER_SUITES).includes('s3') ? findMinio() : null;
if (binary === null) test.skip('copies in a bucket', (t) => t.pass());
else {
  const minio = await startMinio(binary);
  test.after.always(() => minio.remove());
  bucketTests(minio);
}

async function newBucket({ url, credentials }: Minio, Bucket: string): Promise<string> {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = credentials;
  const client = new S3Client({
    ...{ endpoint: url, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId, secretAccessKey },
  });
  await client.send(new CreateBucketCommand({ Bucket }));
  client.destroy();
  const login = [accessKeyId, secretAccessKey].map(encodeURIComponent).join(':');
  return `s3://${login}@${Bucket}/copies?endpoint=${encodeURIComponent(url)}`;
}

/** Every table of the manifest is as SQL over the log has it, and no other object is there. */
async function assertSame(t: ExecutionContext, log: StoredLog, place: string): Promise<void> {
  const own = await mkdtemp(join(tmpdir(), 'bucket-'));
  const blobs = await openS3Blobs({ ...(parseBlobUrl(place) as BlobBucket), folder: own });
  const database = await openDatabase();
  try {
    const { position, tables } = JSON.parse(await text((await blobs.get('manifest.json'))!)) as {
      position: string;
      tables: Record<string, { key: string }>;
    };
    t.is(position, await log.head());
    t.deepEqual(Object.keys(tables).sort(), [...COPIED_TABLES].sort());
    const objects = await Array.fromAsync(blobs.list('tables/'), ({ key }) => key);
    t.deepEqual(
      objects.sort(),
      Object.values(tables)
        .map(({ key }) => key)
        .sort(),
    );
    for (const [name, rows] of await rowsOfLog(log)) {
      const { path } = (await blobs.file(tables[name]!.key))!;
      t.deepEqual(await rowsIn(database, `FROM read_parquet('${path}')`), rows, name);
    }
  } finally {
    await Promise.all([database.close(), blobs.close()]);
    await rm(own, { recursive: true });
  }
}

function bucketTests(minio: Minio): void {
  test('events copy keeps a bucket: tables that change are new objects, and what the log has lost goes', async (t) => {
    t.timeout(300_000);
    const [DATA_DIR, place] = [await folder(t), await newBucket(minio, 'one')];
    const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
    t.teardown(() => log.close());
    await fillAnalysed(log);
    const copy = async () => {
      const { code, stdout, stderr } = await ops({ DATA_DIR }, 'copy', '--to', place);
      t.is(code, 0, stderr);
      await assertSame(t, log, place);
      return stdout;
    };
    await copy();
    await fillLedger(log);
    for (const stream of ['urls-jan-1', 'checks-jan-1-0']) await log.deleteStream(stream);
    t.regex(await copy(), /, 2 events removed/);
    await rm(join(DATA_DIR, 'copies'), { recursive: true });
    await copy();
    t.regex((await ops({ DATA_DIR }, 'copy', '--to', 's3://a:secret@')).stderr, /^--to s3:\/\/: it must name a bucket/);
  });

  test('a copy to a bucket that is killed at any step names whole objects of one position', async (t) => {
    t.timeout(300_000);
    const [at, place] = [await folder(t), await newBucket(minio, 'two')];
    const path = join(at, 'events.db');
    const log = await openSqliteEventStore({ path });
    t.teardown(() => log.close());
    await fillAnalysed(log);
    const file = join(at, 'copy.duckdb');
    const env = { ...process.env, TMPDIR: at };
    const run = async (last: number) =>
      Number(
        (await promisify(execFile)(process.execPath, [PROGRAM, path, file, place, at, String(last)], { env })).stdout,
      );
    await run(-1);
    let steps = 0;
    // From the second time on, the same tables change.
    for (let n = 0; n < 2; n += 1) {
      await fillLedger(log);
      steps = await run(-1);
    }
    t.true(steps > 20, String(steps));
    for (const last of [0, 1, 10, steps - 3, steps - 2, steps - 1]) {
      await fillLedger(log);
      await t.throwsAsync(run(last), { message: /Command failed/ }, `it is killed at step ${last}`);
      await run(-1);
      await assertSame(t, log, place);
    }
  });

  /** Two machines over one log, each with a working copy of its own. */
  async function twoMachines(t: ExecutionContext, bucket: string) {
    const [at, place] = [await folder(t), await newBucket(minio, bucket)];
    const path = join(at, 'events.db');
    const log = await openSqliteEventStore({ path });
    t.teardown(() => log.close());
    await fillAnalysed(log);
    const options = { env: { ...process.env, TMPDIR: at } };
    const args = (machine: string) => [PROGRAM, path, join(at, `${machine}.duckdb`), place, at];
    const publish = (machine: string) =>
      promisify(execFile)(process.execPath, [...args(machine), '-1'], options).then(
        () => 'published',
        ({ stderr }) => String(stderr),
      );
    const publishUntil = async (machine: string, step: number) => {
      const child = spawn(process.execPath, [...args(machine), String(step), 'SIGSTOP'], options);
      t.teardown(() => child.kill('SIGKILL'));
      await once(child.stdout, 'data');
      let said = '';
      child.stderr.on('data', (text) => {
        said += text;
      });
      return async () => {
        child.kill('SIGCONT');
        const [code] = await once(child, 'close');
        return code === 0 ? 'published' : said;
      };
    };
    return { at, log, place, publish, publishUntil };
  }

  test('a machine that another one has taken the bucket over from is refused, until its working copy is removed', async (t) => {
    t.timeout(300_000);
    const { at, log, place, publish } = await twoMachines(t, 'three');
    t.is(await publish('a'), 'published');
    t.is(await publish('b'), 'published');
    await fillLedger(log);
    t.regex(await publish('a'), /another machine has brought its copy there since/);
    t.is(await publish('b'), 'published');
    await assertSame(t, log, place);
    await rm(join(at, 'a.duckdb'));
    t.is(await publish('a'), 'published');
    await assertSame(t, log, place);
  });

  test('of two machines that publish at once, one is refused, and no object of the other is deleted', async (t) => {
    t.timeout(300_000);
    const { log, place, publish, publishUntil } = await twoMachines(t, 'four');
    const continueA = await publishUntil('a', COPIED_TABLES.length - 1);
    t.is(await publish('b'), 'published');
    t.regex(await continueA(), /another machine brought its copy there just now/);
    await assertSame(t, log, place);

    // The manifest is there, and what it does not name is not yet deleted, when the next machine begins.
    const continueC = await publishUntil('c', COPIED_TABLES.length);
    const continueD = await publishUntil('d', COPIED_TABLES.length - 1);
    t.is(await continueC(), 'published');
    t.is(await continueD(), 'published');
    await assertSame(t, log, place);
  });
}
