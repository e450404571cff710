// The main job, from outside: sign in, upload, wait, look at results and credits; by the gateway and by the public API.
import test from 'ava';
import { until } from '../support/behind.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { openSite, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;

test.before(async () => {
  [service, site] = await Promise.all([startTestService(), openSite()]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

const csv = (paths: readonly string[]) => `id,link\n${paths.map((path, i) => `${i},${site.url}${path}`).join('\n')}\n`;

test('a new user gets the signup credits once', async (t) => {
  const alice = await service.client('newcomer');
  // A read waits for the read models for two seconds only.
  await until(async () => (await alice.ask('GET', '/users/me/credits')).body.credit_balance > 0);
  for (let i = 0; i < 2; i++) {
    const { status, body } = await alice.ask('GET', '/users/me/credits');
    t.is(status, 200);
    const { lots, ...balance } = body;
    t.deepEqual(balance, { credit_balance: 300, available_credits: 300 });
    t.is(lots.length, 1);
    t.like(lots[0], { credits: 300, expires_at: null });
  }
  const { body } = await alice.ask('GET', '/users/me/credit-transactions');
  t.is(body.total, 1);
  t.like(body.items[0], { transaction_type: 'signup_bonus', amount: 300, balance_after: 300 });
});

test('the service checks, charges and reports an uploaded file', async (t) => {
  const alice = await service.client('uploader');
  const file = `${csv(['/a', '/b', '/status/404', '/a#again', '/status/500'])}5,not a url\n`;
  const created = await alice.upload(file);
  t.is(created.status, 201);
  t.like(created.body, {
    status: 'processing',
    total_urls: 4,
    credits_allocated: 4,
    duplicates_removed: 1,
    invalid_urls_rejected: 1,
    source: 'upload',
  });
  const { job_id } = created.body;
  const job = await alice.ended(job_id);
  t.like(job, { status: 'completed', completed_urls: 4, credits_refunded: 0, pause_reason: null });
  t.truthy(job.completed_at);

  const { body } = await alice.ask('GET', `/jobs/${job_id}/results`);
  t.is(body.total, 4);
  t.deepEqual(
    body.items.map((r: { url: string; status_code: number; verdict: string }) => [
      r.url.slice(site.url.length),
      r.status_code,
      r.verdict,
    ]),
    [
      ['/a', 200, 'ok'],
      ['/b', 200, 'ok'],
      ['/status/404', 404, 'broken'],
      ['/status/500', 500, 'broken'],
    ],
  );
  const credits = await alice.ask('GET', '/users/me/credits');
  t.is(credits.body.credit_balance, 296);
  const ledger = await alice.ask('GET', '/users/me/credit-transactions?limit=1');
  t.like(ledger.body.items[0], { transaction_type: 'reservation', amount: -4, reference_id: job_id });
  const listed = await alice.ask('GET', '/jobs?email=uploader@example.com&status=completed');
  t.deepEqual([listed.body.total, listed.body.items[0].job_id], [1, job_id]);
});

test('filters narrow the results, alone and together', async (t) => {
  const alice = await service.client('filterer');
  const paths = ['/x/1', '/x/2', '/status/301', '/status/404', '/status/404?UPPER', '/status/503'];
  const { body: created } = await alice.upload(`${csv(paths)}9,http://127.0.0.1:9/refused\n`);
  await alice.ended(created.job_id);
  const found = async (query: string) => {
    const { body } = await alice.ask('GET', `/jobs/${created.job_id}/results?${query}`);
    t.is(body.items.length, body.total);
    return body.items.map((r: { url: string }) => r.url.replace(/^http:..[^/]*/, ''));
  };
  t.deepEqual(await found('status_codes=404,503'), ['/status/404', '/status/404?UPPER', '/status/503']);
  t.deepEqual(await found('non_2xx=true'), [...paths.slice(2), '/refused']);
  t.deepEqual(await found('url_contains=upper'), ['/status/404?UPPER']);
  t.deepEqual(await found('status_group=2xx'), ['/x/1', '/x/2']);
  t.deepEqual(await found('status_group=3xx'), ['/status/301']);
  t.deepEqual(await found('status_group=4xx'), ['/status/404', '/status/404?UPPER']);
  t.deepEqual(await found('status_group=5xx'), ['/status/503']);
  t.deepEqual(await found('status_group=unreachable'), ['/refused']);
  t.deepEqual(await found('status_group=broken&url_contains=%2F404&non_2xx=true'), [
    '/status/404',
    '/status/404?UPPER',
  ]);
});

test('a job pauses at its credits, and a job without credits pauses at once', async (t) => {
  const alice = await service.client('poor');
  const paths = Array.from({ length: 310 }, (_, i) => `/p/${i}`);
  const { body: created } = await alice.upload(csv(paths));
  t.like(created, { total_urls: 310, credits_allocated: 300, status: 'processing' });
  const job = await alice.ended(created.job_id);
  t.like(job, { status: 'paused', pause_reason: 'credit_ceiling', completed_urls: 300 });
  const second = await alice.upload(csv(['/q']));
  t.is(second.status, 201);
  t.like(second.body, { status: 'paused', pause_reason: 'credit_ceiling', credits_allocated: 0 });
  const bob = await service.keyHolder('poor');
  const refused = await bob.ask('POST', '/api/v2/jobs', { urls: [`${site.url}/r`] });
  t.is(refused.status, 402);
  t.is(refused.body.error.code, 'no_credits');
  t.false(site.asked.has('/r'));
});

test('the public API takes a list and pages its results by offset and by cursor', async (t) => {
  const bob = await service.keyHolder('lister');
  const urls = Array.from({ length: 250 }, (_, i) => `${site.url}/v2/${i}`);
  const created = await bob.ask('POST', '/api/v2/jobs', { urls });
  t.is(created.status, 201);
  t.like(created.body, { total_urls: 250, source: 'api' });
  const job = await bob.ended(created.body.job_id);
  t.like(job, { status: 'completed', completed_urls: 250 });

  const path = `/api/v2/jobs/${job.job_id}/results`;
  const offset = await bob.ask('GET', `${path}?limit=100&offset=200`);
  t.deepEqual(
    offset.body.results.map((r: { url: string }) => r.url),
    urls.slice(200),
  );
  t.deepEqual([offset.body.total, offset.body.next_cursor], [250, null]);
  const seen: string[] = [];
  let cursor = '';
  do {
    const { body } = await bob.ask('GET', `${path}?limit=100&cursor=${cursor}`);
    seen.push(...body.results.map((r: { url: string }) => r.url));
    cursor = body.next_cursor;
  } while (cursor !== null);
  t.deepEqual(seen, urls);
});

test("another user's job, key or transaction is a 404", async (t) => {
  const [alice, bob, admin] = await Promise.all([
    service.client('owner'),
    service.client('stranger'),
    service.client('boss', { is_admin: true }),
  ]);
  const { body: job } = await alice.upload(csv(['/mine']));
  t.is((await bob.ask('GET', `/jobs/${job.job_id}`)).status, 404);
  t.is((await bob.ask('GET', '/jobs?email=owner@example.com')).status, 403);
  t.is((await admin.ask('GET', '/jobs?email=owner@example.com')).body.total, 1);
  const key = await service.keyHolder('stranger');
  const answer = await key.ask('GET', `/api/v2/jobs/${job.job_id}`);
  t.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
});

test('a revoked key fails on its next request', async (t) => {
  const alice = await service.client('key-owner');
  const made = await alice.ask('POST', '/users/me/api-keys', { name: 'nightly' });
  t.regex(made.body.key, /^uc_live_[\w-]{43}$/);
  const ask = () => fetch(`${service.url}/api/v2/jobs/none`, { headers: { authorization: `Bearer ${made.body.key}` } });
  t.is((await ask()).status, 404);
  const listed = await alice.ask('GET', '/users/me/api-keys');
  t.deepEqual(Object.keys(listed.body.items[0]).sort(), [
    ...[
      'created_at',
      'credit_limit',
      'credits_used',
      'expires_at',
      'id',
      'last_used_at',
      'name',
      'prefix',
      'scopes',
      'test',
    ],
  ]);
  t.is((await alice.ask('DELETE', `/users/me/api-keys/${made.body.id}`)).status, 204);
  t.is((await ask()).status, 401);
});

test("no read waits for a position beyond the log's head", async (t) => {
  const { token } = await service.client('eager');
  const bogus = { 'x-log-position': 'zzzzzzzzzzzzzzzzzzzz' };
  // Each would wait for two seconds, one after the other.
  const since = performance.now();
  for (let n = 0; n < 20; n++) {
    await fetch(`${service.url}/users/me/credits`, { headers: { ...bogus, authorization: `Bearer ${token}` } });
    await fetch(`${service.url}/jobs/2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11/results`, { headers: bogus });
  }
  t.true(performance.now() - since < 40 * 1000);
});
