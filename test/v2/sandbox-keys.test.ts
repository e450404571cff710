// A test key checks the sandbox through the whole service, costs nothing, counts nowhere, and sees nothing that other keys made.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { SANDBOX_HOST, testUserOf } from '../../events/test-user.ts';
import { until } from '../support/behind.ts';
import { opsHere } from '../support/run-ops.ts';
import { openTestClient, startTestService, type TestService } from '../support/service.ts';

const SANDBOX = `http://${SANDBOX_HOST}`;
let service: TestService;
test.before(async () => void (service = await startTestService({ SIGNUP_CREDITS: '7', TRIAL_CREDITS: '50' })));
test.after.always(() =>
  service?.stop(async (DATA_DIR) => {
    for (const command of [['ledger', 'verify'], ['fsck']]) {
      const { code, stdout, stderr } = await opsHere(command, { DATA_DIR });
      if (code !== 0) throw new Error(`${command.join(' ')}: ${stdout}${stderr}`);
    }
  }),
);

async function newcomer() {
  const user_id = `user-${randomUUID()}`;
  const owner = await service.client(user_id);
  const keyOf = async (body: object) => (await owner.ask('POST', '/users/me/api-keys', body)).body;
  const [tested, live] = [await keyOf({ test: true }), await keyOf({})];
  const clientOf = ({ key }: { key: string }) => openTestClient(service.url, key, '/api/v2');
  return { user_id, owner, tested, live, client: clientOf(tested), live_client: clientOf(live) };
}
const VERDICTS: Readonly<Record<string, string>> = {
  '/': 'ok',
  '/old-about': 'redirected',
  '/withdrawn': 'broken',
  '/books/a-book': 'soft_404',
  '/reviews': 'blocked',
  '/loop/a': 'unreachable',
};

test('the sandbox has every verdict, and its job costs nothing', async (t) => {
  const { owner, client, tested } = await newcomer();
  t.regex(tested.key, /^uc_test_/);
  t.true(tested.test);
  const urls = [...Object.keys(VERDICTS).map((path) => SANDBOX + path), `http://absent.${SANDBOX_HOST}/`];
  const made = await client.ask('POST', '/api/v2/jobs', { urls });
  t.is(made.status, 201);
  t.like(made.body, { test: true, total_urls: 7, credits_allocated: 0 });
  const job = await client.ended(made.body.job_id);
  t.like(job, { status: 'completed', test: true, credits_allocated: 0, credits_refunded: 0, completed_urls: 7 });
  const { results } = (await client.ask('GET', `/api/v2/jobs/${job.job_id}/results?limit=100`)).body;
  t.deepEqual(
    results.map(({ verdict }: { verdict: string }) => verdict),
    [...Object.values(VERDICTS), 'unreachable'],
  );
  t.is(results.at(-1).error_code, 'dns_not_found');
  t.is((await owner.ask('GET', '/users/me/credits')).body.credit_balance, 7);
});

test('other URLs are left out, too many are refused, and a list of none of the sandbox is no job', async (t) => {
  const { client } = await newcomer();
  const others = [
    'https://example.com/',
    `https://${SANDBOX_HOST}/`,
    `${SANDBOX}:8080/`,
    `http://${SANDBOX_HOST}.example.com/`,
  ];
  const refused = await client.ask('POST', '/api/v2/jobs', { urls: others });
  t.is(refused.status, 422);
  t.regex(JSON.stringify(refused.body), /http:\/\/sandbox\.test/);
  const mixed = (await client.ask('POST', '/api/v2/jobs', { urls: [...others, SANDBOX] })).body;
  t.like(mixed, { total_urls: 1, invalid_urls_rejected: 4 });
  const { items } = (await client.ask('GET', `/api/v2/jobs/${mixed.job_id}/rejected`)).body;
  t.true(items.every(({ reason }: { reason: string }) => reason === 'not_of_sandbox'));
  const many = Array.from({ length: 101 }, (_, n) => `${SANDBOX}/${n}`);
  t.is((await client.ask('POST', '/api/v2/jobs', { urls: many })).status, 413);
});

test('test keys and other keys of a user see nothing of each other', async (t) => {
  const { client, live_client, live } = await newcomer();
  const { job_id } = (await client.ask('POST', '/api/v2/jobs', { urls: [SANDBOX] })).body;
  const real = (await live_client.ask('POST', '/api/v2/jobs', { urls: ['http://127.0.0.1:9/'] })).body;
  t.false(real.test);
  t.false(live.test);
  const listed = async (of: typeof client) =>
    (await of.ask('GET', '/api/v2/jobs')).body.items.map((job: { job_id: string }) => job.job_id);
  t.deepEqual([await listed(client), await listed(live_client)], [[job_id], [real.job_id]]);
  t.is((await client.ask('DELETE', `/api/v2/jobs/${real.job_id}`)).status, 404);
  t.is((await live_client.ask('GET', `/api/v2/jobs/${job_id}`)).status, 404);
  const hook = { url: 'https://example.com/hook', events: ['job.completed'] };
  t.is((await client.ask('POST', '/api/v2/webhooks/endpoints', hook)).status, 201);
  t.is((await live_client.ask('GET', '/api/v2/webhooks/endpoints')).body.items.length, 0);
});

test.serial('jobs of test keys are in no figure, begin no trial, and make no user', async (t) => {
  const { user_id, client, owner, live_client } = await newcomer();
  const admin = await service.client('root', { is_admin: true });
  const { job_id } = (await client.ask('POST', '/api/v2/jobs', { urls: [`${SANDBOX}/withdrawn`] })).body;
  await client.ended(job_id);
  const { body } = await client.ask('POST', '/api/v2/jobs', { urls: [SANDBOX], options: { host_gap_ms: 60_000 } });
  await client.ask('DELETE', `/api/v2/jobs/${body.job_id}`);
  t.is((await admin.ask('GET', `/admin/users/${user_id}`)).body.jobs_created, 0);
  t.is((await live_client.ask('GET', '/api/v2/usage')).body.plan, 'free');
  t.is((await owner.ask('GET', '/users/me/credits')).body.credit_balance, 7);
  t.is((await admin.ask('GET', `/admin/users/${encodeURIComponent(testUserOf(user_id))}`)).status, 404);
  // A job that counts: what is counted when it is was counted before.
  const real = (await live_client.ask('POST', '/api/v2/jobs', { urls: ['http://127.0.0.1:9/'] })).body;
  await live_client.ended(real.job_id);
  const totals = async () => (await admin.ask('GET', '/admin/growth-dashboard')).body.totals;
  await until(async () => (await totals()).urls_checked > 0);
  t.like(await totals(), { jobs: 1, urls_checked: 1, broken_urls: 1, active_users: 1 });
});

test('nobody signs in as the user of test keys, and a key of tests opens no gateway', async (t) => {
  const { user_id, tested } = await newcomer();
  const impostor = await service.client(testUserOf(user_id));
  t.is((await impostor.ask('GET', '/users/me')).status, 401);
  t.is((await openTestClient(service.url, tested.key).ask('GET', '/users/me')).status, 401);
});
