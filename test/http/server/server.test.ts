import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import test from 'ava';
import Koa from 'koa';
import pino from 'pino';
import { startServer } from '../../../http/server/server.ts';
import { until } from '../sample-app.ts';

const log = pino({ level: 'silent' });

/** An application whose every answer waits until it is released. */
function waitingApp() {
  const app = new Koa({});
  const waiting: (() => void)[] = [];
  app.use(async (ctx) => {
    if (ctx.path !== '/now') await new Promise<void>((resolve) => waiting.push(resolve));
    ctx.body = 'done';
  });
  return { app, waiting };
}

const ask = (url: string, agent?: Agent): Promise<IncomingMessage & { text: string }> =>
  new Promise((resolve, reject) => {
    httpRequest(url, agent ? { agent } : {}, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      resolve(Object.assign(response, { text }));
    })
      .on('error', reject)
      .end();
  });

const opened = async (url: string): Promise<Socket> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
};
const gone = (socket: Socket) =>
  new Promise<void>((resolve) =>
    socket
      .resume()
      .on('error', () => {})
      .once('close', () => resolve()),
  );

test('startServer returns the bound address', async (t) => {
  const { app } = waitingApp();
  const server = await startServer(app, { host: '127.0.0.1', port: 0, log });
  t.regex(server.url, /^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
  t.is((await ask(`${server.url}/now`)).text, 'done');
  await server.close();
});

test('startServer rejects for a taken port', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  await t.throwsAsync(() => startServer(waitingApp().app, { host: '127.0.0.1', port, log }), { code: 'EADDRINUSE' });
  taken.close();
});

test('close finishes the request in flight, refuses new ones, and drops idle connections', async (t) => {
  const { app, waiting } = waitingApp();
  const server = await startServer(app, { host: '127.0.0.1', port: 0, log });
  const idle = await opened(server.url);
  const agent = new Agent({ keepAlive: true });
  t.is((await ask(`${server.url}/now`, agent)).text, 'done');
  const kept = Object.values(agent.freeSockets)[0]![0]!;
  const slow = ask(`${server.url}/slow`);
  await until(() => waiting.length === 1);

  let is_closed = false;
  const closing = server.close().then(() => (is_closed = true));
  await Promise.all([gone(idle), gone(kept)]);
  await t.throwsAsync(() => ask(`${server.url}/now`), { code: 'ECONNREFUSED' });
  t.false(is_closed);
  waiting[0]!();
  t.is((await slow).text, 'done');
  await closing;
  t.true(is_closed);
});

test('the last answer on a connection has Connection: close', async (t) => {
  const { app, waiting } = waitingApp();
  const server = await startServer(app, { host: '127.0.0.1', port: 0, log });
  const agent = new Agent({ keepAlive: true });
  const slow = ask(`${server.url}/slow`, agent);
  await until(() => waiting.length === 1);
  const closing = server.close();
  waiting[0]!();
  t.is((await slow).headers.connection, 'close');
  await closing;
});

test('close cuts off requests after the drain time', async (t) => {
  const { app, waiting } = waitingApp();
  const server = await startServer(app, { host: '127.0.0.1', port: 0, log, drain_ms: 50 });
  const slow = ask(`${server.url}/slow`);
  slow.catch(() => {});
  await until(() => waiting.length === 1);
  await server.close();
  await t.throwsAsync(slow, { code: 'ECONNRESET' });
});

test('close may be called twice', async (t) => {
  const server = await startServer(waitingApp().app, { host: '127.0.0.1', port: 0, log });
  await Promise.all([server.close(), server.close()]);
  t.pass();
});

test('the server refuses large headers, a missing Host, odd targets and expectations, and broken HTTP', async (t) => {
  const server = await startServer(waitingApp().app, { host: '127.0.0.1', port: 0, log });
  const exchange = async (text: string) => {
    const socket = await opened(server.url);
    socket.write(text);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    await gone(socket);
    const [head, body] = Buffer.concat(chunks).toString().split('\r\n\r\n');
    t.regex(head!, /\r\nX-Request-ID: [0-9a-f-]{36}\r\n/);
    return [head!.split('\r\n')[0], JSON.parse(body!)];
  };
  const too_long = `HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`;
  t.deepEqual(await exchange(`GET /now ${too_long}`), [
    'HTTP/1.1 431 Request Header Fields Too Large',
    { detail: 'The headers are larger than 16384 bytes.', code: 'headers_too_large' },
  ]);
  const [, of_v2] = await exchange(`GET /api/v2/jobs/a ${too_long}`);
  t.like(of_v2, { error: { code: 'headers_too_large' } });
  t.deepEqual(await exchange('hello\r\n\r\n'), [
    'HTTP/1.1 400 Bad Request',
    { detail: 'The request is not HTTP/1.1.', code: 'malformed_request' },
  ]);
  t.deepEqual(await exchange('GET /now HTTP/1.1\r\n\r\n'), [
    'HTTP/1.1 400 Bad Request',
    { detail: 'The header Host is missing.', code: 'malformed_request' },
  ]);
  for (const target of ['http://', 'http://[/now', 'ftp://a/now']) {
    t.deepEqual(await exchange(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`), [
      'HTTP/1.1 400 Bad Request',
      { detail: 'The target of the request is no path and no URL.', code: 'malformed_request' },
    ]);
  }
  const [status] = await exchange('POST /now HTTP/1.1\r\nHost: a\r\nExpect: cake\r\nContent-Length: 1\r\n\r\na');
  t.is(status, 'HTTP/1.1 417 Expectation Failed');
  t.is((await ask(`${server.url}/now`)).text, 'done');
  await server.close();
});

test('the server takes a whole URL for its path', async (t) => {
  const server = await startServer(waitingApp().app, { host: '127.0.0.1', port: 0, log });
  const socket = await opened(server.url);
  socket.write('GET HTTP://other.example:80/now?a=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.regex((await socket.toArray()).toString(), /^HTTP\/1\.1 200 OK\r\n(.|\r\n)*done/);
  await server.close();
});
