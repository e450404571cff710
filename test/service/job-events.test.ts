// The progress of a job as server-sent events, from outside, and polling by entity tags beside it.

import test, { type ExecutionContext } from 'ava';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { STREAM_LIMITS } from '../../http/frame/answers/event-streams.ts';
import { EVENT_ID, isAfter } from '../../http/jobs/job-events.ts';
import { until } from '../support/behind.ts';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';

let service: TestService;
/** Answers a URL under /held when it is released, and any other at once. */
let site: Site;
const held = new Map<string, (() => void)[]>();
const released = new Set<string>();

test.before(async () => {
  site = await openSite((request, response) => {
    const path = request.url!;
    if (!path.startsWith('/held/') || released.has(path)) return page(request, response);
    // A job that is resumed may ask for what it still had in hand.
    held.set(path, [...(held.get(path) ?? []), () => page(request, response)]);
  });
  service = await startTestService({ CHECKER_PER_HOST: '200', CHECKER_TIMEOUT_MS: '60000' });
});
test.after.always(async () => {
  await Promise.all([site?.close(), service?.stop()]);
});

async function submit(client: TestClient, folder: string, count: number): Promise<string> {
  const urls = Array.from({ length: count }, (_, i) => `${site.url}/${folder}/${i}`);
  const { status, body } = await client.upload(urls.join('\n'));
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.job_id;
}
/** Answers so many URLs of the folder, when they have been asked for. */
async function release(folder: string, count: number): Promise<void> {
  const waiting = () => [...held].filter(([path]) => path.startsWith(`/held/${folder}/`));
  await until(() => waiting().length >= count);
  for (const [path, answers] of waiting().slice(0, count)) {
    held.delete(path);
    released.add(path);
    for (const answer of answers) answer();
  }
}
const act = (client: TestClient, job_id: string, action: string) => client.ask('POST', `/jobs/${job_id}/${action}`);

interface Listening {
  response: Response;
  /** So far. */
  events: EventSourceMessage[];
  /** All that was received. */
  raw(): string;
  /** Resolves when the stream has ended; rejects when it was cut off. */
  ended: Promise<void>;
  leave(): void;
}

async function listen({ url }: TestService, { token }: TestClient, job_id: string, last_id?: string) {
  const controller = new AbortController();
  const response = await fetch(`${url}/jobs/${job_id}/events`, {
    signal: controller.signal,
    headers: { authorization: `Bearer ${token}`, ...(last_id === undefined ? {} : { 'last-event-id': last_id }) },
  });
  const events: EventSourceMessage[] = [];
  let raw = '';
  // How many URLs are in flight between two changes is told when it is known.
  const parser = createParser({ onEvent: (event) => event.event !== 'in_flight' && void events.push(event) });
  const ended = (async () => {
    if (!response.body) return;
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      raw += chunk;
      parser.feed(chunk);
    }
  })();
  ended.catch(() => {});
  return { response, events, raw: () => raw, ended, leave: () => controller.abort() } satisfies Listening;
}
const jobOf = (event: EventSourceMessage | undefined) => JSON.parse(event?.data ?? 'null');
const lastJob = ({ events }: Listening) => jobOf(events.at(-1));

/** Each event is of a later state than the one before it. */
function assertForward(t: ExecutionContext, { events }: Listening): void {
  for (const [n, event] of events.entries()) {
    t.regex(event.id!, new RegExp(EVENT_ID));
    if (n > 0) t.true(isAfter(event.id!, events[n - 1]!.id!), `${event.id} after ${events[n - 1]!.id}`);
  }
}

test('a follower sees a job begin, progress and end, and then its stream ends', async (t) => {
  const alice = await service.client('follower');
  const job_id = await submit(alice, 'held/followed', 20);
  const listening = await listen(service, alice, job_id);
  const { headers } = listening.response;
  t.is(headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.is(headers.get('cache-control'), 'no-store, no-transform');
  t.is(headers.get('x-accel-buffering'), 'no');
  await until(() => listening.events.length === 1);
  t.like(listening.events[0], { event: 'progress', id: '0-0-0' });
  t.like(lastJob(listening), { job_id, status: 'processing', completed_urls: 0 });
  await release('followed', 7);
  await until(() => lastJob(listening).completed_urls === 7);
  await release('followed', 13);
  await listening.ended;
  const last = listening.events.at(-1);
  t.is(last?.event, 'end');
  t.deepEqual(jobOf(last), (await alice.ask('GET', `/jobs/${job_id}`)).body);
  t.like(jobOf(last), { status: 'completed', completed_urls: 20 });
  t.true(listening.events.slice(0, -1).every(({ event }) => event === 'progress'));
  assertForward(t, listening);
});

test('a follower that reconnects gets only later states', async (t) => {
  const alice = await service.client('returner');
  const job_id = await submit(alice, 'held/returned', 20);
  const first = await listen(service, alice, job_id);
  await release('returned', 5);
  await until(() => lastJob(first)?.completed_urls === 5);
  const last_id = first.events.at(-1)!.id!;
  first.leave();

  const same = await listen(service, alice, job_id, last_id);
  await release('returned', 5);
  await until(() => same.events.length > 0);
  t.true(isAfter(same.events[0]!.id!, last_id));
  await until(() => lastJob(same).completed_urls === 10);
  same.leave();
  await release('returned', 10);
  await alice.ended(job_id);
  const late = await listen(service, alice, job_id, last_id);
  await late.ended;
  t.deepEqual(
    late.events.map(({ event }) => event),
    ['end'],
  );

  const over = await listen(service, alice, job_id, late.events[0]!.id!);
  t.is(over.response.status, 204, 'a browser stops coming back');
  t.is(await over.ended, undefined);
  t.is(over.raw(), '');
});

test('another process over the same stores understands an event id', async (t) => {
  const alice = await service.client('mover');
  const job_id = await submit(alice, 'held/moved', 4);
  const here = await listen(service, alice, job_id);
  await release('moved', 1);
  await until(() => lastJob(here)?.completed_urls === 1);
  const last_id = here.events.at(-1)!.id!;
  here.leave();
  const other = await startTestService({ DATA_DIR: service.data_dir, ROLES: 'http' });
  try {
    const there = await listen(other, alice, job_id, last_id);
    await release('moved', 3);
    await there.ended;
    t.is(there.events.at(-1)!.event, 'end');
    t.true(there.events.every(({ id }) => isAfter(id!, last_id)));
  } finally {
    await other.stop();
  }
});

test('the stream of a paused job stays open, through its resumption, to its end', async (t) => {
  const alice = await service.client('pauser');
  const job_id = await submit(alice, 'held/paused', 3);
  const listening = await listen(service, alice, job_id);
  await act(alice, job_id, 'pause');
  await until(() => lastJob(listening)?.status === 'paused');
  t.is(listening.events.at(-1)!.event, 'progress');
  await act(alice, job_id, 'resume');
  await until(() => lastJob(listening).status === 'processing');
  await release('paused', 3);
  await listening.ended;
  t.like(lastJob(listening), { status: 'completed', completed_urls: 3 });
  assertForward(t, listening);
});

test('the stream of a cancelled job ends after the refund', async (t) => {
  const alice = await service.client('canceller');
  const job_id = await submit(alice, 'held/cancelled', 6);
  const listening = await listen(service, alice, job_id);
  await release('cancelled', 2);
  await until(() => lastJob(listening)?.completed_urls === 2);
  await act(alice, job_id, 'cancel');
  await listening.ended;
  t.is(listening.events.at(-1)!.event, 'end');
  t.like(lastJob(listening), { status: 'cancelled', completed_urls: 2, credits_refunded: 4 });
});

test('the stream of a deleted job ends, and a later follower gets 404', async (t) => {
  const alice = await service.client('deleter');
  const job_id = await submit(alice, 'held/deleted', 1);
  const listening = await listen(service, alice, job_id);
  await until(() => listening.events.length === 1);
  await act(alice, job_id, 'pause');
  await act(alice, job_id, 'cancel');
  await alice.ask('DELETE', `/jobs/${job_id}`);
  await listening.ended;
  // Within a quarter of a second it may have ended and gone.
  t.true(['end', 'deleted'].includes(listening.events.at(-1)!.event!));
  const gone = await listen(service, alice, job_id);
  t.is(gone.response.status, 404);
});

test('the service refuses a wrong Last-Event-ID, and ignores an empty one', async (t) => {
  const alice = await service.client('mistaken');
  const job_id = await submit(alice, 'ended', 1);
  await alice.ended(job_id);
  for (const id of ['x', '1-2', '1-2-3-4', '-1-0-0', '1e3-0-0', 'null']) {
    const { status, body } = await alice.ask('GET', `/jobs/${job_id}/events`, undefined, { 'last-event-id': id });
    t.is(status, 422, id);
    t.deepEqual(body.detail[0].loc, ['header', 'last-event-id']);
  }
  const { status, body } = await alice.ask('GET', `/jobs/${job_id}/events`, undefined, { 'last-event-id': '' });
  t.is(status, 200);
  t.regex(body, /^retry: \d+\n\nid: \d+-1-0\nevent: end\ndata: \{.*\}\n\n$/);
});

test("an event id beyond the job's state does not hide its end", async (t) => {
  const alice = await service.client('prophet');
  const job_id = await submit(alice, 'held/prophet', 2);
  const listening = await listen(service, alice, job_id, '999-999-999');
  await release('prophet', 2);
  await listening.ended;
  t.deepEqual(
    listening.events.map(({ event }) => event),
    ['end'],
  );
});

test('a user has a limit of event streams', async (t) => {
  const alice = await service.client('hoarder');
  const job_id = await submit(alice, 'held/hoarded', 1);
  const open = await Promise.all(Array.from({ length: STREAM_LIMITS.of_a_user }, () => listen(service, alice, job_id)));
  t.true(open.every(({ response }) => response.status === 200));
  const refused = await alice.ask('GET', `/jobs/${job_id}/events`);
  t.is(refused.status, 429);
  t.is(refused.headers.get('retry-after'), '5');
  t.is(refused.body.code, 'too_many_streams');
  open[0]!.leave();
  await until(async () => {
    const again = await listen(service, alice, job_id);
    if (again.response.status === 200) open.push(again);
    return again.response.status === 200;
  });
  await release('hoarded', 1);
  await Promise.all(open.slice(1).map(({ ended }) => ended));
  t.true(open.slice(1).every(({ events }) => events.at(-1)?.event === 'end'));
});

test('a stopping service ends its streams cleanly and does not wait for them', async (t) => {
  const own = await startTestService({ CHECKER_TIMEOUT_MS: '60000', LOG_LEVEL: 'info' });
  const alice = await own.client('alice');
  const job_id = await submit(alice, 'held/stopped', 1);
  const listening = await listen(own, alice, job_id);
  await until(() => listening.events.length === 1);
  await own.stop();
  await t.notThrowsAsync(listening.ended);
  t.is(listening.events.at(-1)!.event, 'progress');
});

test('polling an unchanged job by its ETag gets 304, in both APIs', async (t) => {
  const alice = await service.client('poller');
  const job_id = await submit(alice, 'held/polled', 2);
  await release('polled', 1);
  await until(async () => {
    const { completed_urls, urls_in_flight } = (await alice.ask('GET', `/jobs/${job_id}`)).body;
    return completed_urls === 1 && urls_in_flight === 1;
  });
  const key = await service.keyHolder('poller');
  for (const [client, path] of [
    [alice, `/jobs/${job_id}`],
    [key, `/api/v2/jobs/${job_id}`],
  ] as const) {
    // A heartbeat that comes late changes what is known of the URLs in flight.
    await until(async () => {
      const etag = (await client.ask('GET', path)).headers.get('etag')!;
      const same = await client.ask('GET', path, undefined, { 'if-none-match': etag });
      if (same.status === 304) t.deepEqual([same.body, same.headers.get('etag')], ['', etag]);
      return same.status === 304;
    });
    t.is((await client.ask('GET', path, undefined, { 'if-none-match': '"other"' })).status, 200);
  }
  const { headers } = await alice.ask('GET', `/jobs/${job_id}`);
  await release('polled', 1);
  await alice.ended(job_id);
  const changed = await alice.ask('GET', `/jobs/${job_id}`, undefined, { 'if-none-match': headers.get('etag')! });
  t.like(changed, { status: 200, body: { status: 'completed' } });
});
