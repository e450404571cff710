// Streams that last as long as their client listens: how the frame logs, measures and ends them.
import test from 'ava';
import { Registry } from 'prom-client';
import { Type } from 'typebox';
import { GATEWAY } from '../../http/apis/gateway.ts';
import { type EventStreams, openEventStreams } from '../../http/frame/answers/event-streams.ts';
import { ClientGone } from '../../http/frame/errors.ts';
import { type Route, routeOf } from '../../http/frame/route.ts';
import { startSample, until } from './sample-app.ts';

/** Who opens a stream. */
const by = (user_id: string, ip = '192.0.2.1') => ({ user_id, ip });

const route = routeOf<EventStreams>(GATEWAY, 'sample');
const ROUTES: Route<EventStreams>[] = [
  route({
    method: 'GET',
    path: '/events/{how}',
    access: 'none',
    lasting: true,
    summary: 'A sample',
    responses: { 200: { description: 'Events.', content_type: 'text/event-stream', schema: Type.String() } },
    handler({ params: { how } }, streams) {
      const { readable, end } = streams.open(by('alice'));
      if (how === 'short') end('data: 1\n\n');
      if (how === 'failing') setImmediate(() => readable.destroy(new Error('the store is gone')));
      if (how === 'unread') setImmediate(() => readable.destroy(new ClientGone('the client does not read')));
      return { stream: readable };
    },
  }),
];

async function start() {
  const registry = new Registry();
  const streams = openEventStreams();
  const sample = await startSample(ROUTES, streams, { registry });
  const measured = async () => {
    const of = async (name: string) => (await registry.getSingleMetric(name)!.get()).values;
    const durations = await of('http_request_duration_seconds');
    const began = durations.filter(({ labels }) => labels.route === '/events/{how}');
    const sum = (kind: string) =>
      began
        .filter((value) => (value as { metricName?: string }).metricName?.endsWith(kind))
        .reduce((all, { value }) => all + value, 0);
    return {
      lasting: (await of('http_lasting_streams'))[0]!.value,
      in_flight: (await of('http_requests_in_flight'))[0]!.value,
      began: sum('_count'),
      seconds: sum('_sum'),
    };
  };
  const line = (id: string) =>
    sample.logged.find(({ msg, request_id }) => msg === 'request' && request_id === id) as { ms: number } | undefined;
  return { sample, streams, measured, line };
}

test('an event stream is measured when it begins and logged when it ends', async (t) => {
  const { sample, measured, line } = await start();
  const controller = new AbortController();
  const headers = { 'x-request-id': 'long' };
  const began_at = performance.now();
  const response = await sample.request('/events/long', { signal: controller.signal, headers });
  await response.body!.getReader().read();
  const during = await measured();
  t.like(during, { lasting: 1, in_flight: 0, began: 1 });
  t.is(line('long'), undefined);
  controller.abort();
  await until(() => line('long') !== undefined);
  t.like(await measured(), { lasting: 0, in_flight: 0, began: 1, seconds: during.seconds });
  t.true(line('long')!.ms <= performance.now() - began_at + 1);
  await sample.close();
});

test('a client that leaves an event stream causes no error', async (t) => {
  const { sample, line } = await start();
  const controller = new AbortController();
  const response = await sample.request('/events/long', {
    signal: controller.signal,
    headers: { 'x-request-id': 'left' },
  });
  await response.body!.getReader().read();
  controller.abort();
  await until(() => line('left') !== undefined);
  t.like(line('left'), { level: 30, status: 200, route: '/events/{how}' });
  await sample.close();
});

test('the log tells a stream that ended from one that failed', async (t) => {
  const { sample, measured, line } = await start();
  const ask = (how: string) => sample.request(`/events/${how}`, { headers: { 'x-request-id': how } });
  t.is(await (await ask('short')).text(), 'retry: 2000\n\ndata: 1\n\n');
  await t.throwsAsync(async () => (await ask('failing')).text());
  await until(() => line('short') !== undefined && line('failing') !== undefined);
  t.like(line('short'), { status: 200 });
  t.like(line('failing'), { status: 500 });
  t.like(await measured(), { lasting: 0, in_flight: 0, began: 2 });
  await sample.close();
});

test('cutting off a client that does not read logs no error', async (t) => {
  const { sample, measured, line } = await start();
  const response = await sample.request('/events/unread', { headers: { 'x-request-id': 'unread' } });
  await t.throwsAsync(async () => response.text());
  await until(() => line('unread') !== undefined);
  t.like(line('unread'), { level: 30, status: 200 });
  t.like(await measured(), { lasting: 0, in_flight: 0 });
  t.false(sample.logged.some(({ level }) => level === 50));
  await sample.close();
});

test('HEAD opens no event stream', async (t) => {
  const { sample, measured } = await start();
  t.is((await sample.request('/events/long', { method: 'HEAD' })).status, 200);
  t.like(await measured(), { lasting: 0, in_flight: 0, began: 1 });
  await sample.close();
});

test('the server closes without waiting for event streams, and cuts none off', async (t) => {
  const { sample, streams } = await start();
  const listening = await Promise.all(Array.from({ length: 5 }, () => sample.request('/events/long')));
  streams.close();
  await sample.close();
  for (const response of listening) t.is(await response.text(), 'retry: 2000\n\n');
  t.false(sample.logged.some(({ msg }) => msg === 'http cuts off the requests in flight'));
});
