// The guide on stored files, as far as it is about buckets: the service runs over a MinIO of the test's own, as its reader would run it.
// The part about folders is in test/guides/stored-files.test.ts.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CreateBucketCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import test, { type ExecutionContext } from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { until } from '../support/behind.ts';
import { findMinio, type Minio, startMinio } from '../support/minio.ts';
import { listedSuites } from '../support/server-suites.ts';
import { openTestClient } from '../support/service.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

const GUIDE = await readFile(new URL('../../docs/guides/stored-files.md', import.meta.url), 'utf8');
const BUCKET = 'my-bucket';
const CSV = 'url\r\nhttp://127.0.0.1:9/ü\r\n';

const program = listedSuites(process.env.SERVER_SUITES).includes('s3') ? findMinio() : null;
if (program === null) test.todo('stored files in a bucket: left out without MINIO_BIN');
else {
  const minio = await startMinio(program);
  const s3 = clientOf(minio);
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  test.after.always(() => minio.remove());

  test.serial(
    'an uploaded file is in the bucket that the URL of the guide names, has a link, and goes with its job',
    async (t) => {
      const service = await start(t, { BLOB_URL: urlOf(minio) });
      const alice = await aliceAt(service);
      const { job_id } = (await alice.upload(CSV, '', 'Mai "größte".csv')).body;
      t.is(await objectOf(s3, `uploads/${job_id}`), CSV);
      await alice.ended(job_id);
      const root = await clientAt(service, 'root', true);
      const link = (await root.ask('GET', `/admin/jobs/${job_id}/input-csv`)).body;
      t.is(new URL(link.url).origin, minio.url);
      const file = await fetch(link.url);
      t.deepEqual([file.headers.get('content-type'), await file.text()], ['text/csv', CSV]);
      t.true(file.headers.get('content-disposition')!.endsWith(`filename*=UTF-8''Mai%20%22gr%C3%B6%C3%9Fte%22.csv`));
      t.is((await fetch(link.url.replace('X-Amz-Expires=', 'X-Amz-Expires=9'))).status, 403);
      t.is((await alice.ask('DELETE', `/jobs/${job_id}`)).status, 200);
      await until(async () => (await objectOf(s3, `uploads/${job_id}`)) === null);
    },
  );

  test.serial('files move from a folder to a bucket as the guide says', async (t) => {
    const before = await start(t, {});
    const { job_id } = (await (await aliceAt(before)).upload(CSV)).body;
    t.is(await before.stop(), 0);
    const Body = await readFile(join(before.data_dir, 'blobs/uploads', job_id));
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: `some/prefix/uploads/${job_id}`, Body }));
    await rm(join(before.data_dir, 'blobs'), { recursive: true });
    const after = await start(t, { DATA_DIR: before.data_dir, BLOB_URL: urlOf(minio, '/some/prefix') });
    const alice = await aliceAt(after);
    await alice.ended(job_id);
    const exported = await alice.ask('GET', `/jobs/${job_id}/export?original=true`);
    t.is(exported.status, 200);
    t.true(exported.body.includes('http://127.0.0.1:9/ü,2,'), exported.body);
  });

  test.serial('a bucket that is missing, and a secret that is wrong, end the start with one line', async (t) => {
    const shown = /^BLOB_URL cannot be used: .*$/m.exec(GUIDE)![0];
    t.true((await refusal(t, { BLOB_URL: urlOf(minio).replace(BUCKET, 'no-bucket') })).includes(shown));
    const said = await refusal(t, { BLOB_URL: urlOf(minio).replace('@my', 'a@my') });
    t.regex(said, /BLOB_URL cannot be used: SignatureDoesNotMatch: /);
    t.false(said.includes(minio.credentials.secret_access_key), said);
  });

  test.serial('the start waits for a store that is away, says so, and continues when it is there', async (t) => {
    const late = await startMinio(program);
    t.teardown(() => late.remove());
    await clientOf(late).send(new CreateBucketCommand({ Bucket: BUCKET }));
    await late.kill();
    const service = await start(t, { BLOB_URL: urlOf(late) });
    const readiness = async () => await (await fetch(`${service.url}/readyz`)).text();
    await until(async () => (await readiness()).includes('the store of files does not answer'));
    await late.start();
    t.is((await (await aliceAt(service)).upload(CSV)).status, 201);
  });
}

/** The guide's URL of another store, with the address and the credentials of this one. */
function urlOf({ url, credentials }: Minio, prefix = ''): string {
  const [shown] = /s3:\/\/KEY_ID:SECRET@my-bucket\?endpoint=https:\/\/s3\.example\.com/.exec(GUIDE)!;
  return shown
    .replace('KEY_ID', credentials.access_key_id)
    .replace('SECRET', encodeURIComponent(credentials.secret_access_key))
    .replace('?endpoint=https://s3.example.com', `${prefix}?endpoint=${url}`);
}

function clientOf({ url: endpoint, credentials: { access_key_id, secret_access_key } }: Minio): S3Client {
  const credentials = { accessKeyId: access_key_id, secretAccessKey: secret_access_key };
  return new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
}

/** Null when the bucket has none. */
async function objectOf(s3: S3Client, Key: string): Promise<string | null> {
  try {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
    return await text(Body as NodeJS.ReadableStream);
  } catch (error) {
    if (error instanceof NoSuchKey) return null;
    throw error;
  }
}

interface Started extends ServiceProcess {
  data_dir: string;
}

async function start(t: ExecutionContext, env: Record<string, string>): Promise<Started> {
  const data_dir = env.DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'stored-files-')));
  t.teardown(() => rm(data_dir, { recursive: true, force: true }));
  const settings = { CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8', CHECKER_RETRIES: '0', ...env, DATA_DIR: data_dir };
  const service = await startServiceProcess(settings);
  t.teardown(() => service.kill());
  return { ...service, data_dir };
}

async function refusal(t: ExecutionContext, env: Record<string, string>): Promise<string> {
  const { message } = await t.throwsAsync(start(t, env));
  t.regex(message, /^the service ended with 2:/);
  return message;
}

const aliceAt = (service: Started) => clientAt(service, 'alice', false);

/** A client of the service, once that is ready. */
async function clientAt({ url, data_dir }: Started, user_id: string, is_admin: boolean) {
  await until(async () => (await fetch(`${url}/readyz`)).status === 200);
  const user = { user_id, email: `${user_id}@example.com`, is_admin, hours: 1 };
  return openTestClient(url, await issueLocalToken(data_dir, user));
}
