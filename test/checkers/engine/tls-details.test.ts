// What a result says of the TLS of a server, in words for its owner.
import type { TLSSocket } from 'node:tls';
import test from 'ava';
import { createEngine } from '../../../checkers/engine/engine.ts';
import { issuerOfRefused, tlsDetailOf } from '../../../checkers/engine/tls-details.ts';
import { startRawServer } from '../../support/raw-server.ts';
import { AUTHORITY, EXPIRED, GOOD, OTHER_HOST, SELF_SIGNED, SERVER_KEY } from '../../support/test-certificates.ts';

const ROWS: readonly [what: string, cert: string, ca: string, error_code: string, detail: RegExp][] = [
  ['an expired certificate', EXPIRED, AUTHORITY, 'tls_expired', /expired\. Renew it/],
  ['a certificate for another name', OTHER_HOST, AUTHORITY, 'tls_hostname', /another name: .*127\.0\.0\.1/],
  ['a certificate signed by itself', SELF_SIGNED, AUTHORITY, 'tls_untrusted', /signed by itself/],
  [
    'a chain without its authority',
    GOOD,
    SELF_SIGNED,
    'tls_untrusted',
    /whole chain.* Missing: the certificate of ".+"\.$/,
  ],
];
for (const [what, cert, ca, error_code, detail] of ROWS) {
  test(`a result says what is wrong with ${what}`, async (t) => {
    const server = await startRawServer((socket) => socket.end(), { cert, key: SERVER_KEY });
    const limits = { concurrency: 1, per_host: 1, timeout_ms: 15_000, retries: 0 };
    const engine = createEngine({ ...limits, allow_addresses: ['127.0.0.0/8'], user_agent: 'test' }, { ca });
    t.teardown(async () => {
      await engine.close();
      await server.close();
    });
    const { tls_detail = '', ...outcome } = await engine.check(`https://127.0.0.1:${server.port}/`);
    t.like(outcome, { error_code });
    t.regex(tls_detail, detail);
  });
}

const CODES: readonly [code: string, detail: RegExp][] = [
  ['UNSPECIFIED', /weak key/],
  ['INVALID_CA', /chain that belongs/],
  ['CERT_CHAIN_TOO_LONG', /too many/],
  ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', /ciphers/],
  ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', /ciphers/],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', /1\.2 and 1\.3/],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /of its clients/],
  ['ERR_SSL_TLSV1_UNRECOGNIZED_NAME', /for this name/],
  ['ERR_SSL_DH_KEY_TOO_SMALL', /too short/],
  ['ERR_SSL_OTHER', /without saying why/],
];
for (const [code, detail] of CODES) {
  test(`a result says what ${code} means`, (t) =>
    t.regex(tlsDetailOf(Object.assign(new Error('?'), { code })), detail));
}

test('OpenSSL’s reason stands for a failure without words of its own', (t) => {
  for (const protocol of ['tlsv1', 'tlsv13', 'sslv3', 'ssl/tls']) {
    const error = Object.assign(new Error('?'), { code: 'ERR_SSL_OTHER', reason: `${protocol} alert user cancelled` });
    t.is(tlsDetailOf(error), 'The handshake failed: user cancelled.');
  }
});

const thrown = (): never => {
  throw new Error('Node is another one');
};
const refused = { verifyError: () => new Error('refused') };
const ODD_SOCKETS: readonly [what: string, socket: object][] = [
  ['no handle', {}],
  ['a handle that verifies nothing', { _handle: {} }],
  ['a handle that throws', { _handle: { verifyError: thrown } }],
  ['no certificate', { _handle: refused, getPeerCertificate: () => null }],
  ['a certificate without an issuer', { _handle: refused, getPeerCertificate: () => ({}) }],
  ['a certificate that cannot be read', { _handle: refused, getPeerCertificate: thrown }],
];
for (const [what, socket] of ODD_SOCKETS) {
  test(`a socket with ${what} names no issuer, and breaks nothing`, (t) =>
    t.is(issuerOfRefused(socket as TLSSocket), undefined));
}
