// Reads that come again and again are answered from memory, and see each change at once all the same.
import { type AddressInfo, createServer } from 'node:net';
import test from 'ava';
import { openErasures } from '../../commands/users/user.ts';
import { type Behind, openBehind, until } from '../support/behind.ts';
import {
  type Answer,
  openTestClient,
  startTestService,
  type TestClient,
  type TestService,
} from '../support/service.ts';
import { commandContext } from '../support/stores.ts';

let service: TestService;
let behind: Behind;
test.before(async () => {
  service = await startTestService();
  behind = await openBehind(service.data_dir);
});
test.after.always(async () => {
  await behind?.close();
  await service?.stop();
});

/** Nobody answers at this address, so that the job ends soon. */
const URLS = 'http://127.0.0.1:9/a\nhttp://127.0.0.1:9/b\n';

/** Asks often enough that the answer is sent again. */
async function often(client: TestClient, path: string) {
  for (let n = 0; n < 4; n++) await client.ask('GET', path);
  return await client.ask('GET', path);
}

/** Waits until an answer that is made anew is so: of a request with a header that no other has. On a busy machine the read models lag. */
const shown = (client: TestClient, path: string, isSo: (answer: Answer) => boolean) =>
  until(async () => isSo(await client.ask('GET', path, undefined, { 'x-made-anew': '1' })));

test('each change of a job is in the next read of it, and in the next list', async (t) => {
  const alice = await service.client('alice');
  const list = '/jobs?email=alice@example.com';
  for (let made = 1; made <= 3; made++) {
    const { job_id } = (await alice.upload(URLS)).body;
    const job = `/jobs/${job_id}`;
    await often(alice, job);
    await shown(alice, list, ({ body }) => body.total === made);
    t.is((await often(alice, list)).body.total, made);
    await shown(alice, job, ({ body }) => body.status === 'completed');
    t.is((await often(alice, job)).body.status, 'completed');
    t.is((await often(alice, `${job}/stats`)).body.completed_urls, 2);
    t.is((await often(alice, `${job}/results`)).body.total, 2);
  }
  const [{ job_id }] = (await often(alice, list)).body.items;
  const job = `/jobs/${job_id}`;
  t.is((await often(alice, job)).status, 200);
  t.is((await alice.ask('DELETE', job)).status, 200);
  await shown(alice, job, ({ status }) => status === 404);
  t.is((await alice.ask('GET', job)).status, 404);
  t.is((await alice.ask('GET', `${job}/stats`)).status, 404);
  await shown(alice, list, ({ body }) => body.total === 2);
  t.is((await alice.ask('GET', list)).body.total, 2);
});

test('nobody gets what was read by another, or by themselves before they were erased', async (t) => {
  const [bob, carol] = await Promise.all([service.client('bob'), service.client('carol')]);
  const { job_id } = (await bob.upload(URLS)).body;
  await bob.ended(job_id);
  const job = `/jobs/${job_id}`;
  t.is((await often(bob, job)).status, 200);
  for (const { status } of [await often(carol, job), await carol.ask('GET', job)]) t.is(status, 404);
  await openErasures(behind.log).erase('bob', commandContext());
  t.is((await bob.ask('GET', job)).status, 401);
});

test('an empty page of results waits for some each time that it is asked for', async (t) => {
  const silent = createServer();
  await new Promise<void>((listens) => silent.listen(0, '127.0.0.1', listens));
  t.teardown(() => silent.close());
  const erin = await service.keyHolder('erin');
  const urls = [`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`];
  const { job_id } = (await erin.ask('POST', '/api/v2/jobs', { urls })).body;
  for (let n = 0; n < 4; n++) {
    const asked_at = performance.now();
    const { body } = await erin.ask('GET', `/api/v2/jobs/${job_id}/results?cursor=`);
    t.deepEqual(body.results, []);
    t.true(performance.now() - asked_at > 1500, `page ${n + 1}`);
  }
  t.is((await erin.ask('DELETE', `/api/v2/jobs/${job_id}`)).status, 200);
});

test('a key that was revoked reads nothing more, however often it has read before', async (t) => {
  const dora = await service.client('dora');
  const { body: key } = await dora.ask('POST', '/users/me/api-keys', { name: 'test' });
  const holder = openTestClient(service.url, key.key, '/api/v2');
  const { job_id } = (await dora.upload(URLS)).body;
  await holder.ended(job_id);
  const job = `/api/v2/jobs/${job_id}`;
  t.is((await often(holder, job)).body.status, 'completed');
  t.is((await often(holder, `${job}/results?cursor=`)).body.results.length, 2);
  await dora.ask('DELETE', `/users/me/api-keys/${key.id}`);
  for (const path of [job, `${job}/results?cursor=`]) t.is((await holder.ask('GET', path)).status, 401);
});
