// The life of a job in the public API, as its clients see it: submitted, waited for, cancelled, paged.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openBehind, until } from '../support/behind.ts';
import { type Descriptions, readDescriptions } from '../support/described.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';

let service: TestService;
let described: Descriptions;
let site: Site;
/** Answers only when it is let go. */
let slow: Site;
let held: (() => void)[] = [];
const letGo = () => {
  for (const go of held) go();
  held = [];
};

test.before(async () => {
  service = await startTestService({ SIGNUP_CREDITS: '300' });
  described = await readDescriptions(service.url);
  site = await openSite();
  slow = await openSite((request, response) => void held.push(() => page(request, response)));
});
test.after.always(async () => {
  await service?.stop();
  await Promise.all([site?.close(), slow?.close()]);
});

const newcomer = () => service.keyHolder(`user-${randomUUID()}`);
const urlsOf = ({ url }: Site, count: number) => Array.from({ length: count }, (_, i) => `${url}/${i}`);

/** The answer, which must be as its OpenAPI document says. */
async function ask(client: TestClient, method: string, path: string, body?: unknown, headers = {}): Promise<Answer> {
  const answer = await client.ask(method, path, body, headers);
  const problem = described.problemOf(method, path, answer);
  if (problem !== null) throw new Error(problem);
  return answer;
}
const submit = (client: TestClient, urls: string[], key?: string) =>
  ask(client, 'POST', '/api/v2/jobs', { urls }, key === undefined ? {} : { 'idempotency-key': key });

test('a cancellation refunds unchecked URLs, and its repetition gets the same answer', async (t) => {
  const client = await newcomer();
  const { body: job } = await submit(client, urlsOf(slow, 50));
  const path = `/api/v2/jobs/${job.job_id}`;
  const [one, other] = await Promise.all([ask(client, 'DELETE', path), ask(client, 'DELETE', path)]);
  const again = await ask(client, 'DELETE', path);
  letGo();
  for (const { status, body } of [one, other, again]) {
    t.is(status, 200);
    t.like(body, { job_id: job.job_id, status: 'cancelled', credits_allocated: 50, credits_refunded: 50 });
  }
  t.deepEqual(again.body, one.body);
  const { body: usage } = await ask(client, 'GET', '/api/v2/usage');
  t.like(usage, { credit_balance: 300, available_credits: 300, plan: 'free' });
  t.is(usage.period_usage.credits_used, 0);
});

test('a completed job cannot be cancelled', async (t) => {
  const client = await newcomer();
  const { body: job } = await submit(client, urlsOf(site, 3));
  await client.ended(job.job_id);
  const refused = await ask(client, 'DELETE', `/api/v2/jobs/${job.job_id}`);
  t.is(refused.status, 409);
  t.like(refused.body.error, { code: 'conflict', details: { reason: 'illegal_transition', status: 'completed' } });
  t.like((await ask(client, 'GET', `/api/v2/jobs/${job.job_id}`)).body, { status: 'completed', credits_refunded: 0 });
  const { body: usage } = await ask(client, 'GET', '/api/v2/usage');
  t.is(usage.credit_balance, 297);
  const { period_start, period_end, credits_used } = usage.period_usage;
  t.is(credits_used, 3);
  t.true(Date.parse(period_start) <= Date.now() && Date.now() < Date.parse(period_end));
});

test('waiting for a job gives its first page of results, and a cursor for the others', async (t) => {
  const client = await newcomer();
  const { body, status } = await ask(client, 'POST', '/api/v2/jobs/wait', { urls: urlsOf(site, 20) });
  t.is(status, 201);
  t.like(body, { status: 'completed', completed_urls: 20, timed_out: false, next_cursor: null });
  t.deepEqual(
    body.results.map(({ url }: { url: string }) => url),
    urlsOf(site, 20),
  );
});

test('after the time is up the job continues, and the cursor leads to its later results', async (t) => {
  const client = await newcomer();
  const waited = await ask(client, 'POST', '/api/v2/jobs/wait?wait_seconds=0', { urls: urlsOf(slow, 5) });
  const { job_id, next_cursor } = waited.body;
  t.like(waited.body, { status: 'processing', timed_out: true, results: [] });
  await until(() => held.length > 0);
  const letting = setInterval(letGo, 20);
  await client.ended(job_id);
  clearInterval(letting);
  const { body } = await ask(client, 'GET', `/api/v2/jobs/${job_id}/results?cursor=${next_cursor}`);
  t.deepEqual([body.results.length, body.next_cursor], [5, null]);
});

test('a client that stops waiting does not cancel its job, and comes back to it with its key', async (t) => {
  const client = await newcomer();
  const urls = urlsOf(site, 0).concat(`${slow.url}/left`);
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'left' };
  const left = new AbortController();
  const init = { method: 'POST', headers, body: JSON.stringify({ urls }) };
  const first = client.send('/api/v2/jobs/wait', { ...init, signal: left.signal });
  await until(() => slow.asked.has('/left'));
  left.abort();
  await t.throwsAsync(first, { name: 'AbortError' });
  const letting = setInterval(letGo, 20);
  const answer = await client.send('/api/v2/jobs/wait', init);
  clearInterval(letting);
  t.is(described.problemOf('POST', '/api/v2/jobs/wait', answer), null);
  t.like(answer.body, { status: 'completed', timed_out: false });
  t.is(answer.headers.get('idempotency-replayed'), 'true');
  t.is(slow.asked.get('/left'), 1);
  t.is((await ask(client, 'GET', '/api/v2/usage')).body.credit_balance, 299);
});

test('wait_seconds is from 0 to 900', async (t) => {
  const client = await newcomer();
  for (const seconds of ['901', '-1', 'x', '1.5']) {
    const { status, body } = await ask(client, 'POST', `/api/v2/jobs/wait?wait_seconds=${seconds}`, {
      urls: urlsOf(site, 1),
    });
    t.is(status, 422);
    t.deepEqual(body.error.details.problems[0].loc, ['query', 'wait_seconds']);
  }
});

test('fifty concurrent requests with one key make one job', async (t) => {
  const client = await newcomer();
  const urls = urlsOf(site, 30);
  const answers = await Promise.all(Array.from({ length: 50 }, () => submit(client, urls, 'fifty')));
  const made = answers.filter(({ status }) => status === 201);
  t.is(new Set(made.map(({ body }) => body.job_id)).size, 1);
  for (const { body, headers } of answers.filter(({ status }) => status !== 201)) {
    t.is(body.error.code, 'idempotency_in_progress');
    t.true(Number(headers.get('retry-after')) >= 1);
  }
  const replayed = await submit(client, urls, 'fifty');
  t.deepEqual([replayed.status, replayed.body], [201, made[0]!.body]);
  t.is(replayed.headers.get('idempotency-replayed'), 'true');
  t.is(replayed.headers.get('location'), `/api/v2/jobs/${replayed.body.job_id}`);
  t.is(made.filter(({ headers }) => headers.get('idempotency-replayed') === null).length, 1);
  t.is((await ask(client, 'GET', '/api/v2/usage')).body.credit_balance, 270);
});

test('the same URLs in other JSON are the same request; other URLs, or another order, are not', async (t) => {
  const client = await newcomer();
  const urls = urlsOf(site, 2);
  const { body: job } = await submit(client, urls, 'k');
  const spaced = await client.send('/api/v2/jobs', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
    body: JSON.stringify({ urls }, null, 2).replaceAll('/', '\\/'),
  });
  t.deepEqual([spaced.status, spaced.body], [201, job]);
  for (const others of [urlsOf(site, 3), urls.toReversed()]) {
    const { status, body } = await submit(client, others, 'k');
    t.deepEqual([status, body.error.code], [409, 'idempotency_key_mismatch']);
  }
});

test('equal keys of different users or routes are independent', async (t) => {
  const [alice, bob] = await Promise.all([newcomer(), newcomer()]);
  const one = await submit(alice, urlsOf(site, 1), 'k');
  const other = await submit(bob, urlsOf(site, 2), 'k');
  const waited = await ask(alice, 'POST', '/api/v2/jobs/wait', { urls: urlsOf(site, 3) }, { 'idempotency-key': 'k' });
  t.deepEqual([one.status, other.status, waited.status], [201, 201, 201]);
  t.is(new Set([one, other, waited].map(({ body }) => body.job_id)).size, 3);
});

test('a refused request leaves its key for the next try', async (t) => {
  const client = await service.keyHolder('poor');
  t.is((await submit(client, [], 'k')).status, 422);
  t.is((await submit(client, ['not a url'], 'k')).status, 422);
  await submit(client, urlsOf(slow, 300));
  const poor = await submit(client, urlsOf(site, 4), 'k');
  t.deepEqual([poor.status, poor.body.error.code], [402, 'no_credits']);
  const behind = await openBehind(service.data_dir);
  await behind.grant('poor', 10);
  await behind.close();
  const rich = await submit(client, urlsOf(site, 4), 'k');
  t.deepEqual([rich.status, rich.headers.get('idempotency-replayed')], [201, null]);
});

for (const [what, key] of [
  ['empty', ''],
  ['too long', 'k'.repeat(256)],
] as const) {
  test(`the service refuses a key that is ${what}, and names the header`, async (t) => {
    const { status, body } = await submit(await newcomer(), urlsOf(site, 1), key);
    t.is(status, 422);
    t.deepEqual(body.error.details.problems[0].loc, ['header', 'idempotency-key']);
  });
}

test('the service takes the longest key', async (t) => {
  t.is((await submit(await newcomer(), urlsOf(site, 1), `${'~'.repeat(254)}!`)).status, 201);
});

test('the answer names invalid URLs with field, index and value', async (t) => {
  const { status, body } = await submit(await newcomer(), ['ftp://a.example/', 'nope']);
  t.is(status, 422);
  const [, first, second] = body.error.details.problems;
  t.like(first, { loc: ['body', 'urls', 0], value: 'ftp://a.example/' });
  t.like(second, { loc: ['body', 'urls', 1], value: 'nope' });
});

test('every error is JSON of one shape', async (t) => {
  const client = await newcomer();
  const json = { 'content-type': 'application/json' };
  const asked: [string, RequestInit, number, string][] = [
    ['/api/v2/nowhere', {}, 404, 'not_found'],
    ['/api/v2/jobs', { method: 'PATCH' }, 405, 'method_not_allowed'],
    ['/api/v2/jobs', { method: 'POST', body: '{"urls":', headers: json }, 400, 'validation_error'],
    ['/api/v2/jobs', { method: 'POST', body: 'a' }, 415, 'unsupported_media_type'],
    ['/api/v2/jobs', { method: 'POST' }, 422, 'validation_error'],
    ['/api/v2/jobs/%E0%A4%A', {}, 404, 'not_found'],
    [`/api/v2/jobs/${'x'.repeat(600)}`, {}, 422, 'validation_error'],
    ['/api/v2/usage?verbose=1', {}, 422, 'validation_error'],
    ['/api/v2/usage/', {}, 404, 'not_found'],
  ];
  for (const [path, init, status, code] of asked) {
    const answer = await client.send(path, init);
    t.deepEqual([answer.status, answer.body.error?.code], [status, code], path);
    t.true(answer.headers.has('x-ratelimit-remaining'), path);
    t.true(answer.headers.has('x-request-id'), path);
  }
});

test('jobs are listed by cursor, the newest first, each once, and by status', async (t) => {
  const client = await newcomer();
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.unshift((await submit(client, urlsOf(site, 1))).body.job_id);
  for (const job_id of ids) await client.ended(job_id);
  const paused = (await submit(client, urlsOf(slow, 2))).body.job_id;
  await ask(client, 'DELETE', `/api/v2/jobs/${paused}`);
  letGo();
  const listed: string[] = [];
  let cursor = '';
  for (let pages = 0; cursor !== null; pages++) {
    const { body } = await ask(client, 'GET', `/api/v2/jobs?limit=2&cursor=${cursor}`);
    t.true(body.items.length <= 2 && pages < 4);
    listed.push(...body.items.map(({ job_id }: { job_id: string }) => job_id));
    // A job that comes meanwhile moves no other.
    if (pages === 0) await submit(client, urlsOf(site, 1));
    cursor = body.next_cursor;
  }
  t.deepEqual(listed, [paused, ...ids]);

  const cancelled = await ask(client, 'GET', '/api/v2/jobs?status=cancelled');
  const { urls_in_flight, ...job } = (await ask(client, 'GET', `/api/v2/jobs/${paused}`)).body;
  t.deepEqual([cancelled.body.items, urls_in_flight], [[job], 0]);
  t.is(cancelled.body.next_cursor, null);
  t.deepEqual((await ask(await newcomer(), 'GET', '/api/v2/jobs')).body, { items: [], next_cursor: null });
});

test("a cursor of another's list, or of another status, is refused", async (t) => {
  const client = await newcomer();
  for (let n = 0; n < 2; n++) await submit(client, urlsOf(site, 1));
  const { body } = await ask(client, 'GET', '/api/v2/jobs?limit=1');
  for (const [who, query] of [
    [await newcomer(), `cursor=${body.next_cursor}`],
    [client, `cursor=${body.next_cursor}&status=completed`],
    [client, 'cursor=x'],
    [client, 'status=gone'],
    [client, 'limit=0'],
  ] as const) {
    t.is((await ask(who, 'GET', `/api/v2/jobs?${query}`)).status, 422, query);
  }
});

test('a client may say how often it polls, in seconds', async (t) => {
  const client = await newcomer();
  for (const interval of ['2', '0.5', '0', '900']) {
    const path = `/api/v2/jobs/wait?wait_seconds=60&poll_interval=${interval}`;
    const { status, body } = await ask(client, 'POST', path, { urls: urlsOf(site, 1) });
    t.like({ status, body }, { status: 201, body: { status: 'completed', timed_out: false } }, interval);
  }
  for (const interval of ['-1', '901', 'soon']) {
    const path = `/api/v2/jobs/wait?poll_interval=${interval}`;
    const { status, body } = await ask(client, 'POST', path, { urls: urlsOf(site, 1) });
    t.like({ status, detail: body.detail }, { status: 422, detail: [{ loc: ['query', 'poll_interval'] }] }, interval);
  }
});
