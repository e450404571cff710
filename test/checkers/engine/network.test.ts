// Names, addresses and certificates that keep a check from its server, by accident or by the guard.
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import type tls from 'node:tls';
import test from 'ava';
import { createEngine, type EngineParts, type EngineSettings } from '../../../checkers/engine/engine.ts';
import type { Lookup } from '../../../checkers/engine/resolver.ts';
import type { Outcome } from '../../../events/checks.ts';
import { startRawServer } from '../../support/raw-server.ts';
import {
  AUTHORITY,
  EXPIRED,
  GOOD,
  OTHER_HOST,
  PECULIAR,
  SELF_SIGNED,
  SERVER_KEY,
} from '../../support/test-certificates.ts';
import { startTestSite, to } from '../../support/test-site.ts';

const SETTINGS: EngineSettings = {
  concurrency: 8,
  per_host: 8,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};
const FAST: EngineParts = { now: () => performance.now() * 50 };

/** Answers from a table; names that are not in it do not exist. */
function lookupIn(names: { [name: string]: readonly string[] }, asked: string[] = []): Lookup {
  return (name, done) => {
    asked.push(name);
    const addresses = names[name];
    setImmediate(() => done(addresses === undefined ? { code: 'dns_not_found' } : { addresses, ttl_s: 60 }));
  };
}

async function check(url: string, parts: EngineParts = {}, settings: Partial<EngineSettings> = {}): Promise<Outcome> {
  const engine = createEngine({ ...SETTINGS, ...settings }, { lookup: lookupIn({}), ...parts });
  try {
    return await engine.check(url);
  } finally {
    await engine.close();
  }
}

const unreachable = { verdict: 'unreachable', is_broken: true, status_code: null, final_url: null } as const;

test('a name that does not exist leads to dns_not_found', async (t) => {
  t.like(await check('http://dead.example/'), { ...unreachable, error_code: 'dns_not_found', attempts: 1 });
});

test('a failing name server leads to dns_failed', async (t) => {
  const lookup: Lookup = (_name, done) => setImmediate(() => done({ code: 'dns_failed' }));
  t.like(await check('http://failing.example/', { lookup }), { ...unreachable, error_code: 'dns_failed' });
});

test('a name server that never answers leads to dns_failed within the time limits', async (t) => {
  const outcome = await check('http://silent.example/', { ...FAST, lookup: () => {} });
  t.like(outcome, { ...unreachable, error_code: 'dns_failed' });
});

test('a closed port leads to connection_refused', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  t.like(await check(`http://127.0.0.1:${port}/`), { ...unreachable, error_code: 'connection_refused', attempts: 1 });
});

test('a server that accepts and then stays silent in TLS leads to connect_timeout', async (t) => {
  const site = await startTestSite();
  t.teardown(() => site.close());
  const outcome = await check(`https://127.0.0.1:${site.port}/silent`, FAST, { timeout_ms: 5000 });
  t.like(outcome, { ...unreachable, error_code: 'connect_timeout' });
});

test('a server that answers TLS with HTTP leads to tls_failed', async (t) => {
  const server = net.createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  t.like(await check(`https://127.0.0.1:${port}/`), { ...unreachable, error_code: 'tls_failed' });
});

for (const url of [
  'http://127.0.0.1/',
  'http://0x7f.1/',
  'http://[::1]/',
  'http://[::ffff:7f00:1]/',
  'http://169.254.169.254/',
  'http://10.0.0.1:8080/',
  'https://192.168.1.1/',
]) {
  test(`${url} leads to blocked_address`, async (t) => {
    const outcome = await check(url, {}, { allow_addresses: [] });
    t.like(outcome, { ...unreachable, error_code: 'blocked_address', attempts: 1 });
  });
}

test('the guard refuses a name with one private address among public ones', async (t) => {
  const lookup = lookupIn({ 'rebind.example': ['93.184.216.34', '10.0.0.1'] });
  t.like(await check('http://rebind.example/', { lookup }), { ...unreachable, error_code: 'blocked_address' });
});

test('the guard refuses a redirect to a name with a private address', async (t) => {
  const site = await startTestSite({ behaviours: { '/out': to('http://inside.example/') } });
  t.teardown(() => site.close());
  const outcome = await check(`${site.origin}/out`, { lookup: lookupIn({ 'inside.example': ['fd00::1'] }) });
  t.like(outcome, { status_code: 302, error_code: 'blocked_address', redirect_chain: ['http://inside.example/'] });
});

test('the engine resolves a name once, and connects to the vetted address', async (t) => {
  const site = await startTestSite();
  const asked: string[] = [];
  const engine = createEngine(SETTINGS, { lookup: lookupIn({ 'shop.example': ['127.0.0.1'] }, asked) });
  t.teardown(() => site.close());

  const url = `http://shop.example:${site.port}/fine`;
  const outcomes = await Promise.all([
    engine.check(url),
    engine.check(url),
    engine.check(`http://SHOP.example.:${site.port}/fine`),
  ]);

  t.deepEqual(
    outcomes.map(({ verdict }) => verdict),
    ['ok', 'ok', 'ok'],
  );
  t.deepEqual(asked, ['shop.example']);
  await engine.close();
});

test('the engine tries the next address of a name when the first does not answer', async (t) => {
  const site = await startTestSite();
  t.teardown(() => site.close());
  // Nobody listens on the port at 127.0.0.2.
  const lookup = lookupIn({ 'two.example': ['127.0.0.2', '127.0.0.1'] });
  t.like(await check(`http://two.example:${site.port}/fine`, { lookup }), { verdict: 'ok' });
});

test('the resolver answers localhost and names of the hosts file without a name server', async (t) => {
  const site = await startTestSite();
  const engine = createEngine({ ...SETTINGS, allow_addresses: ['127.0.0.0/8', '::1/128'] });
  t.teardown(() => site.close());
  t.like(await engine.check(`http://localhost:${site.port}/fine`), { verdict: 'ok' });
  t.like(await engine.check(`http://shop.localhost:${site.port}/fine`), { verdict: 'ok' });
  await engine.close();
});

const CERTIFICATES: readonly [what: string, certificate: string, host: string, error_code: Outcome['error_code']][] = [
  ['a trusted certificate for the address', GOOD, '127.0.0.1', null],
  ['a trusted certificate for the name', GOOD, 'localhost', null],
  ['an expired certificate', EXPIRED, 'localhost', 'tls_expired'],
  ['a certificate for another host', OTHER_HOST, 'localhost', 'tls_hostname'],
  ['a certificate for another address', OTHER_HOST, '127.0.0.1', 'tls_hostname'],
  ['a self-signed certificate', SELF_SIGNED, 'localhost', 'tls_untrusted'],
];

for (const [what, certificate, host, error_code] of CERTIFICATES) {
  test(`${what} leads to ${error_code ?? 'ok'}`, async (t) => {
    const site = await startTestSite({ certificate });
    t.teardown(() => site.close());
    const engine = createEngine(SETTINGS, { ca: AUTHORITY, lookup: lookupIn({ localhost: ['127.0.0.1'] }) });
    // Two checks, because a resumed session must not be trusted more than a new one.
    for (let time = 0; time < 2; time++) {
      const outcome = await engine.check(`https://${host}:${site.port}/fine`);
      t.like(
        outcome,
        error_code === null ? { verdict: 'ok', status_code: 200 } : { ...unreachable, error_code, attempts: 1 },
      );
    }
    await engine.close();
  });
}

test('a certificate is verified again after ten minutes, though the server resumes the session', async (t) => {
  let resumed = 0;
  let now = 0;
  const hangsUp = (socket: net.Socket): void => {
    resumed += (socket as tls.TLSSocket).isSessionReused() ? 1 : 0;
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'));
  };
  const server = await startRawServer(hangsUp, { cert: GOOD, key: SERVER_KEY });
  const engine = createEngine(SETTINGS, { ca: AUTHORITY, now: () => now });
  const check = () => engine.check(`https://127.0.0.1:${server.port}/`);
  for (now of [1, 5 * 60_000, 10 * 60_000]) t.like(await check(), { verdict: 'ok' });
  t.is(resumed, 2);
  now = 10 * 60_000 + 2;
  t.like(await check(), { verdict: 'ok' });
  t.is(resumed, 2);
  await engine.close();
  await server.close();
});

test('a trusted certificate that breaks a rule without a code of its own leads to tls_untrusted', async (t) => {
  const site = await startTestSite({ certificate: PECULIAR });
  const engine = createEngine(SETTINGS, { ca: PECULIAR });
  t.teardown(() => site.close());
  t.like(await engine.check(`${site.origin}/fine`), { ...unreachable, error_code: 'tls_untrusted', attempts: 1 });
  await engine.close();
});

test('a certificate of an unknown authority leads to tls_untrusted', async (t) => {
  const site = await startTestSite({ certificate: GOOD });
  t.teardown(() => site.close());
  t.like(await check(`${site.origin}/fine`), { ...unreachable, error_code: 'tls_untrusted' });
});
