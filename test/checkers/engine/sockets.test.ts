// Servers that dribble, break off or flood at any stage: no socket is left, no check outlives its limits, and no flood
// fills the memory.
import type { Socket } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import zlib from 'node:zlib';
import test from 'ava';
import { createEngine, type EngineSettings } from '../../../checkers/engine/engine.ts';
import type { ErrorCode } from '../../../events/checks.ts';
import { patientClock } from '../../support/patient-clock.ts';
import { type RawServer, startRawServer } from '../../support/raw-server.ts';
import { AUTHORITY, GOOD, SERVER_KEY } from '../../support/test-certificates.ts';

const SETTINGS: EngineSettings = {
  concurrency: 64,
  per_host: 64,
  timeout_ms: 400,
  retries: 1,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};
const EVERY_MS = 15;
/** The delays of a busy machine. */
const SLACK_MS = 60_000;

/** Sends a byte at a time, for ever. */
function dribble(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), EVERY_MS);
  socket.once('close', () => clearInterval(timer));
}

const STAGES: readonly [
  stage: string,
  at: 'accept' | 'request',
  before: string,
  drop: string,
  error_code: string | null,
][] = [
  ['the handshake', 'accept', '\x16\x03\x03\x40\x00', '\x02', 'connect_timeout'],
  ['the status line', 'request', 'HTTP/1.1 200 ', 'O', 'response_timeout'],
  ['interim answers', 'request', '', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'response_timeout'],
  ['a header name', 'request', 'HTTP/1.1 200 OK\r\nX-', 'x', 'response_timeout'],
  ['a header value', 'request', 'HTTP/1.1 200 OK\r\nX-Long: ', 'x', 'response_timeout'],
  ['headers', 'request', 'HTTP/1.1 200 OK\r\n', 'X: 1\r\n', 'response_timeout'],
  ['headers that break rules', 'request', 'HTTP/1.1 200 OK\r\nX Odd: 1\r\n', 'X: 1\r\n', 'response_timeout'],
  ['a body', 'request', 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999\r\n\r\n', 'x', null],
  ['a body that nobody wants', 'request', 'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n', 'x', null],
  [
    'a chunk size',
    'request',
    'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n',
    '0',
    null,
  ],
  [
    'chunks',
    'request',
    'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n',
    '1\r\nx\r\n',
    null,
  ],
  ['trailers', 'request', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', 'X: 1\r\n', null],
];

function dribbling(at: 'accept' | 'request', before: string, drop: string): Promise<RawServer> {
  return startRawServer((socket) => {
    const begin = (): void => {
      socket.write(Buffer.from(before, 'latin1'));
      dribble(socket, drop);
    };
    if (at === 'accept') begin();
    else socket.once('data', begin);
  });
}

for (const [stage, at, before, drop, error_code] of STAGES) {
  const scheme = at === 'accept' ? 'https' : 'http';

  test(`a server that dribbles ${stage} leads to ${error_code ?? 'a verdict by its headers'} in time, and leaves no socket`, async (t) => {
    const server = await dribbling(at, before, drop);
    const engine = createEngine(SETTINGS, { retry_base_ms: 1, now: patientClock(t) });
    t.teardown(() => server.close());
    const elapsed = patientClock(t);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) => engine.check(`${scheme}://127.0.0.1:${server.port}/${i}`)),
    );
    const elapsed_ms = elapsed();
    for (const outcome of outcomes) {
      t.like(outcome, { error_code, attempts: error_code === null ? 1 : 2 });
    }
    t.true(elapsed_ms < 2 * SETTINGS.timeout_ms + SLACK_MS, `${elapsed_ms} ms`);
    await engine.close();
    await server.drained();
    t.is(server.open, 0);
    t.true(server.accepted > 0);
  });

  test(`an aborted check of a server that dribbles ${stage} leaves no socket, and the engine continues`, async (t) => {
    const server = await dribbling(at, before, drop);
    const engine = createEngine({ ...SETTINGS, timeout_ms: 60_000 }, { retry_base_ms: 1 });
    t.teardown(() => server.close());
    const controller = new AbortController();
    const { signal } = controller;
    const ends = Promise.allSettled(
      Array.from({ length: 8 }, (_, i) => engine.check(`${scheme}://127.0.0.1:${server.port}/${i}`, { signal })),
    );
    await server.accepts(8);
    controller.abort();
    for (const end of await ends) t.is(end.status === 'rejected' ? end.reason.name : end.status, 'AbortError');
    await server.drained();
    t.is(server.open, 0);
    t.is(engine.free, SETTINGS.concurrency!);
    await engine.close();
  });
}

/** Sends as fast as the client reads. */
function flood(socket: Socket, chunk: Buffer): void {
  const pump = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', pump);
  pump();
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
const LINES = Buffer.from(`X-More: ${'x'.repeat(8000)}\r\n`.repeat(8));
const gzip_bomb = zlib.gzipSync(Buffer.alloc(100_000_000));
const br_bomb = zlib.brotliCompressSync(Buffer.alloc(100_000_000), {
  params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 },
});
const FLOODS: readonly [what: string, head: string, chunk: Buffer, error_code: ErrorCode | null][] = [
  ['headers', HEAD, LINES, 'malformed_response'],
  ['one header', `${HEAD}X-Long: `, Buffer.alloc(65_536, 'x'), 'malformed_response'],
  [
    'interim answers',
    '',
    Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(1000)),
    'malformed_response',
  ],
  ['headers that break rules', `${HEAD}X Odd: 1\r\n`, LINES, 'malformed_response'],
  ['a page', `${HEAD}\r\n`, Buffer.alloc(65_536, 'x'), null],
  ['an image', 'HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n', Buffer.alloc(65_536, 'x'), null],
  ['chunks', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, Buffer.from(`1\r\nx\r\n`.repeat(10_000)), null],
  ['a gzip bomb', `${HEAD}Content-Encoding: gzip\r\nContent-Length: ${gzip_bomb.length}\r\n\r\n`, gzip_bomb, null],
  ['a brotli bomb', `${HEAD}Content-Encoding: br\r\nContent-Length: ${br_bomb.length}\r\n\r\n`, br_bomb, null],
];
const AT_ONCE = 32;
/** So long that no time limit ends a flood. */
const FLOOD_MS = 100_000;
/** The memory of one check: the kept part of an answer, unread input, and garbage. */
const MAX_BYTES_EACH = 3 * 1024 * 1024;

test.serial('floods of every kind end in time and take little memory', async (t) => {
  for (const [what, head, chunk, error_code] of FLOODS) {
    const server = await startRawServer((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.from(head, 'latin1'));
        flood(socket, chunk);
      });
    });
    const engine = createEngine({ ...SETTINGS, retries: 0, timeout_ms: FLOOD_MS });
    const used = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external;
    const before = used();
    let most = before;
    const sampling = setInterval(() => (most = Math.max(most, used())), 5);
    const elapsed = patientClock(t);
    const outcomes = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => engine.check(`http://127.0.0.1:${server.port}/${i}`)),
    );
    const elapsed_ms = elapsed();
    clearInterval(sampling);
    await engine.close();
    await server.close();
    const grown = Math.max(most, used()) - before;
    t.log(
      `${what}: ${Math.round(elapsed_ms)} ms, ${(grown / 1e6 / AT_ONCE).toFixed(2)} MB a check at the most, ${outcomes[0]!.error_code ?? outcomes[0]!.verdict}`,
    );
    for (const outcome of outcomes) t.is(outcome.error_code, error_code, what);
    t.true(elapsed_ms < FLOOD_MS, what);
    t.true(grown < AT_ONCE * MAX_BYTES_EACH, `${what}: ${grown} bytes`);
  }
});

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a new connection to an origin resumes its session of ${maxVersion}`, async (t) => {
    const resumed: boolean[] = [];
    const server = await startRawServer(
      (socket) => {
        resumed.push((socket as TLSSocket).isSessionReused());
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'));
      },
      { cert: GOOD, key: SERVER_KEY, maxVersion },
    );
    const engine = createEngine({ ...SETTINGS, timeout_ms: 15_000 }, { ca: AUTHORITY });
    t.teardown(() => server.close());
    for (let time = 0; time < 3; time++) {
      t.like(await engine.check(`https://127.0.0.1:${server.port}/${time}`), { verdict: 'ok', attempts: 1 });
    }
    t.deepEqual(resumed, [false, true, true]);
    await engine.close();
  });
}

/** Whether a client's first message offers to resume a session (RFC 8446, 4.2.11): the extension is the last one. */
function offersSession(hello: Buffer): boolean {
  let at = 5 + 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  for (at += 2; at < hello.length; at += 4 + hello.readUInt16BE(at + 2)) if (hello.readUInt16BE(at) === 41) return true;
  return false;
}
const REFUSALS: readonly [what: string, refuse: (socket: Socket) => void][] = [
  ['ends the connection', (socket) => socket.end()],
  ['resets the connection', (socket) => socket.resetAndDestroy()],
  ['sends an alert', (socket) => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, 51]))],
];
for (const [what, refuse] of REFUSALS) {
  test(`a server that ${what} when a session is offered is asked without one`, async (t) => {
    const server = tls.createServer({ cert: GOOD, key: SERVER_KEY }, (socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'));
    });
    let refused = 0;
    const front = await startRawServer((socket) => {
      socket.once('data', (hello: Buffer) => {
        socket.pause();
        if (offersSession(hello)) {
          refused++;
          refuse(socket);
          return;
        }
        socket.unshift(hello);
        server.emit('connection', socket);
      });
    });
    const engine = createEngine({ ...SETTINGS, timeout_ms: 15_000, retries: 0 }, { ca: AUTHORITY });
    t.teardown(() => front.close());
    for (let time = 1; time <= 3; time++) {
      t.like(await engine.check(`https://127.0.0.1:${front.port}/${time}`), { verdict: 'ok', attempts: 1 });
    }
    t.is(refused, 2);
    await engine.close();
  });
}

test('the first message of TLS fits one packet, which every server reads', async (t) => {
  let hello = 0;
  const server = await startRawServer((socket) => {
    socket.once('data', (data: Buffer) => {
      hello = data.readUInt16BE(3);
      socket.destroy();
    });
  });
  const engine = createEngine({ ...SETTINGS, timeout_ms: 15_000, retries: 0 });
  t.teardown(() => server.close());
  await engine.check(`https://127.0.0.1:${server.port}/`);
  t.true(hello > 100 && hello < 1200, `${hello} bytes`);
  await engine.close();
});
