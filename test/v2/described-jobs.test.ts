// What a client says of its job and of its URLs comes back to it: labels, facts, names of its own, rows that were left out, filters.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;
test.before(async () => {
  service = await startTestService({ SIGNUP_CREDITS: '10' });
  site = await openSite();
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

const newcomer = () => service.keyHolder(`user-${randomUUID()}`);
async function submit(client: TestClient, body: object, headers = {}) {
  const made = await client.ask('POST', '/api/v2/jobs', body, headers);
  if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}
const resultsOf = async (client: TestClient, job_id: string, query = '') =>
  (await client.ask('GET', `/api/v2/jobs/${job_id}/results?limit=1000${query}`)).body;

test('a URL has the name that the client gave it, also behind the part of a body that is read whole', async (t) => {
  const client = await newcomer();
  const items = [{ url: `${site.url}/a` }, { url: `${site.url}/b`, ref: 'row b' }, { url: `${site.url}/c` }];
  for (const metadata of [
    { note: 'short' },
    ...[1].map(() => Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`n${n}`, 'x'.repeat(500)]))),
  ]) {
    // White space makes a body long without making the job long.
    const body = JSON.stringify({ items, metadata }, null, 'n0' in metadata ? 10 : 0).padEnd(
      'n0' in metadata ? 80_000 : 0,
    );
    const headers = { 'content-type': 'application/json' };
    const made = await client.send('/api/v2/jobs', { method: 'POST', body, headers });
    t.is(made.status, 201);
    t.deepEqual(made.body.metadata, metadata);
    const job = await client.ended(made.body.job_id);
    t.deepEqual(job.metadata, metadata);
    const { results } = await resultsOf(client, job.job_id);
    t.deepEqual(
      results.map(({ url, ref }: { url: string; ref?: string }) => [url.slice(-2), ref]),
      [
        ['/a', undefined],
        ['/b', 'row b'],
        ['/c', undefined],
      ],
    );
  }
});

test('what is wrong with an item, a name or a fact is refused with its place', async (t) => {
  const client = await newcomer();
  const url = `${site.url}/`;
  const wrong: [object, string][] = [
    [{ items: [{ ref: 'a' }] }, 'body.items.0.url'],
    [{ items: [{ url, ref: '' }] }, 'body.items.0.ref'],
    [{ items: [{ url, ref: 'x'.repeat(201) }] }, 'body.items.0.ref'],
    [{ items: [{ url, reff: 'a' }] }, 'body.items.0.reff'],
    [{ items: [url] }, 'body.items.0'],
    [{ items: [] }, 'body.items'],
    [{ urls: [{ url }] }, 'body.urls.0'],
    [{ urls: [url], items: [{ url }] }, 'body.items'],
    [{ label: 'no list' }, 'body.urls'],
    [{ items: [{ url: 'no URL' }] }, 'body.items'],
    [{ urls: [url], label: '' }, 'body.label'],
    [{ urls: [url], label: 7 }, 'body.label'],
    [{ urls: [url], metadata: { a: 1 } }, 'body.metadata.a'],
    [{ urls: [url], options: { host_gap_ms: -1 } }, 'body.options.host_gap_ms'],
  ];
  for (const [body, place] of wrong) {
    for (const text of [JSON.stringify(body), JSON.stringify(body).padEnd(70_000)]) {
      const init = { method: 'POST', body: text, headers: { 'content-type': 'application/json' } };
      const refused = await client.send('/api/v2/jobs', init);
      t.is(refused.status, 422, text.trim());
      t.is(refused.body.error.details.problems[0].loc.join('.'), place, text.trim());
    }
  }
});

test('jobs are listed by label and by date, from one page to the next', async (t) => {
  const client = await newcomer();
  const of = async (label: string, path: string) =>
    (await submit(client, { urls: [`${site.url}/${path}`], label })).job_id as string;
  const first = await of('nightly', '1');
  const other = await of('weekly', '2');
  const last = await of('nightly', '3');
  const listed = async (query: string) => {
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, body } = await client.ask('GET', `/api/v2/jobs?limit=1&cursor=${cursor}${query}`);
      t.is(status, 200);
      ids.push(...body.items.map(({ job_id }: { job_id: string }) => job_id));
      cursor = body.next_cursor;
    }
    return ids;
  };
  t.deepEqual(await listed('&label=nightly'), [last, first]);
  t.deepEqual(await listed('&label=none'), []);
  const { created_at } = (await client.ask('GET', `/api/v2/jobs/${other}`)).body;
  t.deepEqual(await listed(`&created_after=${created_at}`), [last, other]);
  t.deepEqual(await listed(`&created_before=${created_at}`), [first]);
  t.deepEqual(await listed(`&created_after=${created_at}&label=nightly`), [last]);
});

test('results are filtered by verdict, and counted so', async (t) => {
  const client = await newcomer();
  const { job_id } = await submit(client, { urls: [`${site.url}/x`, `${site.url}/status/404`, `${site.url}/y`] });
  await client.ended(job_id);
  for (const [verdict, count] of [
    ['ok', 2],
    ['broken', 1],
    ['blocked', 0],
  ] as const) {
    const page = await resultsOf(client, job_id, `&verdict=${verdict}`);
    t.is(page.total, count);
    t.deepEqual(
      page.results.map((one: { verdict: string }) => one.verdict),
      Array(count).fill(verdict),
    );
    const narrowed = await resultsOf(client, job_id, `&verdict=${verdict}&url_contains=${encodeURIComponent('/')}`);
    t.is(narrowed.total, count);
  }
});

test('a key sees which of its URLs were left out, and why, with their names', async (t) => {
  const client = await newcomer();
  const items = [
    { url: `${site.url}/r` },
    { url: 'see below' },
    { url: `${site.url}/r`, ref: 'again' },
    { url: 'ftp://x.example/', ref: 'f' },
  ];
  const { job_id } = await submit(client, { items });
  const { status, body } = await client.ask('GET', `/api/v2/jobs/${job_id}/rejected`);
  t.is(status, 200);
  t.is(body.total, 3);
  t.like(body.items[0], { row: 2, reason: 'several_words' });
  t.like(body.items[1], { row: 3, reason: 'duplicate', duplicate_of_row: 1, ref: 'again' });
  t.like(body.items[2], { row: 4, ref: 'f', duplicate_of_row: null });
  t.false('ref' in body.items[0]);
  const stranger = await newcomer();
  t.is((await stranger.ask('GET', `/api/v2/jobs/${job_id}/rejected`)).status, 404);
});

test('a job that waits for credits is resumed by its key once there are some', async (t) => {
  const user_id = `user-${randomUUID()}`;
  const client = await service.keyHolder(user_id);
  const admin = await service.client('root', { is_admin: true });
  const urls = Array.from({ length: 15 }, (_, n) => `${site.url}/${randomUUID()}/${n}`);
  const { job_id } = await submit(client, { urls });
  t.like(await client.ended(job_id), { status: 'paused', pause_reason: 'credit_ceiling' });
  const refused = await client.ask('POST', `/api/v2/jobs/${job_id}/resume`);
  t.like(refused, { status: 402 });
  t.is(refused.body.error.code, 'no_credits');
  await admin.ask('POST', `/admin/users/${user_id}/adjust-credits?amount=5`);
  const resumed = await client.ask('POST', `/api/v2/jobs/${job_id}/resume`);
  t.like(resumed, { status: 200 });
  t.is(resumed.body.credits_allocated, 15);
  t.like(await client.ended(job_id), { status: 'completed', completed_urls: 15 });
  t.is((await client.ask('POST', `/api/v2/jobs/${job_id}/resume`)).status, 409);
});

test('a repeated submission is answered with what it says of the job, and another label is another request', async (t) => {
  const client = await newcomer();
  const headers = { 'idempotency-key': randomUUID() };
  const body = { urls: [`${site.url}/once`], label: 'first', metadata: { team: 'a' } };
  const made = await submit(client, body, headers);
  t.like(made, { label: 'first', metadata: { team: 'a' } });
  t.deepEqual(await submit(client, body, headers), made);
  const other = await client.ask('POST', '/api/v2/jobs', { ...body, label: 'second' }, headers);
  t.is(other.body.error.code, 'idempotency_key_mismatch');
});
