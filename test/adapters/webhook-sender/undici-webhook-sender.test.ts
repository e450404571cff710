// The webhook sender: its targets, its refusals, and its handling of whatever a receiver does.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import {
  openUndiciWebhookSender,
  type WebhookSenderOptions,
} from '../../../adapters/webhook-sender/undici-webhook-sender.ts';
import type { Lookup } from '../../../checkers/engine/resolver.ts';
import type { WebhookRequest } from '../../../processes/webhook-sender.ts';
import { CHUNK_EXTENSION, flood, SPACES } from '../../support/floods.ts';
import { reset } from '../../support/reset.ts';
import { AUTHORITY, GOOD, OTHER_HOST, SELF_SIGNED, SERVER_KEY } from '../../support/test-certificates.ts';

const LOOPBACK = ['127.0.0.0/8'];
const never = new AbortController().signal;

function send(
  t: ExecutionContext,
  url: string,
  options: Partial<WebhookSenderOptions> = {},
  request: Partial<WebhookRequest> = {},
) {
  const sender = openUndiciWebhookSender({ allow_addresses: LOOPBACK, ...options });
  t.teardown(() => sender.close());
  return sender.send({ url, headers: { 'x-one': '1' }, body: '{"a":"ä"}', ...request }, never);
}

interface Listening {
  port: number;
  /** The number of accepted connections. */
  accepted: number;
}

async function listen(t: ExecutionContext, server: import('node:net').Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  const listening: Listening = { port: 0, accepted: 0 };
  server.on('connection', (socket: Socket) => {
    listening.accepted++;
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  listening.port = (server.address() as AddressInfo).port;
  return listening;
}
const receiver = (t: ExecutionContext, listener: RequestListener) => listen(t, createServer(listener));
const tlsReceiver = (t: ExecutionContext, cert: string) =>
  listen(
    t,
    createTlsServer({ cert, key: SERVER_KEY }, (_, response) => response.end('safe')).on('tlsClientError', () => {}),
  );

/** Names with the addresses that consecutive lookups return. */
function namesOf(names: Record<string, string[][]>): Lookup {
  return (name, done) => {
    const addresses = names[name]?.shift();
    done(addresses ? { addresses, ttl_s: 0 } : { code: 'dns_not_found' });
  };
}

test('the sender posts a body byte for byte with its headers, and returns the answer', async (t) => {
  let received: { method: unknown; url: unknown; headers: NodeJS.Dict<string | string[]>; body: string } | null = null;
  const { port } = await receiver(t, async (request, response) => {
    const { method, url, headers } = request;
    received = { method, url, headers, body: Buffer.concat(await request.toArray()).toString() };
    response.writeHead(202).end('thank you');
  });
  const answer = await send(t, `http://127.0.0.1:${port}/hook?a=b#c`);
  t.deepEqual(answer, { status_code: 202, error: null, response_excerpt: 'thank you', retry_after_ms: null });
  t.like(received!, {
    method: 'POST',
    url: '/hook?a=b',
    body: '{"a":"ä"}',
    headers: { 'x-one': '1', 'content-length': '10', 'user-agent': 'url-checker-webhooks/1.0' },
  });
});

test('a redirect counts as an answer, and is not followed', async (t) => {
  const target = await receiver(t, (_, response) => response.end());
  for (const status of [301, 302, 303, 307, 308]) {
    const location = `http://127.0.0.1:${target.port}/`;
    const { port } = await receiver(t, (_, response) => response.writeHead(status, { location }).end());
    t.like(await send(t, `http://127.0.0.1:${port}/`), { status_code: status, error: null });
  }
  t.is(target.accepted, 0);
});

test('the sender connects only to the public internet', async (t) => {
  const listening = await receiver(t, (_, response) => response.end());
  const lookup = namesOf({
    'private.example': [['10.0.0.1']],
    'mixed.example': [['93.184.215.14', '127.0.0.1']],
    'mapped.example': [['::ffff:127.0.0.1']],
  });
  const hosts = [
    '169.254.169.254',
    '127.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0x7f.1',
    '2130706433',
    '10.0.0.1',
    'private.example',
    'mixed.example',
    'mapped.example',
  ];
  for (const host of hosts) {
    const answer = await send(t, `https://${host}:${listening.port}/`, { allow_addresses: [], lookup });
    t.like(answer, { status_code: null, error: 'blocked_address' }, host);
  }
  t.like(await send(t, 'https://unknown.example/', { lookup }), { status_code: null, error: 'dns_not_found' });
  t.is(listening.accepted, 0);
});

test('the sender uses plain http only for excepted addresses', async (t) => {
  const { port } = await receiver(t, (_, response) => response.end());
  const lookup = namesOf({ 'here.example': [['127.0.0.1']], 'there.example': [['93.184.215.14', '127.0.0.1']] });
  t.like(await send(t, `http://here.example:${port}/`, { lookup }), { status_code: 200 });
  t.like(await send(t, `http://there.example:${port}/`, { lookup }), { status_code: null, error: 'https_required' });
  t.like(await send(t, 'http://93.184.215.14/'), { status_code: null, error: 'https_required' });
});

test('the sender connects to the vetted address of a name that changes', async (t) => {
  const { port } = await receiver(t, (_, response) => response.end('vetted'));
  const lookup = namesOf({ 'rebinding.example': [['127.0.0.1'], ['169.254.169.254']] });
  const sender = openUndiciWebhookSender({ allow_addresses: LOOPBACK, lookup });
  t.teardown(() => sender.close());
  const request = { url: `http://rebinding.example:${port}/`, headers: {}, body: '' };
  t.like(await sender.send(request, never), { status_code: 200, response_excerpt: 'vetted' });
  // A second lookup gives the guard the other address.
  const later = namesOf({ 'rebinding.example': [['169.254.169.254']] });
  t.like(await send(t, request.url, { lookup: later }), { status_code: null, error: 'blocked_address' });
});

test('a certificate must have the name and a trusted authority', async (t) => {
  const urlOf = async (certificate: string) => `https://localhost:${(await tlsReceiver(t, certificate)).port}/`;
  const ca = AUTHORITY;
  t.like(await send(t, await urlOf(GOOD), { ca }), { status_code: 200, response_excerpt: 'safe' });
  t.like(await send(t, (await urlOf(GOOD)).replace('localhost', '127.0.0.1'), { ca }), { status_code: 200 });
  t.like(await send(t, await urlOf(GOOD)), { status_code: null, error: 'tls_untrusted' });
  t.like(await send(t, await urlOf(OTHER_HOST), { ca }), { status_code: null, error: 'tls_hostname' });
  t.like(await send(t, await urlOf(SELF_SIGNED), { ca }), { status_code: null, error: 'tls_untrusted' });
});

test('an attempt ends after its time limit, whatever its state', async (t) => {
  const silent = await listen(t, createTcpServer());
  const trickling = await receiver(t, (_, response) => {
    response.writeHead(200).write('some');
  });
  const lookup: Lookup = (name, done) => name === 'slow.example' || done({ addresses: ['127.0.0.1'], ttl_s: 0 });
  const options = { timeout_ms: 1000, lookup };
  const timed = async (url: string) => {
    const began = performance.now();
    const answer = await send(t, url, options);
    t.true(performance.now() - began < 60_000, url);
    return answer;
  };
  t.like(await timed(`http://127.0.0.1:${silent.port}/`), { status_code: null, error: 'response_timeout' });
  t.like(await timed(`https://127.0.0.1:${silent.port}/`), { status_code: null, error: 'connect_timeout' });
  t.like(await timed('https://slow.example/'), { status_code: null, error: 'dns_failed' });
  t.like(await timed(`http://127.0.0.1:${trickling.port}/`), { status_code: 200, response_excerpt: 'some' });
});

test('the sender keeps a KiB of text of any body', async (t) => {
  let written = 0;
  const { port } = await receiver(t, (_, response) => {
    response.writeHead(500);
    const more = (): void => {
      while (!response.destroyed && response.write('ä\0\u001b[31m\n'.repeat(1000))) written++;
      response.once('drain', more);
    };
    more();
  });
  const { response_excerpt } = await send(t, `http://127.0.0.1:${port}/`);
  t.true(response_excerpt.startsWith('ä  [31m\nä'));
  t.true(Buffer.byteLength(response_excerpt) <= 1024 && response_excerpt.length > 500);
  t.true(written < 10_000, 'it stopped reading');
});

test('the sender stops reading an answer without an end, also where its parser counts no byte', async (t) => {
  const to = async (head: string) => {
    const { port } = await listen(
      t,
      createTcpServer((socket) => socket.once('data', () => flood(socket, head))),
    );
    return send(t, `http://127.0.0.1:${port}/`, { timeout_ms: 600_000 });
  };
  t.like(await to(SPACES), { status_code: null, error: 'malformed_response' });
  t.like(await to(CHUNK_EXTENSION), { status_code: 200, error: null, response_excerpt: '' });
});

test('failures have the error codes of the checker', async (t) => {
  const closed = await receiver(t, () => {});
  const resetting = await listen(
    t,
    createTcpServer((socket) => socket.once('data', () => reset(socket))),
  );
  const nonsense = await listen(
    t,
    createTcpServer((socket) => socket.once('data', () => socket.end('nonsense\r\n\r\n'))),
  );
  const to = (port: number) => send(t, `http://127.0.0.1:${port}/`);
  t.like(await to(resetting.port), { error: 'connection_reset' });
  t.like(await to(nonsense.port), { error: 'malformed_response' });
  t.like(await send(t, 'http://127.0.0.1:1/'), { error: 'connection_refused' });
  t.is(closed.accepted, 0);
});

test('the sender reports Retry-After in seconds or as a date', async (t) => {
  const wait = async (retry_after: string) => {
    const { port } = await receiver(t, (_, response) => response.writeHead(503, { 'retry-after': retry_after }).end());
    return (await send(t, `http://127.0.0.1:${port}/`)).retry_after_ms;
  };
  t.is(await wait('120'), 120_000);
  const until_date = (await wait(new Date(Date.now() + 60_000).toUTCString()))!;
  t.true(until_date > 50_000 && until_date <= 60_000);
  t.is(await wait('soon'), null);
});

test('a signal aborts an attempt, which then does not count', async (t) => {
  const silent = await receiver(t, () => stop.abort());
  const stop = new AbortController();
  const sender = openUndiciWebhookSender({ allow_addresses: LOOPBACK });
  t.teardown(() => sender.close());
  const request = { url: `http://127.0.0.1:${silent.port}/`, headers: {}, body: '' };
  await t.throwsAsync(sender.send(request, stop.signal), { name: 'AbortError' });
});

const WITHOUT_FILES = `
  const { openSync, closeSync } = await import('node:fs');
  const { openUndiciWebhookSender } = await import(${JSON.stringify(new URL('../../../adapters/webhook-sender/undici-webhook-sender.ts', import.meta.url).href)});
  const sender = openUndiciWebhookSender({ allow_addresses: ['127.0.0.0/8'] });
  const send = () => sender.send({ url: process.argv[1], headers: {}, body: '' }, new AbortController().signal)
    .then(({ status_code, error }) => status_code ?? error, () => 'rejected');
  const found = [];
  for (let turn = 0; turn < 2; turn++) {
    const held = [];
    for (;;) try { held.push(openSync(process.execPath)); } catch { break; }
    found.push(await send());
    held.forEach(closeSync);
    found.push(await send());
  }
  console.log(JSON.stringify(found));
  sender.close();
`;

test('what this machine lacks is no answer of the endpoint', async (t) => {
  const lookup: Lookup = (_name, done) => done({ code: 'shortage' });
  await t.throwsAsync(send(t, 'https://there.example/', { lookup }), { code: 'ENFILE' });
  const { port } = await receiver(t, (_, response) => response.end());
  const limited = ['-c', 'ulimit -n 100 && exec "$0" --input-type=module -e "$1" "$2"'];
  const url = `http://127.0.0.1:${port}/`;
  const { stdout } = await promisify(execFile)('bash', [...limited, process.execPath, WITHOUT_FILES, url]);
  t.deepEqual(JSON.parse(stdout), ['rejected', 200, 'rejected', 200]);
});
