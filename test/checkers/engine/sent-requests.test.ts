// What the checker sends: the names, the case and the order of headers that browsers use, on the first look and on the lenient one; and
// handshakes with servers that browsers accept.
import { once } from 'node:events';
import test from 'ava';
import { createEngine, type EngineSettings } from '../../../checkers/engine/engine.ts';
import { startRawServer } from '../../support/raw-server.ts';
import { AUTHORITY, GOOD, SERVER_KEY } from '../../support/test-certificates.ts';

const SETTINGS: EngineSettings = {
  concurrency: 4,
  per_host: 4,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'ours/1.0',
};
const NAMES = [
  'Host',
  'Connection',
  'Upgrade-Insecure-Requests',
  'User-Agent',
  'Accept',
  'Accept-Encoding',
  'Accept-Language',
];

for (const secure of [false, true]) {
  test(`headers go out as browsers write them, over ${secure ? 'TLS' : 'TCP'}`, async (t) => {
    const heads: string[] = [];
    const answers = [
      'HTTP/1.1 302 Found\r\nLocation: /b\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n',
      // Only the lenient client reads this one.
      'HTTP/1.1 200 OK\r\nno colon\r\nBad Name: 1\r\n\r\n',
      'HTTP/1.1 200 OK\r\nBad Name: 1\r\n\r\n',
    ];
    const server = await startRawServer(
      (socket) =>
        socket.on('data', (head) => {
          heads.push(head.toString());
          socket.write(answers[heads.length - 1]!);
          if (heads.length === answers.length) socket.end();
        }),
      secure ? { cert: GOOD, key: SERVER_KEY } : undefined,
    );
    t.teardown(() => server.close());
    const engine = createEngine({ ...SETTINGS, accept_language: 'cy,en;q=0.5' }, { ca: AUTHORITY });
    t.teardown(() => engine.close());
    const scheme = secure ? 'https' : 'http';
    t.like(await engine.check(`${scheme}://127.0.0.1:${server.port}/a`), { status_code: 200, attempts: 1 });

    const fields = heads.map((head) => head.trim().split('\r\n'));
    t.deepEqual(
      fields.map(([line]) => line),
      ['GET /a HTTP/1.1', 'GET /b HTTP/1.1', 'GET /b HTTP/1.1'],
    );
    t.deepEqual(
      fields.map(([, ...lines]) => lines.map((line) => line.split(':', 1)[0])),
      [NAMES, [...NAMES, 'Cookie'], [...NAMES, 'Cookie']],
    );
    t.true(heads.every((head) => head.includes('\r\nAccept-Language: cy,en;q=0.5\r\n')));
  });
}

test('a path that looks like a header stays as it is', async (t) => {
  let head = '';
  const server = await startRawServer((socket) =>
    socket.once('data', (data) => {
      head = data.toString();
      socket.end('HTTP/1.1 204 No\r\n\r\n');
    }),
  );
  t.teardown(() => server.close());
  const engine = createEngine(SETTINGS);
  t.teardown(() => engine.close());
  await engine.check(`http://127.0.0.1:${server.port}/host:%20a?connection: b`);
  t.regex(head, /^GET \/host:%20a\?connection:%20b HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\nConnection: keep-alive\r\n/);
});

/** A ServerHello of TLS 1.2 for ECDHE-RSA-AES128-GCM-SHA256 without extensions, so without that of RFC 5746. */
const OLD_HELLO = Buffer.concat([
  Buffer.from('160303002a0200002603035f', 'hex'),
  Buffer.alloc(31, 7),
  Buffer.from('00c02f00', 'hex'),
]);

test('the handshake continues with a server that does not know secure renegotiation', async (t) => {
  let answered = Buffer.alloc(0);
  const server = await startRawServer(async (socket) => {
    await once(socket, 'data');
    socket.on('data', (data) => (answered = Buffer.concat([answered, data])));
    socket.end(OLD_HELLO);
  });
  t.teardown(() => server.close());
  const engine = createEngine(SETTINGS);
  t.teardown(() => engine.close());
  // The client that refuses such a server sends an alert; the other waits for the certificate.
  t.like(await engine.check(`https://127.0.0.1:${server.port}/`), { error_code: 'connection_reset' });
  t.is(answered.length, 0);
});

/** Ciphers of DHE with RSA. An old server that is offered one takes it, often with a group that is too short for OpenSSL. */
const DHE_CIPHERS = [0x0033, 0x0039, 0x0067, 0x006b, 0x009e, 0x009f, 0xccaa];

test('the handshake offers the ciphers of browsers, and none of DHE', async (t) => {
  let hello = Buffer.alloc(0);
  const server = await startRawServer(async (socket) => {
    [hello] = await once(socket, 'data');
    socket.end();
  });
  t.teardown(() => server.close());
  const engine = createEngine(SETTINGS);
  t.teardown(() => engine.close());
  await engine.check(`https://127.0.0.1:${server.port}/`);
  // The record's header, the message's header, the version and the random bytes stand before the session id.
  const ciphers_at = 44 + hello[43]!;
  const count = hello.readUInt16BE(ciphers_at) / 2;
  const ciphers = Array.from({ length: count }, (_, n) => hello.readUInt16BE(ciphers_at + 2 + 2 * n));
  t.true(ciphers.includes(0x1301) && ciphers.includes(0xc02f) && ciphers.includes(0x002f));
  t.deepEqual(
    ciphers.filter((cipher) => DHE_CIPHERS.includes(cipher)),
    [],
  );
});

test('a value that would end its header makes no engine', (t) => {
  t.throws(() => createEngine({ ...SETTINGS, user_agent: 'ours\r\nCookie: a=1' }), { code: 'ERR_INVALID_CHAR' });
});
