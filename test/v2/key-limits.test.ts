// A key with a limit of credits: what it may submit, what it and its owner see of the limit, and what a cancelled job gives back.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openTestClient, startTestService, type TestService } from '../support/service.ts';
import { openSite, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;
test.before(async () => {
  service = await startTestService({ SIGNUP_CREDITS: '50' });
  site = await openSite();
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

async function limited(credit_limit: number) {
  const owner = await service.client(`user-${randomUUID()}`);
  const made = await owner.ask('POST', '/users/me/api-keys', { name: 'limited', credit_limit });
  assertMade(made.status === 201, made.body);
  const shown = async () => (await owner.ask('GET', '/users/me/api-keys')).body.items[0];
  return { owner, made: made.body, shown, client: openTestClient(service.url, made.body.key, '/api/v2') };
}
function assertMade(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}
const urls = (count: number) => Array.from({ length: count }, () => `${site.url}/${randomUUID()}`);

test('a job that would pass the limit of its key is refused with the limit, and costs nothing', async (t) => {
  const { client, made, shown } = await limited(5);
  t.like(made, { credit_limit: 5, credits_used: 0 });
  const refused = await client.ask('POST', '/api/v2/jobs', { urls: urls(6) });
  t.is(refused.status, 402);
  t.like(refused.body.error, {
    code: 'no_credits',
    details: { reason: 'key_limit', credit_limit: 5, credits_left: 5 },
  });
  t.regex(refused.body.error.message, /limit of the API key is 5 credits.*5 left.*needs 6/);
  const { body } = await client.ask('POST', '/api/v2/jobs', { urls: urls(4) });
  await client.ended(body.job_id);
  t.like(await shown(), { credit_limit: 5, credits_used: 4 });
  const usage = (await client.ask('GET', '/api/v2/usage')).body;
  t.deepEqual([usage.credit_balance, usage.key], [46, { credit_limit: 5, credits_used: 4 }]);
});

test('of two jobs at once that only one has room for, one is made', async (t) => {
  const { client, shown } = await limited(5);
  const made = await Promise.all([1, 2, 3].map(() => client.ask('POST', '/api/v2/jobs', { urls: urls(4) })));
  t.deepEqual(made.map(({ status }) => status).sort(), [201, 402, 402]);
  t.is((await shown()).credits_used, 4);
});

test('a cancelled job gives back to its key, and a key without a limit shows none', async (t) => {
  const { client, owner, shown } = await limited(5);
  const held = urls(5).map((url) => `${url}?hold`);
  const { body } = await client.ask('POST', '/api/v2/jobs', { urls: held, options: { host_gap_ms: 60_000 } });
  t.is((await shown()).credits_used, 5);
  t.is((await client.ask('POST', '/api/v2/jobs', { urls: urls(1) })).status, 402);
  const cancelled = (await client.ask('DELETE', `/api/v2/jobs/${body.job_id}`)).body;
  t.true(cancelled.completed_urls < 5);
  t.is((await shown()).credits_used, cancelled.completed_urls);
  const plain = (await owner.ask('POST', '/users/me/api-keys', {})).body;
  t.like(plain, { credit_limit: null, credits_used: null });
  const usage = (await openTestClient(service.url, plain.key, '/api/v2').ask('GET', '/api/v2/usage')).body;
  t.is(usage.key, null);
});
