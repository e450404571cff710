// Servers that speak only HTTP/2 get a second request in HTTP/2. All others get HTTP/1.1 once.
import http2 from 'node:http2';
import https from 'node:https';
import type { Server } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createEngine } from '../../../checkers/engine/engine.ts';
import { freePort, listenOn } from '../../support/free-port.ts';
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
  const port = await freePort();
  await listenOn(server, port);
  t.teardown(() => server.close());
  return `https://localhost:${port}`;
}

/** Serves a page, redirects and a not-found page in HTTP/2 only. */
function http2Server(paths: string[]) {
  return http2.createSecureServer(CERTIFIED, (request, response) => {
    paths.push(request.url);
    if (request.url === '/old') return void response.writeHead(301, { location: '/fine' }).end();
    if (request.url === '/505') return void response.writeHead(505).end();
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

test('the engine offers HTTP/2 to a server that ends the handshake without a reason', async (t) => {
  // Node ends it so when the client has not offered the protocol that the callback chooses.
  const server = http2.createSecureServer({ ...CERTIFIED, ALPNCallback: () => 'h2' }, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(html('Things', 'Things'));
  });
  server.on('tlsClientError', () => {});
  const origin = await originOf(t, server);
  t.like(await startEngine(t).check(`${origin}/`), { verdict: 'ok', status_code: 200, attempts: 1 });
});

test('the engine offers a post-quantum key to a server that takes no other', async (t) => {
  const server = https.createServer({ ...CERTIFIED, ecdhCurve: 'X25519MLKEM768' }, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(html('Things', 'Things'));
  });
  server.on('tlsClientError', () => {});
  const origin = await originOf(t, server);
  t.like(await startEngine(t).check(`${origin}/`), { verdict: 'ok', status_code: 200, attempts: 1 });
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

/** The connections to a server that speaks only HTTP/2, and those whose handshake it refused. */
function connectionsOf(server: http2.Http2SecureServer) {
  const connections = { accepted: 0, refused: 0 };
  server.on('secureConnection', () => connections.accepted++);
  server.on('tlsClientError', () => connections.refused++);
  return connections;
}

test('the engine remembers an origin of HTTP/2: the next URL costs no refused handshake', async (t) => {
  const paths: string[] = [];
  const server = http2Server(paths);
  const connections = connectionsOf(server);
  const origin = await originOf(t, server);
  const engine = startEngine(t);
  t.like(await engine.check(`${origin}/fine`), { verdict: 'ok' });
  t.deepEqual(connections, { accepted: 1, refused: 1 });
  t.like(await engine.check(`${origin}/fine?2`), { status_code: 200, attempts: 1 });
  t.like(await engine.check(`${origin}/old`), { verdict: 'redirected' });
  t.like(await engine.check(`${origin}/505`), { verdict: 'broken', status_code: 505 });
  t.like(await engine.check(`${origin}/fine?3`), { status_code: 200 });
  t.is(connections.refused, 1);
  t.is(paths.filter((path) => path === '/505').length, 1);
});

test('an origin that stops offering HTTP/2 is requested over HTTP/1.1 again', async (t) => {
  const modern = http2Server([]);
  const origin = await originOf(t, modern);
  const engine = startEngine(t);
  t.like(await engine.check(`${origin}/fine`), { verdict: 'ok' });
  await new Promise((resolve) => modern.close(resolve));
  t.like(await engine.check(`${origin}/fine`), { error_code: 'connection_refused' });
  let requests = 0;
  const plain = https.createServer(CERTIFIED, (_request, response) => {
    requests++;
    response.end('here');
  });
  await listenOn(plain, Number(new URL(origin).port));
  t.teardown(() => {
    plain.closeAllConnections();
    plain.close();
  });
  t.like(await engine.check(`${origin}/fine?2`), { verdict: 'ok' });
  t.like(await engine.check(`${origin}/fine?3`), { verdict: 'ok' });
  t.is(requests, 2);
  t.is(await new Promise((resolve) => plain.getConnections((_error, count) => resolve(count))), 1);
});

test('the engine opens a server that speaks only HTTP/2 without TLS, and remembers it', async (t) => {
  const paths: string[] = [];
  let sessions = 0;
  const server = http2.createServer((request, response) => {
    paths.push(`${request.scheme} ${request.url}`);
    response.writeHead(200, { 'content-type': 'text/html' }).end(html('Things', 'Things'));
  });
  server.on('session', () => sessions++);
  const origin = (await originOf(t, server)).replace('https:', 'http:');
  const engine = startEngine(t);
  t.like(await engine.check(`${origin}/fine`), { verdict: 'ok', status_code: 200, attempts: 1 });
  t.like(await engine.check(`${origin}/more`), { verdict: 'ok', status_code: 200, attempts: 1 });
  t.deepEqual(paths, ['http /fine', 'http /more']);
  t.is(sessions, 3);
});

test('a server that answers everything with a frame of HTTP/2 is malformed, also without TLS', async (t) => {
  const settings = Buffer.from('000000040000000000', 'hex');
  const server = await startRawServer((socket) => socket.once('data', () => socket.end(settings)));
  t.teardown(() => server.close());
  const engine = startEngine(t);
  for (const path of ['/', '/again']) {
    const outcome = await engine.check(`http://127.0.0.1:${server.port}${path}`);
    t.like(outcome, { verdict: 'unreachable', status_code: null, attempts: 1 });
  }
  t.is(server.accepted, 4);
});
