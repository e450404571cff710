import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import {
  type EventStream,
  openEventStreams,
  RETRY_MS,
  STREAM_LIMITS,
} from '../../../../http/frame/answers/event-streams.ts';
import { until } from '../../sample-app.ts';

const RETRY = `retry: ${RETRY_MS}\n\n`;
const event = (n: number) => `data: ${n}\n\n`;

/** What is there to read, without waiting for more. */
const read = (readable: Readable): string => (readable.read() as Buffer | null)?.toString() ?? '';
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Who opens a stream. */
const by = (user_id: string, ip = '192.0.2.1') => ({ user_id, ip });

test('a stream sends its retry time, then its events, and ends', async (t) => {
  const streams = openEventStreams();
  const stream = streams.open(by('alice'));
  const sent = text(stream.readable);
  stream.send(event(1));
  await turn();
  stream.send(event(2));
  await turn();
  stream.end(event(3));
  stream.end(event(4));
  stream.send(event(5));
  t.is(await sent, RETRY + event(1) + event(2) + event(3));
  streams.close();
});

test('a client that does not read misses replaced events, delays nobody, and gets the last event', async (t) => {
  const streams = openEventStreams();
  const { readable, send, end } = streams.open(by('alice'));
  for (let n = 1; n <= 1000; n++) {
    send(event(n));
    await turn();
  }
  t.true(readable.readableLength < 100, `${readable.readableLength} bytes wait`);
  let got = read(readable);
  await turn();
  for (let n = 1001; n <= 2000; n++) send(event(n));
  end();
  got += await text(readable);
  t.true(got.startsWith(RETRY));
  t.true(got.endsWith(event(2000)));
  t.true(got.length < 200, 'most were overtaken');
  streams.close();
});

test('a stream sends a comment at every heartbeat', async (t) => {
  const streams = openEventStreams({ ...STREAM_LIMITS, heartbeat_ms: 5 });
  const { readable } = streams.open(by('alice'));
  let got = '';
  readable.on('data', (chunk) => (got += chunk));
  await until(() => got.length >= RETRY.length + 9);
  t.is(got.slice(0, RETRY.length + 9), `${RETRY}:\n\n:\n\n:\n\n`);
  streams.close();
});

test('a stream ends with its last heartbeat, after the waiting event', async (t) => {
  const streams = openEventStreams({ ...STREAM_LIMITS, heartbeat_ms: 5, heartbeats: 3 });
  const { readable, send } = streams.open(by('alice'));
  send(event(1));
  t.is(await text(readable), `${RETRY}${event(1)}:\n\n:\n\n`);
  streams.close();
});

test('a stream ends at the heartbeat after its client is no longer admitted, after the waiting event', async (t) => {
  const streams = openEventStreams({ ...STREAM_LIMITS, heartbeat_ms: 5 });
  let asked = 0;
  const { readable, send } = streams.open(by('alice'), async () => ++asked < 3);
  send(event(1));
  const sent = await text(readable);
  t.true(sent.startsWith(RETRY + event(1)), sent);
  t.is(asked, 3);
  streams.close();
});

test('a client that does not read the end loses its place', async (t) => {
  const streams = openEventStreams({ ...STREAM_LIMITS, of_a_user: 1, heartbeat_ms: 5, heartbeats: 2 });
  const { readable } = streams.open(by('alice'));
  const [error] = await once(readable, 'error');
  t.is((error as { code: string }).code, 'client_gone');
  await turn();
  t.notThrows(() => streams.open(by('alice')));
  streams.close();
});

test('a user has a limit of streams, and a closed stream makes room', async (t) => {
  const streams = openEventStreams({ ...STREAM_LIMITS, of_a_user: 2 });
  const [left, ended] = [streams.open(by('alice')), streams.open(by('alice'))];
  const tooMany = { code: 'too_many_streams', headers: { 'retry-after': '5' } } as const;
  t.like(
    t.throws(() => streams.open(by('alice'))),
    { ...tooMany, status: 429 },
  );
  t.notThrows(() => streams.open(by('bob')));
  left.readable.destroy();
  await once(left.readable, 'close');
  t.notThrows(() => streams.open(by('alice')));
  t.throws(() => streams.open(by('alice')));
  ended.end();
  await text(ended.readable);
  t.notThrows(() => streams.open(by('alice')));
  streams.close();
});

test('a process has a limit of streams, and a closed stream makes room', async (t) => {
  const streams = openEventStreams({ ...STREAM_LIMITS, all: 3 });
  const [{ readable }] = ['alice', 'bob', 'carol'].map((user) => streams.open(by(user))) as [EventStream];
  t.like(
    t.throws(() => streams.open(by('dave'))),
    { status: 503, code: 'too_many_streams', headers: { 'retry-after': '5' } },
  );
  readable.destroy();
  await once(readable, 'close');
  t.notThrows(() => streams.open(by('dave')));
  streams.close();
});

test('close ends all streams after their waiting events, and opens no more', async (t) => {
  const streams = openEventStreams();
  const opened = ['alice', 'bob'].map((user) => streams.open(by(user)));
  for (const { send } of opened) send(event(1));
  streams.close();
  for (const { readable } of opened) t.is(await text(readable), RETRY + event(1));
  t.like(
    t.throws(() => streams.open(by('carol'))),
    { status: 503 },
  );
});

test('an address has a limit of streams, whoever its users are', (t) => {
  const streams = openEventStreams({ ...STREAM_LIMITS, of_an_address: 2 });
  for (const user of ['alice', 'bob']) streams.open(by(user, '2001:db8::1'));
  t.like(
    t.throws(() => streams.open(by('carol', '2001:db8::2'))),
    { status: 429, code: 'too_many_streams' },
  );
  t.notThrows(() => streams.open(by('carol', '192.0.2.1')));
  streams.close();
});

test('while all places are taken, the site with the most streams gives one to a site with fewer', async (t) => {
  const streams = openEventStreams({ ...STREAM_LIMITS, all: 4, of_an_address: 2 });
  const of_site = [1, 2].flatMap((subnet) =>
    ['a', 'b'].map((host) => streams.open(by(`user${subnet}${host}`, `2001:db8:1:${subnet}::${host}`))),
  );
  t.throws(() => streams.open(by('more', '2001:db8:1:3::1')), { code: 'too_many_streams' });
  streams.open(by('carol', '192.0.2.1'));
  t.is(await text(of_site[0]!.readable), RETRY, 'the oldest stream of the site ends, so that its client asks again');
  streams.open(by('dave', '192.0.2.2'));
  t.throws(() => streams.open(by('again', '2001:db8:1:1::a')), { code: 'too_many_streams' }, 'its place is not for it');
  streams.open(by('erin', '192.0.2.3'));
  t.throws(() => streams.open(by('frank', '192.0.2.4')), { code: 'too_many_streams' }, 'nobody has more than others');
  streams.close();
});
