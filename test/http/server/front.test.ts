// What strangers do to the server before a request reaches the application: they pipeline bodies, flood probes, and leave requests half-sent.
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { Connections } from '../../../http/server/connections.ts';
import { Front } from '../../../http/server/front.ts';
import { startServer } from '../../../http/server/server.ts';
import { until } from '../sample-app.ts';

const log = pino({ level: 'silent' });

/** A server whose application answers `/now` and probes at once, and other requests when the test says so. */
async function start(
  t: ExecutionContext,
  { front = new Front({ log }), of_an_address = Number.POSITIVE_INFINITY, headers_ms = 15_000 } = {},
) {
  const asked: IncomingMessage[] = [];
  const answers: (() => void)[] = [];
  const app = {
    callback: () => (request: IncomingMessage, response: ServerResponse) => {
      asked.push(request);
      if (request.url === '/slow') answers.push(() => response.end('slow'));
      else response.end(request.url);
    },
  };
  const connections = new Connections({ most: 1000, of_an_address, log });
  const bound = { host: '127.0.0.1', port: 0 };
  const server = await startServer(app, { ...bound, log, front, connections, drain_ms: 0, headers_ms });
  t.teardown(() => server.close());
  const port = Number(new URL(server.url).port);
  const open = (text = '', from = '127.0.0.1') => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    t.teardown(() => socket.destroy());
    socket.on('error', () => {}).write(text);
    return socket;
  };
  return { ...{ asked, answers, open }, paths: () => asked.map(({ url }) => url) };
}
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
const post = (bytes: number) => `POST /now HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`;

/** What came on the connection until it closed. */
async function received(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await until(() => socket.closed);
  return Buffer.concat(chunks).toString();
}

test('bodies that wait behind an earlier request are bounded in bytes', async (t) => {
  const { open, paths } = await start(t);
  const socket = open(get('/slow') + post(60_000).repeat(30));
  t.is(await received(socket), '');
  t.deepEqual(paths(), ['/slow']);
});

test('one large body behind an earlier request waits for its turn', async (t) => {
  const { open, paths, answers } = await start(t);
  const socket = open(get('/slow') + post(1_000_000) + get('/now', 'Connection: close\r\n'));
  await until(() => answers.length === 1);
  answers[0]!();
  t.is((await received(socket)).match(/HTTP\/1.1 200 OK/g)?.length, 3);
  t.deepEqual(paths(), ['/slow', '/now', '/now']);
});

test('a request with an odd expectation waits for its turn like any other', async (t) => {
  const { open, answers } = await start(t);
  const socket = open(get('/slow') + get('/now', 'Expect: cake\r\n').repeat(200));
  t.is(await received(socket), '', 'as for any 100 others, the connection is cut off');
  const patient = open(get('/slow') + get('/now', 'Expect: cake\r\n'));
  await until(() => answers.length === 2);
  answers[1]!();
  t.regex(await received(patient), /200 OK.*417 Expectation Failed/s);
});

test('a request that did not arrive in time is answered 408', async (t) => {
  const { open } = await start(t, { headers_ms: 150 });
  t.regex(await received(open('GET /now HTTP/1.1\r\n')), /^HTTP\/1\.1 408 .*"too_slow"/s);
});

test('a request that arrived while the process stood still is served, though Node finds it overdue', async (t) => {
  const { open, asked } = await start(t);
  const socket = open(get('/now'));
  await until(() => asked.length === 1);
  const of_server = asked[0]!.socket as Socket & { server: EventEmitter };
  // Node looks for overdue requests in the turn of timers, before it reads what arrived.
  await new Promise((resolve) => setTimeout(resolve, 1));
  socket.write(get('/now', 'Connection: close\r\n'));
  const overdue = Object.assign(new Error('overdue'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  of_server.server.emit('clientError', overdue, of_server);
  const answers = await received(socket);
  t.is(answers.match(/HTTP\/1\.1 200 OK/g)?.length, 2, answers);
});

test('the first probes of a second wait for nobody, and further ones take turns', async (t) => {
  const front = new Front({ log });
  const began: number[] = [];
  let others = 0;
  const enter = (n: number, is_probe: boolean) => {
    const socket = { remoteAddress: '192.0.2.7' };
    const request = { socket, method: 'GET', headers: {}, rawHeaders: [] } as unknown as IncomingMessage;
    const response = { once: () => response } as unknown as ServerResponse;
    const begin = () => (is_probe ? began.push(n) : others++);
    front.enter({ request, response, isProbe: () => is_probe, begin, refuse: () => {} });
  };
  t.teardown(() => front.unread.close());
  // A caller has 16 places for reads, which these requests keep.
  for (let n = 0; n < 20; n++) enter(n, false);
  t.true(others <= 16);
  for (let n = 0; n < 200; n++) enter(n, true);
  t.deepEqual(
    began,
    Array.from({ length: 50 }, (_, n) => n),
  );
});

test('an address has so many connections: an idle one of its own makes room, else the new one is closed', async (t) => {
  const { open, asked, answers } = await start(t, { of_an_address: 2 });
  const idle = open(get('/now'));
  await until(() => asked.length === 1);
  const [busy, other] = [open(get('/slow')), open(get('/slow'), '127.0.0.2')];
  await until(() => answers.length === 2);
  const third = open(get('/slow'));
  await until(() => answers.length === 3);
  await until(() => idle.resume().closed);
  const fourth = open(get('/now'));
  t.is(await received(fourth), '');
  t.deepEqual(
    [busy, other, third].map(({ closed }) => closed),
    [false, false, false],
  );
  // Another address is served all the while.
  const neighbour = open(get('/now', 'Connection: close\r\n'), '127.0.0.3');
  t.regex(await received(neighbour), /200 OK/);
});

test('the connections of a trusted proxy have no limit of an address', async (t) => {
  const front = new Front({ log, trusted_proxies: ['127.0.0.1/32'] });
  const { open, answers } = await start(t, { front, of_an_address: 2 });
  const sockets = Array.from({ length: 10 }, (_, n) => open(get('/slow', `X-Forwarded-For: 192.0.2.${n}\r\n`)));
  await until(() => answers.length === 10);
  t.false(sockets.some(({ closed }) => closed));
});

test('the addresses of an IPv6 /64 share the connections of one, and those of a /48 four times as many', (t) => {
  const { open, closed } = connectionsOf(2);
  t.deepEqual(['2001:db8:1:1::1', '2001:db8:1:1::2', '2001:db8:1:1:ffff::3'].map(open), [true, true, false]);
  for (const subnet of [2, 3, 4]) t.true(open(`2001:db8:1:${subnet}::1`) && open(`2001:db8:1:${subnet}::2`));
  t.false(open('2001:db8:1:5::1'), 'the /48 is full');
  t.true(open('2001:db8:2:1::1'));
  t.true(open('::ffff:192.0.2.1') && open('192.0.2.1'));
  t.false(open('::ffff:192.0.2.1'), 'it is an IPv4 address');
  t.is(closed(), 3);
});

/** Connections that are busy, without a network: loopback has one IPv6 address. */
function connectionsOf(of_an_address: number) {
  const front = new Front({ log });
  front.unread.close();
  const connections = new Connections({ most: 1000, of_an_address, log });
  type Listener = (...of: unknown[]) => void;
  const on: Record<string, Listener> = {};
  const server = { on: (name: string, listener: Listener) => (on[name] = listener) };
  connections.watch(server as never, front.peersOf);
  let closed = 0;
  return {
    open(remoteAddress: string): boolean {
      let is_open = true;
      const destroy = () => {
        closed++;
        is_open = false;
      };
      const socket = { remoteAddress, once: () => socket, destroy };
      on.connection!(socket);
      on.request!({ socket }, { once: () => {} });
      return is_open;
    },
    closed: () => closed,
  };
}
