// What administrators do with single jobs: run a failed job again for its owner, and fetch the file that it was made from.
import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { uploadKey } from '../../commands/jobs/job-blobs.ts';
import { openErasures } from '../../commands/users/user.ts';
import type { JobCreated } from '../../events/job.ts';
import { jobStream } from '../../events/streams.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { type Behind, eventsOf, openBehind, until } from '../support/behind.ts';
import { openTestClient, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { commandContext } from '../support/stores.ts';

let service: TestService;
let behind: Behind;
let root: TestClient;

test.before(async () => {
  // Nobody checks here, so that a job fails when the test says so.
  service = await startTestService({ ROLES: 'http,projector,processes' });
  behind = await openBehind(service.data_dir);
  root = await service.client('root', { is_admin: true });
});
test.after.always(async () => {
  await behind?.close();
  await service?.stop();
});

const FILE =
  'note,link\r\nfirst,http://127.0.0.1:9/a\r\nagain,http://127.0.0.1:9/a\r\nsecond,127.0.0.1:9/b\r\nthird,http://127.0.0.1:9/c\r\n';
const rerun = (job_id: string) => root.ask('POST', `/admin/jobs/${job_id}/rerun`);
const inputOf = (job_id: string) => root.ask('GET', `/admin/jobs/${job_id}/input-csv`);
const balanceOf = async (client: TestClient) => (await client.ask('GET', '/users/me/credits')).body.credit_balance;
const jobsOf = async (user_id: string) => (await root.ask('GET', `/jobs?email=${user_id}@example.com`)).body.total;

/** Waits until everybody reads what the answer tells. */
const shown = async (headers: Headers) =>
  void (await openReadModels(behind.documents).passed(headers.get('x-log-position')!, 60_000));

async function upload(client: TestClient, query = '', filename = 'May.csv'): Promise<string> {
  const { status, body, headers } = await client.upload(FILE, query, filename);
  if (status !== 201) throw new Error(JSON.stringify(body));
  await shown(headers);
  return body.job_id;
}

async function fail(job_id: string): Promise<string> {
  const failed = await openJobs(behind.log).run(job_id, { type: 'fail', reason: 'no_progress' }, commandContext());
  if (!failed.ok) throw new Error(failed.refused.message);
  await openReadModels(behind.documents).passed(failed.position, 5000);
  return job_id;
}

test('a rerun reads the upload as the owner wanted it read, and is charged, kept and mailed as their own', async (t) => {
  const alice = await service.client('alice');
  const failed = await fail(await upload(alice, '?column=B&auto_add_prefix=false'));
  t.is(await balanceOf(alice), 298);
  const { status, body, headers } = await rerun(failed);
  t.is(status, 201);
  t.like(body, { status: 'processing', source: 'rerun', total_urls: 2, credits_allocated: 2, duplicates_removed: 1 });
  t.is(headers.get('location'), `/jobs/${body.job_id}`);
  await shown(headers);
  t.is(await balanceOf(alice), 296);
  t.like((await alice.ask('GET', `/jobs/${body.job_id}`)).body, { source: 'rerun', invalid_urls_rejected: 1 });
  t.is((await alice.ask('GET', `/jobs/${failed}`)).body.status, 'failed');
  t.is((await alice.ask('GET', `/jobs/${body.job_id}/rejected`)).body.items.length, 2);

  const [created] = await eventsOf(behind.log, jobStream(body.job_id));
  t.like(created!.data as JobCreated, { owner_id: 'alice', owner_email: 'alice@example.com', rerun_of: failed });
  t.is(created!.metadata.actor, 'admin:root');
  const trail = await root.ask('GET', '/admin/audit-trail?action=job_rerun&user_id=alice');
  t.like(trail.body.items[0], { admin_id: 'root', target: body.job_id, details: { rerun_of: failed } });
  // The new job has a file of its own, which outlives that of the failed one.
  t.is((await alice.ask('DELETE', `/jobs/${failed}`)).status, 200);
  await until(async () => (await behind.blobs.get(uploadKey(failed))) === null);
  const link = (await inputOf(body.job_id)).body;
  t.is(link.filename, 'May.csv');
  t.is(await (await fetch(link.url)).text(), FILE);

  const folder = join(service.data_dir, 'outbox', hash('sha256', 'alice', 'hex').slice(0, 32));
  const mails = () => readdir(folder).catch(() => []);
  await until(async () => (await mails()).some((name) => name.endsWith('.eml')));
  const mail = await readFile(join(folder, (await mails()).find((name) => name.endsWith('.eml'))!), 'utf8');
  t.true(mail.includes('To: alice@example.com') && mail.includes(failed) && mail.includes(body.job_id), mail);
});

test('many reruns at once make one job, and a later one gets its answer', async (t) => {
  const bob = await service.client('bob');
  const failed = await fail(await upload(bob));
  const answers = await Promise.all(Array.from({ length: 5 }, () => rerun(failed)));
  t.true(answers.every(({ status, body }) => status === 201 || body.code === 'idempotency_in_progress'));
  const made = answers.filter(({ status }) => status === 201).map(({ body }) => body);
  t.is(made[0].filename, 'May.csv');
  for (const body of made) t.deepEqual(body, made[0]);
  const again = await rerun(failed);
  t.deepEqual([again.status, again.headers.get('idempotency-replayed')], [201, 'true']);
  t.deepEqual([again.body, await jobsOf('bob'), await balanceOf(bob)], [made[0], 2, 294]);
  // The name of the file is sealed where the log keeps it with the job.
  const keys = await Array.fromAsync(behind.log.readAll({ filter: { categories: ['idempotency'] } }));
  t.notRegex(JSON.stringify(keys), /May\.csv/);
});

test('a job that was posted as a list is run again without the domains that are blocked since', async (t) => {
  const carol = await service.client('carol');
  const key = await service.keyHolder('carol');
  const urls = ['https://stays.example/1', 'https://goes.example/', 'https://stays.example/2'];
  const failed = await fail((await key.ask('POST', '/api/v2/jobs', { urls })).body.job_id);
  t.is((await root.ask('POST', '/domains/blocked', { domain: 'goes.example' })).status, 201);
  const { status, body, headers } = await rerun(failed);
  t.is(status, 201, JSON.stringify(body));
  await shown(headers);
  t.like(body, { total_urls: 2, blocked_urls_skipped: 1 });
  t.is(await balanceOf(carol), 295);
  const input = await inputOf(body.job_id);
  t.deepEqual([input.status, input.body.code], [404, 'no_file']);
});

test('a rerun is refused for a job that has not failed, an owner without credits or account, and a lost file', async (t) => {
  const dave = await service.client('dave');
  const refused = async (job_id: string) => {
    const { status, body } = await rerun(job_id);
    return [status, body.code];
  };
  const working = await upload(dave);
  t.deepEqual(await refused(working), [409, 'not_failed']);
  const failed = await fail(working);
  await behind.blobs.delete(uploadKey(failed));
  t.deepEqual(await refused(failed), [409, 'upload_missing']);
  t.deepEqual([(await inputOf(failed)).status, (await inputOf(failed)).body.code], [404, 'upload_missing']);
  t.is((await dave.ask('DELETE', `/jobs/${failed}`)).status, 200);
  t.deepEqual(await refused(failed), [404, 'job_not_found']);
  t.is((await inputOf(failed)).status, 404);
  for (const unknown of ['00000000-0000-4000-8000-000000000000', 'x', '..%2f..%2fetc']) {
    t.deepEqual(await refused(unknown), [404, 'job_not_found']);
    t.is((await inputOf(unknown)).status, 404);
  }

  const last = await fail(await upload(dave));
  const spent = Array.from({ length: 297 }, (_, n) => `http://127.0.0.1:9/${n}`).join('\n');
  t.is((await dave.upload(spent)).status, 201);
  t.is(await balanceOf(dave), 0);
  t.deepEqual(await refused(last), [402, 'no_credits']);
  await behind.grant('dave', 1);
  const paused = await rerun(last);
  t.like(paused.body, { total_urls: 3, credits_allocated: 1 });
  t.is(paused.status, 201);

  const gone = await fail(await upload(await service.client('gone')));
  await openErasures(behind.log).erase('gone', commandContext());
  const [status, code] = await refused(gone);
  // The erasure deletes the job a moment later.
  t.true(code === 'owner_erased' ? status === 409 : status === 404 && code === 'job_not_found', `${status} ${code}`);
});

test('the link to an upload gives its bytes under its name, to nobody who changes it, and no longer than the file', async (t) => {
  const erin = await service.client('erin');
  const job_id = await upload(erin, '', 'Mai "größte", <b>\u202e.csv');
  const { status, body, headers } = await inputOf(job_id);
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  t.is(body.filename, 'Mai "größte", <b>\u202e.csv');
  const left_s = (Date.parse(body.expires_at) - Date.now()) / 1000;
  t.true(left_s > 3500 && left_s <= 3600, String(left_s));
  const file = await fetch(body.url);
  t.deepEqual([file.status, file.headers.get('content-type')], [200, 'text/csv']);
  t.is(
    file.headers.get('content-disposition'),
    `attachment; filename="Mai _gr__te_, <b>_.csv"; filename*=UTF-8''Mai%20%22gr%C3%B6%C3%9Fte%22%2C%20%3Cb%3E_.csv`,
  );
  t.is(await file.text(), FILE);
  const other = await upload(erin);
  for (const [from, to] of [
    [job_id, other],
    ['text', 'html'],
    ['expires=', 'expires=9'],
    ['signature=', 'signature=0'],
  ] as const) {
    t.is((await fetch(body.url.replace(from, to))).status, 403, from);
  }
  await fail(job_id);
  t.is((await erin.ask('DELETE', `/jobs/${job_id}`)).status, 200);
  await until(async () => (await fetch(body.url)).status === 404);
  t.is((await inputOf(job_id)).status, 404);
});

test('a list by address has the jobs of who has it now, whatever it was when they were made', async (t) => {
  const fred = await service.client('fred');
  const job_id = await upload(fred);
  const token = await issueLocalToken(service.data_dir, {
    ...{ user_id: 'fred', email: 'new@example.org', is_admin: false, hours: 1 },
  });
  const renamed = openTestClient(service.url, token);
  t.is((await renamed.ask('GET', '/users/me')).body.email, 'new@example.org');
  const found = async (email: string) =>
    (await root.ask('GET', `/jobs?email=${email}`)).body.items.map((job: { job_id: string }) => job.job_id);
  await until(async () => (await found('NEW@example.org')).length > 0);
  t.deepEqual(await found('NEW@example.org'), [job_id]);
  t.deepEqual(await found('fred'), [job_id], 'by the id');
  t.deepEqual(await found('fred@example.com'), [], 'nobody has the former address');
  t.is((await renamed.ask('GET', '/jobs?email=fred@example.com')).status, 403);
});
