// The bound on requests that make work: so many of one caller, so many at work, everybody in turn.
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import pino from 'pino';
import { Type } from '../../../../events/schema.ts';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { openHeavyRequests } from '../../../../http/frame/limits/heavy-requests.ts';
import { jsonBody } from '../../../../http/frame/request-bodies.ts';
import type { Caller } from '../../../../http/frame/route.ts';
import { routeOf } from '../../../../http/frame/route.ts';
import { ALICES_JOB, jobsBy, startSample, until } from '../../sample-app.ts';

const user = (user_id: string): { caller: Caller; ip: string } => ({
  caller: { user_id, email: null, is_admin: false, kind: 'user' },
  ip: '10.0.0.1',
});
const address = (ip: string) => ({ caller: null, ip });
const here = new AbortController().signal;

test('each caller has a limit of heavy requests, which wait, work or rest', async (t) => {
  const heavy = openHeavyRequests({ per_caller: 2, at_once: 10 });
  const [first, second] = [heavy.enter(user('alice')), heavy.enter(user('alice'))];
  await first.work(here);
  first.rest();
  const refused = t.throws(() => heavy.enter(user('alice')), { code: 'too_many_requests_at_once' });
  t.like(refused, { status: 429, headers: { 'retry-after': '1' } });
  heavy.enter(user('bob'));
  heavy.enter(address('10.0.0.1'));
  second.leave();
  second.leave();
  heavy.enter(user('alice'));
  t.throws(() => heavy.enter(user('alice')), { code: 'too_many_requests_at_once' });
});

test('an API key counts as its user, and an IPv6 address as its network', (t) => {
  const heavy = openHeavyRequests({ per_caller: 1, at_once: 10 });
  heavy.enter(user('alice'));
  t.throws(() => heavy.enter({ caller: { ...user('alice').caller, kind: 'key', key_id: 'k' }, ip: '10.0.0.9' }));
  heavy.enter(address('2001:db8:1:2::1'));
  t.throws(() => heavy.enter(address('2001:db8:1:2:ffff::9')));
  for (const subnet of [3, 4, 5]) heavy.enter(address(`2001:db8:1:${subnet}::1`));
  t.throws(() => heavy.enter(address('2001:db8:1:6::1')), { code: 'too_many_requests_at_once' }, 'the /48 is full');
  heavy.enter(address('2001:db8:2:6::1'));
});

test('the networks of a site (/48) take turns as one', async (t) => {
  const heavy = openHeavyRequests({ per_caller: 100, at_once: 1 });
  const holder = heavy.enter(user('holder'));
  await holder.work(here);
  const order: string[] = [];
  const ask = async (ip: string) => {
    const request = heavy.enter(address(ip));
    await request.work(here);
    order.push(ip);
    request.leave();
  };
  const ips = ['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:3::1', '192.0.2.1'];
  const all = ips.map(ask);
  holder.rest();
  await Promise.all(all);
  t.deepEqual(order, [ips[0], ips[3], ips[1], ips[2]]);
});

test('callers take turns: a caller with a hundred requests does not delay one with a single request', async (t) => {
  const heavy = openHeavyRequests({ per_caller: 100, at_once: 1 });
  const holder = heavy.enter(user('holder'));
  await holder.work(here);
  const order: string[] = [];
  const ask = async (name: string) => {
    const request = heavy.enter(user(name));
    await request.work(here);
    order.push(name);
    request.leave();
  };
  const all = [...Array.from({ length: 5 }, () => ask('alice')), ask('bob'), ask('carol'), ask('bob')];
  holder.rest();
  await Promise.all(all);
  t.deepEqual(order, ['alice', 'bob', 'carol', 'alice', 'bob', 'alice', 'alice', 'alice']);
});

test('a caller whose requests work for minutes leaves half of the turns to others', async (t) => {
  const heavy = openHeavyRequests({ per_caller: 100, at_once: 4 });
  const begun: string[] = [];
  const ask = (name: string) => {
    const request = heavy.enter(user(name));
    void request.work(here).then(() => begun.push(name));
    return request;
  };
  const [first] = ['alice', 'alice', 'alice', 'alice'].map(ask);
  const [bob] = ['bob', 'carol', 'dora'].map(ask);
  await setImmediate();
  t.deepEqual(begun, ['alice', 'alice', 'bob', 'carol']);
  bob!.leave();
  await setImmediate();
  t.is(begun.at(-1), 'dora', 'although alice has waited longer');
  first!.leave();
  await setImmediate();
  t.deepEqual(begun.slice(4), ['dora', 'alice']);
});

test('a client that leaves while it waits gives up its turn', async (t) => {
  const heavy = openHeavyRequests({ per_caller: 3, at_once: 1 });
  const holder = heavy.enter(user('alice'));
  await holder.work(here);
  const [left, reason] = [new AbortController(), new Error('left')];
  const leaving = heavy.enter(user('alice'));
  const waiting = leaving.work(left.signal);
  const patient = heavy.enter(user('alice'));
  const turn = patient.work(here);
  left.abort(reason);
  t.is(await t.throwsAsync(waiting), reason);
  leaving.leave();
  holder.leave();
  await turn;
  patient.leave();
  const again = heavy.enter(user('alice'));
  await again.work(here);
  t.is(await t.throwsAsync(heavy.enter(user('alice')).work(AbortSignal.abort(reason))), reason);
});

test('a request without a turn in time gets 503, and another request gets the turn', async (t) => {
  const heavy = openHeavyRequests({ per_caller: 3, at_once: 1, wait_ms: 5 });
  const holder = heavy.enter(user('alice'));
  await holder.work(here);
  const late = heavy.enter(user('bob'));
  const refused = await t.throwsAsync(late.work(here), { code: 'unavailable' });
  t.like(refused, { status: 503, headers: { 'retry-after': '5' } });
  late.leave();
  const turn = heavy.enter(user('carol')).work(here);
  holder.leave();
  await turn;
});

const route = routeOf<{ begun: number; rows: number }>(GATEWAY, 'sample');
const routes = [
  route({
    method: 'GET',
    path: '/export',
    access: 'user',
    heavy: true,
    summary: 'An export without an end',
    responses: { 200: { description: 'Rows.', content_type: 'text/csv' } },
    handler(_, counts) {
      counts.begun++;
      const rows = async function* () {
        for (;;) {
          counts.rows++;
          yield 'x'.repeat(64 * 1024);
        }
      };
      return { stream: Readable.from(rows()) };
    },
  }),
];

const ofResults = route({
  method: 'GET',
  path: '/jobs/{job_id}/export',
  access: 'owner',
  heavy: true,
  of_results: true,
  summary: 'An export of results',
  responses: { 200: { description: 'Nothing.' } },
  handler(_, counts) {
    counts.begun++;
    return {};
  },
});

const list = route({
  method: 'POST',
  path: '/lists',
  access: 'user',
  heavy: 'large body',
  summary: 'A list that may be long',
  body: jsonBody(Type.Object({ text: Type.String() }), { example: { text: '' } }),
  responses: { 204: { description: 'Taken.' } },
  handler(_, counts) {
    counts.begun++;
    return { status: 204 };
  },
});

test('a small body takes no turn and counts as no large request, whoever else has all turns', async (t) => {
  const heavy_requests = openHeavyRequests({ per_caller: 1, at_once: 1 });
  const counts = { begun: 0, rows: 0 };
  const sample = await startSample([list], counts, { heavy_requests });
  t.teardown(() => sample.close());
  const send = (chars: number) =>
    sample.request('/lists', {
      ...{ method: 'POST', as: sample.tokens.alice, headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ text: 'x'.repeat(chars) }),
    });
  const holder = heavy_requests.enter(user('holder'));
  await holder.work(here);
  t.deepEqual(
    (await Promise.all([send(1), send(1000), send(10_000)])).map(({ status }) => status),
    [204, 204, 204],
  );
  const large = send(30_000);
  t.is((await send(1)).status, 204);
  t.is(counts.begun, 4);
  holder.leave();
  t.is((await large).status, 204);
});

test('a job that is deleted, or whose results expire, before the turn comes is answered as it is then', async (t) => {
  const heavy_requests = openHeavyRequests({ per_caller: 5, at_once: 1 });
  let reads = 0;
  let job: object | null = { owner_id: 'alice' };
  const find = () => {
    reads++;
    return job;
  };
  const counts = { begun: 0, rows: 0 };
  const sample = await startSample([ofResults], counts, { heavy_requests, jobs: jobsBy(find) });
  t.teardown(() => sample.close());
  const path = `/jobs/${ALICES_JOB}/export`;
  for (const [now, status] of [
    [{ owner_id: 'alice', results_expired_at: '2026-03-02T09:00:00.000Z' }, 410],
    [null, 404],
  ] as const) {
    job = { owner_id: 'alice' };
    const holder = heavy_requests.enter(user('holder'));
    await holder.work(here);
    reads = 0;
    const answer = sample.request(path, { as: sample.tokens.alice });
    await until(() => reads > 0);
    job = now;
    holder.leave();
    t.is((await answer).status, status);
  }
  t.is(counts.begun, 0);
});

test('unread exports hold only their sockets: the service refuses one too many, and answers probes', async (t) => {
  const counts = { begun: 0, rows: 0 };
  const heavy_requests = openHeavyRequests({ per_caller: 5, at_once: 2 });
  const sample = await startSample(routes, counts, { heavy_requests, drain_ms: 0 });
  t.teardown(() => sample.close());
  const { alice, bob } = sample.tokens;
  const unread = await Promise.all(Array.from({ length: 5 }, () => sample.request('/export', { as: alice })));
  t.deepEqual(
    unread.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  const refused = await sample.request('/export', { as: alice });
  t.is(refused.status, 429);
  t.is(refused.headers.get('retry-after'), '1');
  t.like(await refused.json(), { code: 'too_many_requests_at_once' });
  t.is((await sample.request('/healthz')).status, 200);
  // Somebody else's turn comes although five streams are open, and nobody makes rows that are not read.
  t.is((await sample.request('/export', { as: bob })).status, 200);
  let before = -1;
  await until(async () => {
    if (counts.rows === before) return true;
    before = counts.rows;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return false;
  });
  await unread[0]!.body!.cancel();
  await until(async () => {
    const again = await sample.request('/export', { as: alice });
    await again.body!.cancel();
    return again.status === 200;
  });
});

test('a client that leaves before its large request is counted leaves no place taken', async (t) => {
  const heavy_requests = openHeavyRequests({ per_caller: 1, at_once: 1 });
  const [waits, gone, passes] = [0, 0, 0].map(() => Promise.withResolvers<void>());
  const counts = { begun: 0, rows: 0 };
  const sample = await startSample(routes, counts, {
    heavy_requests,
    drain_ms: 0,
    async await_position() {
      waits!.resolve();
      await passes!.promise;
      return true;
    },
    log: pino({ level: 'info' }, { write: (line) => line.includes('"status":499') && gone!.resolve() }),
  });
  t.teardown(() => sample.close());
  const as = sample.tokens.alice;
  const leaves = new AbortController();
  const left = sample.request('/export', { as, headers: { 'x-log-position': '5' }, signal: leaves.signal });
  await waits!.promise;
  leaves.abort();
  await t.throwsAsync(left);
  await gone!.promise;
  passes!.resolve();
  await until(async () => {
    const again = await sample.request('/export', { as });
    await again.body!.cancel();
    return again.status === 200;
  });
  t.is(counts.begun, 1, 'nobody made an export for the client that left');
});
