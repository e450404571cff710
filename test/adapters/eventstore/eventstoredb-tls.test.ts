// EventStoreDB by TLS: an authority of its own, and a server that wants a certificate of its clients.
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { openEventStoreDb } from '../../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import type { TlsFiles } from '../../../adapters/tls-files.ts';
import { appended, newEvents } from '../../contracts/event-store/fixture.ts';
import { certificateFiles } from '../../support/certificate-files.ts';
import { startEventStoreDbServer } from '../../support/eventstoredb-server/eventstoredb-server.ts';
import { AUTHORITY, GOOD, SERVER_KEY } from '../../support/test-certificates.ts';

const NONE: TlsFiles = { ca_file: null, cert_file: null, key_file: null };

async function appendsBy(t: ExecutionContext, url: string, tls: TlsFiles): Promise<boolean> {
  const store = await openEventStoreDb({
    ...{ url, tls, log: pino({ level: 'silent' }), answer_timeout_ms: 2_000, unavailable_after_ms: 3_000 },
    waits: { first_ms: 10, longest_ms: 100 },
  });
  t.teardown(() => store.close());
  return appended(store.append(`job-${Math.random()}`, 'no_stream', newEvents(1))).then(
    () => true,
    () => false,
  );
}

test('a server whose certificate comes from an authority of its own is trusted by that alone', async (t) => {
  const server = await startEventStoreDbServer({ tls: { cert: GOOD, key: SERVER_KEY } });
  t.teardown(() => server.close());
  const { ca, other_ca } = certificateFiles(t);
  t.true(await appendsBy(t, server.url, { ...NONE, ca_file: ca }));
  t.true(await appendsBy(t, `${server.url}?keepAliveInterval=10000`, { ...NONE, ca_file: ca }));
  t.false(await appendsBy(t, server.url, { ...NONE, ca_file: other_ca }));
  t.false(await appendsBy(t, server.url, NONE));
});

test('a server that wants a certificate is shown the one of the settings', async (t) => {
  const server = await startEventStoreDbServer({ tls: { cert: GOOD, key: SERVER_KEY, client_ca: AUTHORITY } });
  t.teardown(() => server.close());
  const { ca, cert, key } = certificateFiles(t);
  t.true(await appendsBy(t, server.url, { ca_file: ca, cert_file: cert, key_file: key }));
  t.false(await appendsBy(t, server.url, { ...NONE, ca_file: ca }));
});
