// The ends of certificates, as processes watch them: of servers by TLS, by STARTTLS and by NATS's greeting, and of files.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { SMTPServer } from 'smtp-server';
import { type CertificateServer, serverEnd, watchCertificates } from '../../roles/certificates.ts';
import { certificateFiles } from '../support/certificate-files.ts';
import { EXPIRED, GOOD, SERVER_KEY } from '../support/test-certificates.ts';
import { until } from '../support/until.ts';

const ENDS = { good: '2124-01-01T00:00:00.000Z', expired: '2024-02-01T00:00:00.000Z' };

async function at(
  t: ExecutionContext,
  server: Server,
  opening: CertificateServer['opening'],
): Promise<CertificateServer> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port, opening };
}

const endAt = async (server: CertificateServer) =>
  (await serverEnd(server, new AbortController().signal)).toISOString();

test('the end of a certificate is read however TLS begins, also where nobody would trust it', async (t) => {
  const key = SERVER_KEY;
  const good = createTlsServer({ key, cert: GOOD });
  t.is(await endAt(await at(t, good, 'none')), ENDS.good);
  t.is(await endAt(await at(t, createTlsServer({ key, cert: EXPIRED }), 'none')), ENDS.expired);
  const nats = createServer((socket) => {
    socket.write('INFO {"tls_required":true}\r\n');
    new TLSSocket(socket, { isServer: true, key, cert: GOOD }).on('error', () => {});
  });
  t.is(await endAt(await at(t, nats, 'nats')), ENDS.good);
  const smtp = new SMTPServer({ key, cert: GOOD, authOptional: true });
  smtp.on('error', () => {});
  const listening = smtp.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  t.is(await endAt(await at(t, listening, 'smtp')), ENDS.good);
});

test('a server without TLS has no end, and nobody waits for it', async (t) => {
  const bare = new SMTPServer({ authOptional: true, hideSTARTTLS: true, disabledCommands: ['STARTTLS'] });
  bare.on('error', () => {});
  const listening = bare.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  await t.throwsAsync(endAt(await at(t, listening, 'smtp')), { message: /no TLS/ });
  const silent = createServer((socket) => socket.end('hello'));
  await t.throwsAsync(endAt(await at(t, silent, 'none')));
  const gone = await at(t, createServer(), 'none');
  await t.throwsAsync(endAt({ ...gone, port: 1 }));
});

test('a server that takes a connection and says nothing ends no process', async (t) => {
  const stop = new AbortController();
  const silent = createServer((socket) => socket.on('error', () => {}).once('data', () => stop.abort()));
  const looking = serverEnd(await at(t, silent, 'none'), stop.signal);
  // AVA fails a file whose process has an uncaught error.
  await t.throwsAsync(looking);
});

test('the earliest end of all servers and of a file counts, and what cannot be read keeps what was known', async (t) => {
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const { cert } = certificateFiles(t);
  const [long, short] = await Promise.all(
    [GOOD, EXPIRED].map((each) => at(t, createTlsServer({ key: SERVER_KEY, cert: each }), 'none')),
  );
  let answers = [long!, short!];
  let looks = 0;
  const signs = watchCertificates(
    [
      {
        of: 'documents',
        async servers() {
          looks++;
          return answers;
        },
      },
      { of: 'NATS_CERT_FILE', file: cert },
      { of: 'queue', file: '/nowhere' },
    ],
    { signal: stop.signal, look_ms: 5 },
  );
  const known = [
    { of: 'NATS_CERT_FILE', ends_at: ENDS.good },
    { of: 'documents', ends_at: ENDS.expired },
  ];
  const sorted = () => signs().sort((a, b) => (a.of < b.of ? -1 : 1));
  await until(() => signs().length === 2);
  t.deepEqual(sorted(), known);
  answers = [{ ...long!, port: 1 }];
  const seen = looks;
  await until(() => looks > seen + 1);
  t.deepEqual(sorted(), known);
  answers = [long!];
  await until(() => sorted()[1]!.ends_at === ENDS.good);
});
