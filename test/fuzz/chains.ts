// Requests that belong together, as clients make them: what one answers goes into the next. Each gives what was not as it
// should have been, beside what the session finds wrong with single answers.
import { randomUUID } from 'node:crypto';
import type { Answer } from '../support/service.ts';
import type { Session } from './session.ts';

export interface Users {
  /** `Authorization` of one user, by a token and by a key, and of another one. */
  token: string;
  key: string;
  other_key: string;
  admin: string;
  /** Lets a job fail. */
  fail: (job_id: string) => Promise<void>;
  urls: (count: number) => string[];
  /** That nobody answers. */
  asleep: (count: number) => string[];
}

type Chain = (session: Session, users: Users) => Promise<void>;

function expect(session: Session, what: string, answer: Answer, ...statuses: number[]): Answer {
  if (!statuses.includes(answer.status))
    session.faults.push(`${what} is ${answer.status}, not ${statuses}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** Submitted once by a key that is sent again, read by cursor to the end, cancelled twice, deleted. */
const jobOfTheApi: Chain = async (session, { key, other_key, token, urls }) => {
  const list = urls(23);
  const submit = (body: object, as = key) =>
    session.ask('POST', '/api/v2/jobs', as, { body, headers: { 'Idempotency-Key': idempotency_key } });
  const idempotency_key = randomUUID();
  const made = expect(session, 'a submission', await submit({ urls: list }), 201);
  const again = expect(session, 'the same submission', await submit({ urls: list }), 201);
  if (again.headers.get('idempotency-replayed') !== 'true' || JSON.stringify(again.body) !== JSON.stringify(made.body))
    session.faults.push('a submission that comes again is not answered like the first time');
  expect(
    session,
    'the key with other URLs',
    await submit({ urls: [...list, `${list[0]}#`, 'http://127.0.0.1:9/other'] }),
    409,
  );
  const places = { id: made.body.job_id };
  expect(session, "another user's look", await session.ask('GET', '/api/v2/jobs/{id}', other_key, { places }), 404);
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: Answer = await session.ask('GET', '/api/v2/jobs/{id}/results', key, {
      places,
      query: { cursor, limit: '7' },
    });
    expect(session, 'a page', page, 200);
    if (page.status !== 200) break;
    seen.push(...page.body.results.map(({ url }: { url: string }) => url));
    cursor = page.body.next_cursor;
  }
  for (const part of ['export', 'rejected'])
    expect(session, part, await session.ask('GET', `/api/v2/jobs/{id}/${part}`, key, { places }), 200);
  const { body: job } = await session.ask('GET', '/api/v2/jobs/{id}', key, { places });
  if (seen.length !== job.completed_urls || new Set(seen).size !== seen.length)
    session.faults.push(`a job with ${job.completed_urls} results has ${seen.length} by cursor`);
  const by_job_id = { places: { job_id: made.body.job_id } };
  expect(session, 'a deletion', await session.ask('DELETE', '/jobs/{job_id}', token, by_job_id), 200);
  expect(session, 'a look after it', await session.ask('GET', '/api/v2/jobs/{id}', key, { places }), 404);
};

/** A job that failed is run again by an administrator, twice with one answer. */
const runAgain: Chain = async (session, { key, admin, asleep, fail }) => {
  const made = await session.ask('POST', '/api/v2/jobs', key, { body: { urls: asleep(10) } });
  const failed = { places: { job_id: made.body.job_id } };
  const rerun = () => session.ask('POST', '/admin/jobs/{job_id}/rerun', admin, failed);
  expect(session, 'a rerun of a job that works', await rerun(), 409);
  await fail(made.body.job_id);
  const first = expect(session, 'a rerun', await rerun(), 201);
  const second = expect(session, 'another', await rerun(), 201);
  if (first.body.job_id !== second.body.job_id) session.faults.push('a job is run again twice');
  const id = { places: { id: first.body.job_id } };
  expect(session, "the owner's cancellation of it", await session.ask('DELETE', '/api/v2/jobs/{id}', key, id), 200);
};

/** Of URLs that never answer: paused, resumed and cancelled by either API, twice. */
const cancelled: Chain = async (session, { key, token, asleep }) => {
  const made = await session.ask('POST', '/api/v2/jobs', key, { body: { urls: asleep(20) } });
  const [id, job_id] = [{ places: { id: made.body.job_id } }, { places: { job_id: made.body.job_id } }];
  expect(session, 'a pause', await session.ask('POST', '/jobs/{job_id}/pause', token, job_id), 200);
  expect(session, 'a resumption', await session.ask('POST', '/jobs/{job_id}/resume', token, job_id), 200);
  expect(session, 'a cancellation', await session.ask('POST', '/jobs/{job_id}/cancel', token, job_id), 200);
  const again = expect(session, 'a second one', await session.ask('DELETE', '/api/v2/jobs/{id}', key, id), 200);
  const third = expect(session, 'a third one', await session.ask('DELETE', '/api/v2/jobs/{id}', key, id), 200);
  if (again.body.credits_refunded !== 20 || JSON.stringify(again.body) !== JSON.stringify(third.body))
    session.faults.push(`a cancelled job has given back ${again.body.credits_refunded} of 20 credits`);
  const itself = { ...job_id, query: { since: made.body.job_id } };
  const changes = await session.ask('GET', '/jobs/{job_id}/changes', token, itself);
  if (expect(session, 'a comparison', changes, 200).body.total !== 0) session.faults.push('a job differs from itself');
};

/** Waited for, with its results in the answer. */
const waited: Chain = async (session, { key, admin, urls }) => {
  const query = { wait_seconds: '10' };
  const made = await session.ask('POST', '/api/v2/jobs/wait', key, { query, body: { urls: urls(5) } });
  expect(session, 'a wait', made, 201);
  if (made.body.timed_out !== false || made.body.results?.length !== 5)
    session.faults.push('a wait ends without its results');
  // The health of domains may not have seen it yet.
  const domain = { query: { domain: '127.0.0.1' } };
  expect(session, 'a breakdown', await session.ask('GET', '/domains/breakdown', admin, domain), 200, 404);
};

/** In one of the two APIs. Tests and resends are limited by the minute. */
const webhooks =
  (base: '' | '/api/v2'): Chain =>
  async (session, users) => {
    const [key, other_key] = base === '' ? [users.token, users.admin] : [users.key, users.other_key];
    const path = `${base}/webhooks/endpoints`;
    const body = { url: `https://example.com/${randomUUID()}`, events: [] };
    const made = expect(session, 'an endpoint', await session.ask('POST', path, key, { body }), 201, 409);
    if (made.status === 409) return;
    const places = { id: made.body.id };
    expect(session, 'the list', await session.ask('GET', path, key), 200);
    expect(session, 'a look', await session.ask('GET', `${path}/{id}`, key, { places }), 200);
    expect(session, "another user's look", await session.ask('GET', `${path}/{id}`, other_key, { places }), 404);
    for (const [step, ...statuses] of [
      ['secret', 200],
      ['enable', 200],
      ['test', 202, 429],
    ] as const)
      expect(session, step, await session.ask('POST', `${path}/{id}/${step}`, key, { places }), ...statuses);
    const query = { wait_seconds: '10' };
    await session.ask('POST', '/api/v2/jobs/wait', users.key, { query, body: { urls: users.urls(1) } });
    const log = expect(session, 'the log', await session.ask('GET', `${path}/{id}/deliveries`, key, { places }), 200);
    for (const { id } of log.body.items ?? []) {
      const resent = { places: { ...places, delivery_id: id } };
      expect(
        session,
        'a resend',
        await session.ask('POST', `${path}/{id}/deliveries/{delivery_id}/resend`, key, resent),
        202,
        429,
      );
    }
    expect(session, 'a deletion', await session.ask('DELETE', `${path}/{id}`, key, { places }), 204);
    expect(session, 'a look after it', await session.ask('GET', `${path}/{id}`, key, { places }), 404);
    expect(session, 'the same deletion', await session.ask('DELETE', `${path}/{id}`, key, { places }), 204);
  };

/** From a file to a share, a link, an export and the end. */
const jobOfTheGateway: Chain = async (session, { token, admin, urls }) => {
  const form = new FormData();
  form.append('file', new Blob([urls(8).join('\n')]), 'urls.csv');
  const made = expect(session, 'an upload', await session.ask('POST', '/jobs', token, { body: form }), 201);
  const places = { job_id: made.body.job_id as string };
  const to = (method: string, path: string, more = {}) => session.ask(method, path, token, { places, ...more });
  expect(session, 'a look', await to('GET', '/jobs/{job_id}'), 200);
  expect(session, 'the events', await to('GET', '/jobs/{job_id}/events'), 200);
  for (const path of ['stats', 'filter-options', 'url-list', 'results', 'shares', 'rejected'])
    expect(session, path, await to('GET', `/jobs/{job_id}/${path}`), 200);
  const share = expect(
    session,
    'a share',
    await to('POST', '/jobs/{job_id}/share', { body: { expires_in_hours: 1 } }),
    201,
  );
  const of_share = { places: { ...places, token: share.body.token } };
  expect(session, 'a shared job', await session.ask('GET', '/share/{token}', token, of_share), 200);
  expect(session, 'a revocation', await to('DELETE', '/jobs/{job_id}/share/{token}', of_share), 204);
  expect(session, 'a revoked share', await session.ask('GET', '/share/{token}', token, of_share), 404);
  for (const format of ['csv', 'xlsx'])
    expect(session, format, await to('GET', '/jobs/{job_id}/export', { query: { format } }), 200);
  const link = expect(session, 'a link', await to('GET', '/jobs/{job_id}/download'), 200);
  const query = Object.fromEntries(new URL(link.body.url).searchParams);
  expect(session, 'a download', await session.ask('GET', '/downloads/{job_id}', '', { places, query }), 200);
  const input = await session.ask('GET', '/admin/jobs/{job_id}/input-csv', admin, { places });
  const stored = Object.fromEntries(new URL(expect(session, 'the input', input, 200).body.url).searchParams);
  expect(session, 'the upload', await session.ask('GET', '/files', '', { query: stored }), 200);
  await to('POST', '/jobs/{job_id}/cancel');
  const body = { job_ids: [places.job_id] };
  expect(session, 'a deletion of many', await session.ask('POST', '/jobs/bulk-delete', token, { body }), 200);
  expect(session, 'a look after it', await to('GET', '/jobs/{job_id}'), 404);
};

const keys: Chain = async (session, { token }) => {
  const made = await session.ask('POST', '/users/me/api-keys', token, { body: { name: 'chain' } });
  expect(session, 'a key', made, 201, 409);
  if (made.status === 409) return;
  const as = `Bearer ${made.body.key}`;
  expect(session, 'its use', await session.ask('GET', '/api/v2/usage', as), 200);
  const places = { id: made.body.id };
  expect(session, 'its revocation', await session.ask('DELETE', '/users/me/api-keys/{id}', token, { places }), 204);
  expect(session, 'its use then', await session.ask('GET', '/api/v2/usage', as), 401);
};

/** Bought at the sandbox, paid once, refunded once, and given back. */
const purchase: Chain = async (session, { token }) => {
  const ask = (method: string, path: string, more?: Parameters<Session['ask']>[3]) =>
    session.ask(method, path, token, more);
  const order = await ask('POST', '/credits/purchase', { body: { package_id: 'credits_5000' } });
  const { session_id } = expect(session, 'a purchase', order, 200).body;
  const places = { session_id };
  expect(session, 'a checkout', await ask('GET', '/sandbox/checkout/{session_id}', { places }), 200);
  for (const status of [200, 409]) {
    expect(session, 'a payment', await ask('POST', '/sandbox/checkout/{session_id}/pay', { places }), status);
  }
  const { payment_id } = JSON.parse(Buffer.from(session_id.split('.')[0], 'base64url').toString());
  const portal = expect(session, 'a portal', await ask('POST', '/portal/create'), 200).body;
  for (const [action, status] of [
    ['refund', 200],
    ['refund', 409],
    ['win', 200],
    ['dispute', 200],
  ] as const) {
    const changed = await ask('POST', '/sandbox/portal/{session_id}/{action}', {
      places: { session_id: portal.session_id, action },
      query: { payment_id },
    });
    expect(session, `a ${action}`, changed, status);
  }
};

const blocked: Chain = async (session, { admin, token }) => {
  const domain = `${randomUUID()}.example`;
  const blocking = session.ask('POST', '/domains/blocked', admin, { body: { domain } });
  expect(session, 'a domain', await blocking, 201);
  const unblocking = session.ask('DELETE', '/domains/blocked/{domain}', admin, { places: { domain } });
  expect(session, 'its removal', await unblocking, 200);
  const fingerprint = session.ask('POST', '/users/me/fingerprint', token, { body: {} });
  expect(session, 'a fingerprint', await fingerprint, 200);
};

/** Subscribed once, paid at the sandbox, and cancelled in its portal. */
const subscribed: Chain = async (session, { token }) => {
  const order = { body: { plan: 'pro', interval: 'month' } };
  await session.ask('POST', '/v2/subscription/checkout', token, order);
  const made = expect(session, 'an order', await session.ask('POST', '/checkout/create', token, order), 200, 201, 409);
  if (made.status === 409) return;
  const checkout = { places: { session_id: made.body.session_id } };
  const paying = session.ask('POST', '/sandbox/checkout/{session_id}/pay', '', checkout);
  expect(session, 'its payment', await paying, 200, 409);
  const opened = expect(session, 'a portal', await session.ask('POST', '/portal/create', token, { body: {} }), 200);
  const portal = { session_id: opened.body.portal_url.split('/').at(-1) as string };
  const page = '/sandbox/portal/{session_id}';
  expect(session, 'its page', await session.ask('GET', page, '', { places: portal }), 200);
  const places = { ...portal, action: 'cancel' };
  expect(session, 'a cancellation', await session.ask('POST', `${page}/{action}`, '', { places }), 200);
};

const proxies: Chain = async (session, { admin }) => {
  const refreshed = expect(session, 'a refresh', await session.ask('POST', '/proxies/refresh', admin), 200).body;
  const listed = expect(session, 'the proxies', await session.ask('GET', '/proxies', admin), 200).body;
  if (listed.total !== refreshed.total)
    session.faults.push(`${listed.total} proxies after a refresh, not ${refreshed.total}`);
  const { proxy_id } = listed.items[0];
  const domains = session.ask('GET', '/proxies/{proxy_id}/blocked-domains', admin, { places: { proxy_id } });
  expect(session, 'the domains of a proxy', await domains, 200);
};

/** Others delete entries too, and the newest ones come a moment later. */
const logged: Chain = async (session, { admin }) => {
  const listed = expect(session, 'the worker log', await session.ask('GET', '/logs', admin), 200).body;
  const log_id = listed.items[0]?.log_id ?? 'unknown';
  expect(session, 'a deletion', await session.ask('DELETE', '/logs/{log_id}', admin, { places: { log_id } }), 204, 404);
  const query = { job_id: randomUUID() };
  expect(session, 'a deletion of none', await session.ask('DELETE', '/logs', admin, { query }), 200);
};

const proven: Chain = async (session, { token }) => {
  const listed = expect(
    session,
    'a ledger',
    await session.ask('GET', '/users/me/credit-transactions', token),
    200,
  ).body;
  const { transaction_id } = listed.items.at(-1);
  const query = { transaction_id };
  expect(session, 'a proof', await session.ask('GET', '/audit/inclusion', token, { query }), 200, 503);
};

/** A read model that is rebuilt while others read it. */
const rebuilt: Chain = async (session, { admin }) => {
  const listed = expect(session, 'the projections', await session.ask('GET', '/admin/projections', admin), 200).body;
  const places = { projection: listed.items[0].projection };
  const asked = await session.ask('POST', '/admin/projections/{projection}/rebuild', admin, { places, body: {} });
  expect(session, 'a rebuild', asked, 202);
};

export const CHAINS: readonly Chain[] = [
  jobOfTheApi,
  runAgain,
  cancelled,
  waited,
  webhooks('/api/v2'),
  webhooks(''),
  jobOfTheGateway,
  keys,
  purchase,
  blocked,
  subscribed,
  proxies,
  logged,
  proven,
  rebuilt,
];
