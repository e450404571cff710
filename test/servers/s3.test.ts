// Stored files in a bucket: the contract, and what becomes of reads and writes when the store breaks off, goes away or has no room.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { CreateBucketCommand, ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import test, { type ExecutionContext } from 'ava';
import { PART_BYTES } from '../../adapters/blobs/s3/put-object.ts';
import { openS3Blobs, type S3Blobs } from '../../adapters/blobs/s3/s3-blobs.ts';
import { type BlobsFixture, blobsContract } from '../contracts/blobs.ts';
import { until } from '../support/behind.ts';
import { findMinio, type Minio, startMinio } from '../support/minio.ts';
import { listedSuites, serverSuite } from '../support/server-suites.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

type Place = Pick<Minio, 'url' | 'credentials'>;
const DEFAULT_USER = { access_key_id: 'minioadmin', secret_access_key: 'minioadmin' };

// A server of our own can be killed, so it is preferred; one that is named is tested besides.
const binary = listedSuites(process.env.SERVER_SUITES).includes('s3') ? findMinio() : null;
const url =
  binary !== null && !process.env.S3_URL
    ? null
    : await serverSuite('s3', {
        url_env: 'S3_URL',
        container: {
          image: 'minio/minio:RELEASE.2025-09-07T16-13-09Z',
          port: 9000,
          command: ['server', '/data'],
          ready: /API:/,
          url: (host, port) => `http://${host}:${port}`,
        },
      });
if (url !== null) blobsContract('S3_URL', () => fixture({ url, credentials: DEFAULT_USER }));
if (binary !== null) {
  const own = await startMinio(binary);
  test.after.always(() => own.remove());
  blobsContract('S3', () => fixture(own));
  testFailures(binary, own);
}

async function fixture(place: Place): Promise<BlobsFixture> {
  const { open, client, Bucket, remove } = await newBucket(place);
  return {
    open,
    async stored() {
      const [{ Contents = [] }, { Uploads = [] }] = await Promise.all([
        client.send(new ListObjectsV2Command({ Bucket })),
        client.send(new ListMultipartUploadsCommand({ Bucket })),
      ]);
      return [...Contents, ...Uploads].map(({ Key }) => Key!);
    },
    remove,
  };
}

/** A bucket of its own, with blobs under a prefix. */
async function newBucket({ url, credentials }: Place) {
  const Bucket = `test-${randomUUID()}`;
  const folder = await mkdtemp(join(tmpdir(), 's3-'));
  const client = new S3Client({
    ...{ endpoint: url, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId: credentials.access_key_id, secretAccessKey: credentials.secret_access_key },
  });
  await client.send(new CreateBucketCommand({ Bucket }));
  const opened: S3Blobs[] = [];
  return {
    client,
    Bucket,
    folder,
    async open(more: { endpoint?: string; answer_ms?: number } = {}) {
      const place = { bucket: Bucket, prefix: 'of-tests/', endpoint: url, public_endpoint: null, region: 'us-east-1' };
      const blobs = await openS3Blobs({ ...place, path_style: true, credentials, folder, ...more });
      opened.push(blobs);
      return blobs;
    },
    async remove() {
      for (const blobs of opened) await blobs.close();
      client.destroy();
      await rm(folder, { recursive: true });
    },
  };
}

/** Requests of these tests wait no longer for an answer. */
const ANSWER_MS = 2_000;
const unavailable = { code: 'unavailable' };
const bytes = (length: number) => Buffer.alloc(length, randomBytes(1021));
const piecewise = (content: Buffer) =>
  Readable.from(
    Array.from({ length: Math.ceil(content.length / 70_000) }, (_, n) =>
      content.subarray(n * 70_000, (n + 1) * 70_000),
    ),
  );

function testFailures(program: string, own: Minio): void {
  const it = (
    title: string,
    run: (t: ExecutionContext, bucket: Awaited<ReturnType<typeof newBucket>>) => Promise<void>,
  ) =>
    test(`S3: ${title}`, async (t) => {
      const bucket = await newBucket(own);
      t.teardown(bucket.remove);
      await run(t, bucket);
    });

  it('content of several parts reads back, and takes whole parts', async (t, { open }) => {
    const blobs = await open();
    for (const length of [PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES, 2.5 * PART_BYTES]) {
      const content = bytes(length);
      t.deepEqual(await blobs.put('a', piecewise(content)), { size_bytes: length });
      t.true((await buffer((await blobs.get('a'))!)).equals(content), String(length));
      t.deepEqual(await Array.fromAsync(blobs.list('')), [{ key: 'a', size_bytes: length }]);
    }
  });

  it('a stream that breaks after two parts leaves none of them', async (t, { open, client, Bucket }) => {
    const blobs = await open();
    // MinIO lists them by the whole name alone.
    const named = new ListMultipartUploadsCommand({ Bucket, Prefix: 'of-tests/a' });
    const unfinished = async () => (await client.send(named)).Uploads ?? [];
    const breaking = Readable.from(
      (async function* () {
        yield bytes(2 * PART_BYTES);
        await until(async () => (await unfinished()).length === 1);
        yield bytes(PART_BYTES);
        throw new Error('the client went away');
      })(),
    );
    await t.throwsAsync(blobs.put('a', breaking), { message: 'the client went away' });
    t.is(await blobs.get('a'), null);
    t.deepEqual(await unfinished(), []);
  });

  it('a list goes over several pages', async (t, { open }) => {
    const blobs = await open();
    const keys = Array.from({ length: 1001 }, (_, n) => `many/${n}`);
    for (let n = 0; n < keys.length; n += 50)
      await Promise.all(keys.slice(n, n + 50).map((key) => blobs.put(key, Readable.from([]))));
    const listed = await Array.fromAsync(blobs.list('many/'), ({ key }) => key);
    t.deepEqual(listed.sort(), keys.sort());
  });

  it('a read goes on after its connection broke, and fails when the blob has changed', async (t, { open }) => {
    const proxy = new TcpProxy({ host: '127.0.0.1', port: Number(new URL(own.url).port) });
    await proxy.open();
    t.teardown(() => proxy.cut());
    const blobs = await open({ endpoint: `http://127.0.0.1:${proxy.port}` });
    const content = bytes(40 * 1024 * 1024);
    await blobs.put('a', Readable.from([content]));
    const [reading, doomed] = [(await blobs.get('a'))!, (await blobs.get('a'))!];
    const read = async (from: Readable, cut: () => Promise<unknown>) => {
      const pieces: Buffer[] = [];
      for await (const piece of from) if (pieces.push(piece) === 10) await cut();
      return Buffer.concat(pieces);
    };
    const breakOff = () => proxy.cut().then(() => proxy.open());
    t.true((await read(reading, breakOff)).equals(content));
    const change = () => blobs.put('a', Readable.from(['b'])).then(breakOff);
    await t.throwsAsync(read(doomed, change), unavailable);
  });

  it('a copy is there until it is released, and one that was left behind goes a day later', async (t, {
    open,
    folder,
  }) => {
    const old = new Date(Date.now() - 25 * 60 * 60_000);
    await writeFile(join(folder, 'left-behind'), '');
    await utimes(join(folder, 'left-behind'), old, old);
    const blobs = await open();
    await blobs.put('a', Readable.from(['content']));
    const [one, other] = [(await blobs.file('a'))!, (await blobs.file('a'))!];
    t.is((await readdir(folder)).length, 2);
    await one.release();
    t.is(await readFile(other.path, 'utf8'), 'content');
    await other.release();
    t.deepEqual(await readdir(folder), []);
  });

  it('what the store refuses is named at the start, without the secret', async (t, { Bucket, folder }) => {
    const { credentials, url: endpoint } = own;
    const right = {
      bucket: Bucket,
      prefix: '',
      endpoint,
      public_endpoint: null,
      region: 'us-east-1',
      path_style: true,
    };
    const refused = (wrong: object) => t.throwsAsync(openS3Blobs({ ...right, credentials, folder, ...wrong }));
    const no_bucket = await refused({ bucket: 'no-such-bucket' });
    t.regex(no_bucket.message, /^NoSuchBucket: /);
    for (const wrong of [{ secret_access_key: 'wrong-secret' }, { access_key_id: 'nobody' }]) {
      const { message } = await refused({ credentials: { ...credentials, ...wrong } });
      t.regex(message, /^(SignatureDoesNotMatch|InvalidAccessKeyId): /);
      t.false(message.includes('secret'), message);
    }
  });

  test('S3: a store that is away or silent is unavailable, and is used again when it is back', async (t) => {
    const minio = await startMinio(program);
    t.teardown(() => minio.remove());
    const { open, remove } = await newBucket(minio);
    t.teardown(remove);
    const blobs = await open({ answer_ms: ANSWER_MS });
    await blobs.put('a', Readable.from(['content']));
    const calls: Record<string, () => Promise<unknown>> = {
      put: () => blobs.put('b', Readable.from(['content'])),
      'large put': () => blobs.put('b', Readable.from([bytes(PART_BYTES + 1)])),
      get: () => blobs.get('a'),
      file: () => blobs.file('a'),
      // Of another blob: the store may still do it when it runs again.
      delete: () => blobs.delete('none'),
      list: () => Array.fromAsync(blobs.list('')),
      open: () => open({ answer_ms: ANSWER_MS }),
    };
    const assertAway = (how: string, names = Object.keys(calls)) =>
      Promise.all(names.map((name) => t.throwsAsync(calls[name]!(), unavailable, `${how}: ${name}`)));
    await minio.freeze();
    // A silent store may take its time to write.
    await assertAway('silent', ['get', 'delete', 'list', 'open']);
    minio.thaw();
    t.is((await buffer((await blobs.get('a'))!)).toString(), 'content');
    await minio.kill();
    await assertAway('away');
    await minio.start();
    for (const call of Object.values(calls)) await t.notThrowsAsync(call());
  });
}
