// Routes that another deployment serves: what goes there and comes back, and what the client gets when something is wrong on the way.
import { once } from 'node:events';
import { get, type IncomingMessage, type RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { Type } from '../../../events/schema.ts';
import { GATEWAY } from '../../../http/apis/gateway.ts';
import { PUBLIC } from '../../../http/apis/public.ts';
import { openForwarding } from '../../../http/frame/forwarding.ts';
import { routeOf } from '../../../http/frame/route.ts';
import { freePort } from '../../support/free-port.ts';
import { openSite } from '../../support/sites.ts';
import { startSample } from '../sample-app.ts';

const nobody = () => {
  throw new Error('the route is served elsewhere');
};
const answers = { summary: 'Sample', responses: { 200: { description: 'It is done.' } } };
const gateway = routeOf<object>(GATEWAY, 'jobs');
const others = routeOf<object>(GATEWAY, 'public');
const api = routeOf<object>(PUBLIC, 'jobs');
const routes = [
  gateway({ id: 'a', method: 'GET', path: '/jobs/{job_id}', access: 'owner', ...answers, handler: nobody }),
  gateway({ id: 'b', method: 'POST', path: '/jobs', access: 'user', ...answers, handler: nobody }),
  others({
    ...{ id: 'c', method: 'GET', path: '/here', access: 'none', ...answers },
    responses: { 200: { description: 'It is here.', schema: Type.Object({ here: Type.Boolean() }) } },
    handler: () => ({ body: { here: true } }),
  }),
  api({ id: 'd', method: 'GET', path: '/jobs', access: 'user', ...answers, handler: nobody }),
];

/** A deployment that forwards its jobs to a server with this listener, or to `url`. */
async function start(t: ExecutionContext, upstream: RequestListener | string, answer_ms = 60_000) {
  let url = upstream as string;
  if (typeof upstream !== 'string') {
    const site = await openSite(upstream);
    t.teardown(() => site.close());
    url = site.url;
  }
  const logged: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const forwarding = await openForwarding({ urls: { jobs: url }, log, answer_ms });
  const sample = await startSample(routes, {}, { log, forwarding, check_replies: false, drain_ms: 0 });
  t.teardown(() => sample.close());
  t.teardown(() => forwarding.close());
  return { ...sample, logged };
}

test('a forwarded request is the same there, with the address of the client and the id of the request', async (t) => {
  let seen: IncomingMessage | null = null;
  const { url } = await start(t, async (request, response) => {
    seen = request;
    response.writeHead(201, {
      location: '/jobs/7',
      'x-log-position': '9',
      connection: 'close',
      'set-cookie': ['a', 'b'],
    });
    response.end(await text(request));
  });
  const answer = await fetch(`${url}/jobs?column=%C3%BC&x=1`, {
    method: 'POST',
    body: 'what it is',
    headers: {
      ...{ authorization: 'Bearer t', 'idempotency-key': 'k', 'x-request-id': 'mine' },
      ...{ 'x-real-client-ip': '203.0.113.1', 'x-forwarded-for': '203.0.113.2' },
    },
  });
  t.deepEqual([answer.status, await answer.text()], [201, 'what it is']);
  const { headers, url: path, method } = seen!;
  t.deepEqual([method, path], ['POST', '/jobs?column=%C3%BC&x=1']);
  t.like(headers, {
    authorization: 'Bearer t',
    'idempotency-key': 'k',
    'x-request-id': 'mine',
    'content-length': '10',
  });
  t.like(headers, { 'x-real-client-ip': '127.0.0.1', via: '1.1 url-checker', 'x-forwarded-for': undefined });
  t.deepEqual([answer.headers.get('location'), answer.headers.get('x-log-position')], ['/jobs/7', '9']);
  t.deepEqual([answer.headers.get('x-request-id'), answer.headers.getSetCookie()], ['mine', ['a', 'b']]);
  t.deepEqual(await (await fetch(`${url}/here`)).json(), { here: true });
});

test('an answer without content, to HEAD, or with an error comes back as it is', async (t) => {
  const { url } = await start(t, (request, response) => {
    const status = Number(new URL(request.url!, 'http://a').searchParams.get('status'));
    response.writeHead(status, { etag: '"1"', 'content-type': 'application/json' });
    response.end(status === 401 ? '{"detail":"No.","code":"unauthenticated"}' : '');
  });
  for (const [method, status] of [
    ['GET', 304],
    ['GET', 204],
    ['HEAD', 200],
    ['GET', 401],
  ] as const) {
    const answer = await fetch(`${url}/jobs/1?status=${status}`, { method });
    t.deepEqual([answer.status, answer.headers.get('etag')], [status, '"1"'], `${method} ${status}`);
    if (status === 401) t.deepEqual(await answer.json(), { detail: 'No.', code: 'unauthenticated' });
  }
});

test('bodies stream in both directions, and an upload begins to arrive before it ends', async (t) => {
  const content = Buffer.alloc(8 * 1024 * 1024, 'content of a file ');
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const { url } = await start(t, async (request, response) => {
    await once(request, 'readable');
    resolve();
    response.end(await buffer(request));
  });
  async function* pieces() {
    yield content.subarray(0, 100_000);
    await arrived;
    yield content.subarray(100_000);
  }
  const body = Readable.toWeb(Readable.from(pieces())) as ReadableStream;
  const answer = await fetch(`${url}/jobs`, { method: 'POST', body, duplex: 'half' } as RequestInit);
  t.true(Buffer.from(await answer.arrayBuffer()).equals(content));
});

test('a deployment that is away is 502, and one that is silent 504, in the shape of each API', async (t) => {
  const away = await start(t, `http://127.0.0.1:${await freePort()}`);
  const wrong = await start(t, (request) => request.socket.end('this is no HTTP\r\n\r\n'));
  const silent = await start(t, () => {}, 100);
  for (const [{ url }, status, code] of [
    [away, 502, 'bad_gateway'],
    [wrong, 502, 'bad_gateway'],
    [silent, 504, 'gateway_timeout'],
  ] as const) {
    const answer = await fetch(`${url}/jobs/1`);
    t.deepEqual([answer.status, answer.headers.get('retry-after')], [status, '5']);
    t.like(await answer.json(), { code });
    const of_api = await fetch(`${url}/api/v2/jobs`);
    t.is(of_api.status, status);
    t.like(await of_api.json(), { error: { code: 'unavailable', details: { reason: code } } });
    t.is((await fetch(`${url}/here`)).status, 200);
  }
});

test('an answer that breaks off there breaks off here', async (t) => {
  const { url } = await start(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('half', () => response.destroy());
  });
  const answer = await fetch(`${url}/jobs/1`);
  t.is(answer.status, 200);
  await t.throwsAsync(answer.text());
});

test('an answer whose content is no HTTP is 502 while the client has nothing of it, and the log has none of its bytes', async (t) => {
  for (const [sent, status] of [
    ['HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\nsecret-of-a-user\r\n', 502],
    ['HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n', 502],
    ['secret-of-a-user\r\n\r\n', 502],
    ['HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n', 205],
  ] as const) {
    const { url, logged } = await start(t, (request) => request.socket.end(sent));
    const answer = await fetch(`${url}/jobs/1`);
    t.deepEqual([answer.status, answer.headers.get('content-encoding')], [status, null]);
    if (status === 502) t.like(await answer.json(), { code: 'bad_gateway' });
    t.notRegex(JSON.stringify(logged), /secret|internal_error/);
    t.is(logged.filter(({ msg }) => msg === 'a request could not be forwarded').length, Number(status === 502));
  }
});

test('content that does not come in time is 504', async (t) => {
  const { url } = await start(t, (_request, response) => response.writeHead(200).flushHeaders(), 100);
  const answer = await fetch(`${url}/jobs/1`);
  t.is(answer.status, 504);
  t.like(await answer.json(), { code: 'gateway_timeout' });
});

test('a request target that names a host or a fragment is forwarded as its path', async (t) => {
  const { url } = await start(t, (request, response) => response.end(request.url));
  const { hostname, port } = new URL(url);
  for (const path of ['http://elsewhere.example/jobs/1?x=%2F', '/jobs/1?x=%2F#y']) {
    const [answer] = (await once(get({ hostname, port, path, agent: false }), 'response')) as [IncomingMessage];
    t.is(await text(answer), '/jobs/1?x=%2F');
  }
});

test('the other deployment learns that the client has left', async (t) => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const { url } = await start(t, (request) => {
    request.socket.once('close', () => leave());
    ask();
  });
  const client = new AbortController();
  const answer = fetch(`${url}/jobs/1`, { signal: client.signal });
  await asked;
  client.abort();
  await t.throwsAsync(answer);
  await t.notThrowsAsync(left);
});

test('a request that goes in circles ends', async (t) => {
  let url = '';
  const back: RequestListener = async (request, response) => {
    const answer = await fetch(url + request.url, { headers: { via: request.headers.via! } });
    response.writeHead(answer.status).end(await answer.text());
  };
  ({ url } = await start(t, back));
  const answer = await fetch(`${url}/jobs/1`);
  t.is(answer.status, 502);
  t.like(await answer.json(), { code: 'forwarding_loop' });
});
