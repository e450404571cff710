import { text } from 'node:stream/consumers';
import test from 'ava';
import { openEventStreams } from '../../../http/frame/answers/event-streams.ts';
import type { Caller, RouteRequest } from '../../../http/frame/route.ts';
import type { InFlight } from '../../../http/jobs/in-flight.ts';
import {
  type Deps,
  EVENT_ID,
  eventId,
  events,
  isAfter,
  isOver,
  jobEvent,
  openJobStates,
} from '../../../http/jobs/job-events.ts';
import { jobStatusView } from '../../../http/jobs/job-view.ts';
import type { Follower } from '../../../http/jobs/job-watch.ts';
import type { JobDocument } from '../../../readmodels/jobs/jobs.ts';

/** What its events say and depend on. */
const job = (changed: Partial<JobDocument> = {}) =>
  ({
    _id: '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11',
    owner_id: 'alice',
    status: 'processing',
    total_urls: 100,
    completed_urls: 0,
    credits_allocated: 100,
    credits_refunded: 0,
    revision: 0,
    due: null,
    ...changed,
  }) as JobDocument;

test('an event holds the whole job, and its id names the state', (t) => {
  const checked = job({ revision: 2, completed_urls: 17 });
  const [id, name, data, ...rest] = jobEvent(
    'progress',
    jobStatusView(checked, () => 3),
    eventId(checked),
  ).split('\n');
  t.deepEqual([id, name, rest], ['id: 2-17-0', 'event: progress', ['', '']]);
  const { completed_urls, urls_in_flight } = JSON.parse(data!.replace('data: ', ''));
  t.deepEqual([completed_urls, urls_in_flight], [17, 3]);
});

test('every change of a job makes its event id later', (t) => {
  const life = [
    job(),
    job({ completed_urls: 9 }),
    job({ completed_urls: 10 }),
    job({ revision: 1, completed_urls: 10, status: 'paused' }),
    job({ revision: 1, completed_urls: 11, status: 'paused' }),
    job({ revision: 2, completed_urls: 11 }),
    job({ revision: 3, completed_urls: 11, status: 'cancelled', due: 'settlement' }),
    job({ revision: 3, completed_urls: 11, status: 'cancelled', credits_refunded: 89 }),
  ].map(eventId);
  for (const [n, id] of life.entries()) {
    t.regex(id, new RegExp(EVENT_ID));
    for (const [m, other] of life.entries()) t.is(isAfter(id, other), n > m, `${id} after ${other}`);
    t.true(isAfter(id, ''), 'anything is after nothing');
  }
});

test('the pattern of event ids refuses other texts', (t) => {
  for (const text of ['1', '1-2', '1-2-3-4', '-1-2-3', 'a-b-c', '1-2-', ' 1-2-3', '1-2-3\n4', `${'9'.repeat(16)}-0-0`])
    t.notRegex(text, new RegExp(EVENT_ID), text);
  t.regex('', new RegExp(EVENT_ID));
});

test('a job is over when it has ended and its unused credits are refunded', (t) => {
  for (const status of ['processing', 'paused'] as const) t.false(isOver(job({ status })), status);
  for (const status of ['completed', 'cancelled', 'failed'] as const) t.true(isOver(job({ status })), status);
  t.false(isOver(job({ status: 'cancelled', due: 'settlement' })));
});

/** The route's stream over a job that the test changes by hand. */
async function follow(
  first: JobDocument,
  { last_event_id, inFlight = () => 0 as number | null }: { last_event_id?: string; inFlight?: InFlight } = {},
) {
  let tell: Follower | undefined;
  const services = {
    eventStreams: openEventStreams(),
    stateOf: openJobStates(inFlight),
    jobWatch: {
      follow(_job_id: string, follower: Follower) {
        tell = follower;
        return () => (tell = undefined);
      },
    },
  } as unknown as Deps;
  const request = {
    job: first,
    headers: last_event_id === undefined ? {} : { 'last-event-id': last_event_id },
    caller: { user_id: 'alice' } as Caller,
  } as unknown as RouteRequest;
  const { stream } = await events.handler(request, services);
  return { sent: text(stream!), tell: (now: JobDocument | null) => tell?.(now), isFollowed: () => tell !== undefined };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const names = (sent: string) => [...sent.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);

test('a stream sends the deletion of its job without an id, and ends', async (t) => {
  const { sent, tell, isFollowed } = await follow(job());
  await turn();
  t.true(isFollowed());
  tell(null);
  const all = await sent;
  t.deepEqual(names(all), ['progress', 'deleted']);
  t.true(all.endsWith(`\n\nevent: deleted\ndata: {"job_id":"${job()._id}"}\n\n`));
  t.false(isFollowed());
});

test('a stream does not repeat a state that it sent before', async (t) => {
  const { sent, tell } = await follow(job({ completed_urls: 5 }), { last_event_id: '0-5-0' });
  for (const completed_urls of [5, 4, 6, 6, 5, 7]) {
    tell(job({ completed_urls }));
    await turn();
  }
  tell(job({ completed_urls: 100, revision: 1, status: 'completed' }));
  const ids = [...(await sent).matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
  t.deepEqual(ids, ['0-6-0', '0-7-0', '1-100-0']);
});

test('between two states a stream says that other URLs are in flight', async (t) => {
  let in_flight = 0;
  const { sent, tell } = await follow(job({ completed_urls: 5 }), {
    last_event_id: '0-5-0',
    inFlight: () => in_flight,
  });
  await turn();
  for (in_flight of [0, 40, 40, 20]) {
    tell(job({ completed_urls: 5 }));
    await turn();
  }
  in_flight = 70;
  tell(job({ completed_urls: 4 }));
  tell(null);
  const events = [...(await sent).matchAll(/\n\nevent: (.*)\ndata: (.*)$/gm)];
  t.deepEqual(
    events.map(([, name, data]) => [name, JSON.parse(data!).urls_in_flight]),
    [
      // Who reconnects knows an older number.
      ['in_flight', 0],
      ['in_flight', 40],
      ['in_flight', 20],
      ['deleted', undefined],
    ],
  );
});

test('a client that is too slow for a state and the URLs in flight after it gets both in one event', async (t) => {
  let in_flight = 0;
  const { sent, tell } = await follow(job(), { inFlight: () => in_flight });
  await turn();
  tell(job({ completed_urls: 5 }));
  tell(job({ completed_urls: 6 }));
  in_flight = 40;
  tell(job({ completed_urls: 6 }));
  await turn();
  for (in_flight of [30, 20, 10]) tell(job({ completed_urls: 6 }));
  await turn();
  tell(null);
  const all = await sent;
  t.deepEqual(names(all), ['progress', 'progress', 'progress', 'in_flight', 'in_flight', 'deleted']);
  t.regex(all, /id: 0-6-0\nevent: progress\ndata: .*"urls_in_flight":40/);
});

test('many followers of a job share the texts of its state', async (t) => {
  const followers: Follower[] = [];
  const jobWatch = {
    follow(_id: string, follower: Follower) {
      followers.push(follower);
      return () => {};
    },
  };
  let looked = 0;
  const inFlight = () => {
    looked++;
    return 0;
  };
  const services = { eventStreams: openEventStreams(), jobWatch, stateOf: openJobStates(inFlight) } as unknown as Deps;
  const first = job();
  const request = { job: first, headers: {}, caller: { user_id: 'alice' } as Caller, ip: '192.0.2.1' };
  const sent: Promise<string>[] = [];
  for (let n = 0; n < 20; n++) {
    const { stream } = await events.handler(request as unknown as RouteRequest, services);
    sent.push(text(stream!));
  }
  await turn();
  looked = 0;
  const ended = job({ completed_urls: 100, revision: 1, status: 'completed' });
  for (const follower of followers) follower(ended);
  const all = await Promise.all(sent);
  t.true(all.every((one) => one.endsWith(all[0]!.slice(all[0]!.indexOf('event: end')))));
  t.is(looked, 1, 'one view and one text for all of them');
});
