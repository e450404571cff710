// Servers that speak only HTTP/2 get a second request in HTTP/2. All others get HTTP/1.1 once.
import { once } from 'node:events';
import http2 from 'node:http2';
import https from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createEngine } from '../../../checkers/engine/engine.ts';
import { startRawServer } from '../../support/raw-server.ts';
import { AUTHORITY, GOOD, SERVER_KEY } from '../../support/test-certificates.ts';
import { html } from '../../support/test-site.ts';

const CERTIFIED = { key: SERVER_KEY, cert: GOOD };

function startEngine(t: ExecutionContext) {
  const settings = { concurrency: 8, per_host: 8, timeout_ms: 60_000, retries: 0, user_agent: 'test' };
  const engine = createEngine({ ...settings, allow_addresses: ['127.0.0.0/8'] }, { ca: AUTHORITY });
  t.teardown(() => engine.close());
  return engine;
}

async function originOf(t: ExecutionContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

/** Serves a page, redirects and a not-found page in HTTP/2 only. */
function http2Server(paths: string[]) {
  return http2.createSecureServer(CERTIFIED, (request, response) => {
    paths.push(request.url);
    if (request.url === '/old') return void response.writeHead(301, { location: '/fine' }).end();
    const is_there = request.url === '/fine';
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(is_there ? html('Things', 'Things') : html('Page not found', 'Page not found'));
  });
}

test('the engine uses HTTP/2 for a server that refuses HTTP/1.1 in the handshake', async (t) => {
  const paths: string[] = [];
  const origin = await originOf(t, http2Server(paths));
  const engine = startEngine(t);
  t.like(await engine.check(`${origin}/fine`), { verdict: 'ok', status_code: 200, attempts: 1 });
  t.like(await engine.check(`${origin}/old`), { verdict: 'redirected', final_url: `${origin}/fine`, attempts: 1 });
  t.like(await engine.check(`${origin}/things/1`), { verdict: 'soft_404', status_code: 200 });
  t.deepEqual(paths, ['/fine', '/old', '/fine', '/things/1']);
});

test('the engine uses HTTP/2 for a server that answers HTTP/1.1 with a frame of HTTP/2', async (t) => {
  const settings = Buffer.from('000000040000000000', 'hex');
  const server = await startRawServer((socket) => socket.once('data', () => socket.end(settings)), CERTIFIED);
  t.teardown(() => server.close());
  const outcome = await startEngine(t).check(`https://localhost:${server.port}/`);
  t.is(outcome.error_code, 'malformed_response');
  t.is(server.accepted, 2);
});

test('a server that answers 505 twice has that status, and one that answers 200 gets one request', async (t) => {
  let requests = 0;
  const server = https.createServer(CERTIFIED, (request, response) => {
    requests++;
    response.writeHead(request.url === '/fine' ? 200 : 505).end();
  });
  const origin = await originOf(t, server);
  t.teardown(() => server.closeAllConnections());
  const engine = startEngine(t);
  t.like(await engine.check(`${origin}/fine`), { verdict: 'ok', status_code: 200 });
  t.is(requests, 1);
  t.like(await engine.check(`${origin}/old`), { verdict: 'broken', status_code: 505 });
  t.is(requests, 3);
});
