// How many connections the server keeps, and who gives way when there are more.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import test from 'ava';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Connections, mostConnections } from '../../../http/server/connections.ts';
import { startServer } from '../../../http/server/server.ts';
import { openFilesAllowed } from '../../../net/open-files.ts';
import { until } from '../sample-app.ts';

test('the server leaves the checker the open files that it needs', (t) => {
  t.is(mostConnections({ wanted: 10_000, checks_at_once: 256 }, 1_048_576), 10_000);
  t.is(mostConnections({ wanted: 10_000, checks_at_once: 256 }, 4096), 4096 - 200 - 3 * 256);
  t.is(mostConnections({ wanted: 10_000, checks_at_once: 0 }, 1024), 824);
  t.is(mostConnections({ wanted: 10_000, checks_at_once: 10_000 }, 1024), 16);
  t.is(mostConnections({ wanted: 10_000, checks_at_once: 256 }, Number.POSITIVE_INFINITY), 10_000);
});

test('openFilesAllowed reads the limit of the system', (t) => {
  t.is(
    openFilesAllowed(() => 'Limit  Soft Limit\nMax open files            1024                 4096\n'),
    1024,
  );
  t.is(
    openFilesAllowed(() => 'Max open files            unlimited            unlimited\n'),
    Number.POSITIVE_INFINITY,
  );
  t.is(
    openFilesAllowed(() => {
      throw new Error('no such file');
    }),
    Number.POSITIVE_INFINITY,
  );
});

test('the server closes the longest idle connections for new ones, and answers every request', async (t) => {
  const lines: { closed?: number }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let now = 0;
  const connections = new Connections({ most: 3, log, monotonic: () => now });
  const registry = new Registry();
  connections.measure(registry);
  const answers: (() => void)[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/slow') answers.push(() => response.end('slow'));
    else response.end('fine');
  });
  connections.watch(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  let accepted = 0;
  server.on('connection', () => accepted++);
  const open = async (): Promise<Socket> => {
    const [socket, before] = [connect(port, '127.0.0.1'), accepted];
    socket.on('error', () => {});
    await until(() => accepted > before);
    return socket;
  };
  const closed = (socket: Socket) => until(() => socket.resume().closed);

  const busy = await open();
  busy.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => answers.length === 1);
  const [first, second] = [await open(), await open()];
  const third = await open();
  await closed(first);
  const fourth = await open();
  await closed(second);
  t.is(lines.length, 1);
  now += 1000;
  t.is(await (await fetch(`http://127.0.0.1:${port}/healthz`)).text(), 'fine');
  await closed(third);
  t.deepEqual(
    lines.map((line) => line.closed),
    [1, 2],
  );
  t.false(fourth.closed);
  t.false(busy.closed);
  answers[0]!();
  await until(() => busy.read() !== null);
  t.regex(await registry.metrics(), /^http_connections_closed_for_room_total 3$/m);
});

test('the server answers probes while all connections are busy, and refuses other requests', async (t) => {
  const log = pino({ level: 'silent' });
  const connections = new Connections({ most: 2, log });
  let asked = 0;
  const app = {
    callback: () => (request: IncomingMessage, response: ServerResponse) => {
      if (request.url === '/healthz') response.end('fine');
      else asked++;
    },
  };
  const server = await startServer(app, { host: '127.0.0.1', port: 0, log, connections, drain_ms: 0 });
  t.teardown(() => server.close());
  const port = Number(new URL(server.url).port);
  const ask = (path: string): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    return socket;
  };
  const busy = [ask('/slow'), ask('/slow')];
  await until(() => asked === 2);
  const waiting = Array.from({ length: 20 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  const refused = await fetch(`${server.url}/jobs`);
  t.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5']);
  t.like(await refused.json(), { code: 'unavailable' });
  t.is(await (await fetch(`${server.url}/healthz`)).text(), 'fine');
  t.deepEqual(
    busy.map((socket) => socket.closed),
    [false, false],
  );
  t.is(asked, 2);
  await until(() => waiting.filter((socket) => socket.resume().closed).length >= 12);
  for (const socket of [...busy, ...waiting]) socket.destroy();
});

test('the server cuts off a connection with hundreds of requests in flight', async (t) => {
  const log = pino({ level: 'silent' });
  let asked = 0;
  const app = { callback: () => () => void asked++ };
  const server = await startServer(app, { host: '127.0.0.1', port: 0, log, drain_ms: 0 });
  t.teardown(() => server.close());
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
  await until(() => socket.resume().closed);
  t.is(asked, 1);
});
