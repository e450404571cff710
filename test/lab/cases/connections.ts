// Connections that are refused, broken or reused, TLS, and names.
import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { reset } from '../../support/reset.ts';
import { type Answer, HEAD, type LabCase, last, PAGE, page, to } from '../case.ts';
import type { Certificates } from '../certificates.ts';

const ASKED_AGAIN = 'a failure that may pass is asked again; people press the button';

/** What happens to the first connection; the second one gets the page. */
const first = (name: string, what: (socket: Socket) => void): LabCase => ({
  name: `first-${name}`,
  accept(socket, connection) {
    if (connection > 1) return false;
    what(socket);
    return true;
  },
  answer: page(),
  expected: '200 ok',
  choice: ASKED_AGAIN,
});
const onceAsked = (then: (socket: Socket) => void) => (socket: Socket) => void socket.once('data', () => then(socket));
const LENGTH = `Content-Length: ${PAGE.length}\r\n`;

const secure = (name: string, options: TlsOptions, more: Partial<LabCase> = {}): LabCase => ({
  name: `tls-${name}`,
  is_secure: true,
  tls: (certificates: Certificates) => ({ ...certificates.of('DNS:*.lab.test'), ...options }),
  answer: page(),
  expected: '200 ok',
  ...more,
});
const named = (name: string, names: Parameters<Certificates['of']>[0], more: Partial<LabCase> = {}) =>
  secure(name, {}, { tls: (certificates) => certificates.of(names), ...more });
const hostname = { expected: '- unreachable tls_hostname' };
const failed = { expected: '- unreachable tls_failed' };
/** What comes instead of a handshake. */
const handshake = (name: string, what: (socket: Socket) => void, code: string): LabCase => ({
  name: `handshake-${name}`,
  is_secure: true,
  accept: (socket) => {
    onceAsked(what)(socket);
    return true;
  },
  answer: page(),
  expected: `- unreachable ${code}`,
});
/** Fatal alerts of TLS (RFC 8446, 6.2). */
const ALERTS = [
  ['handshake-failure', 40],
  ['protocol-version', 70],
  ['internal-error', 80],
  ['unrecognized-name', 112],
  ['access-denied', 49],
  ['certificate-required', 116],
] as const;
const alert = (code: number) => Buffer.from([21, 3, 3, 0, 2, 2, code]);
const OLD = { minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;

/** Redirects to itself on a connection that it then closes. */
const closing = (how: (socket: Socket) => void): Answer => {
  return (asked, socket) => {
    if (asked.visit > 1) return page()(asked, socket);
    to('/page')(asked, socket);
    setImmediate(() => how(socket));
  };
};

export const CONNECTIONS: readonly LabCase[] = [
  first('reset-at-once', reset),
  first('closed-at-once', (socket) => socket.end()),
  first('reset-when-asked', onceAsked(reset)),
  first(
    'closed-when-asked',
    onceAsked((socket) => socket.end()),
  ),
  first(
    'reset-in-line',
    onceAsked((socket) => socket.write('HTTP/1.1 20', () => reset(socket))),
  ),
  first(
    'reset-in-head',
    onceAsked((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-', () => reset(socket))),
  ),
  {
    name: 'reset-in-body',
    answer: (_asked, socket) => socket.write(`${HEAD}${LENGTH}\r\n<p>`, () => setImmediate(() => reset(socket))),
    expected: '200 ok',
  },
  {
    name: 'answers-before-asked',
    accept: (socket) => socket.write(`${HEAD}${LENGTH}\r\n${PAGE}`),
    answer: page(),
    expected: '200 ok',
  },
  { name: 'closes-when-idle', answer: closing((socket) => socket.end()), expected: '200 redirected' },
  { name: 'resets-when-idle', answer: closing(reset), expected: '200 redirected' },
  {
    name: 'closes-unsaid',
    answer: (asked, socket) =>
      (asked.visit > 1
        ? page()
        : last(`HTTP/1.0 302 Found\r\nLocation: /page\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n`))(
        asked,
        socket,
      ),
    expected: '200 redirected',
  },
  {
    name: 'says-408-when-idle',
    answer: closing((socket) => socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')),
    expected: '200 redirected',
  },

  secure('plain', {}),
  secure('v10', { ...OLD, maxVersion: 'TLSv1' }, failed),
  secure('v11', { ...OLD, maxVersion: 'TLSv1.1' }, failed),
  secure('v12', { maxVersion: 'TLSv1.2' }),
  secure('v13', { minVersion: 'TLSv1.3' }),
  secure(
    'only-cbc',
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' },
    { choice: 'OpenSSL keeps ciphers that browsers have dropped' },
  ),
  secure('no-tickets', { maxVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET }),
  secure('alpn-odd', { ALPNProtocols: ['http/1.0'] }, { expected: '- unreachable tls_failed' }),
  secure('no-alpn', { ALPNCallback: () => undefined }, { expected: '- unreachable tls_failed' }),
  secure('client-asked', { requestCert: true, rejectUnauthorized: false }),
  secure('client-demanded', { requestCert: true }, { expected: '- unreachable tls_failed' }),
  secure('client-demanded-v12', { requestCert: true, maxVersion: 'TLSv1.2' }, { expected: '- unreachable tls_failed' }),
  secure(
    'unknown-name',
    { SNICallback: (_name, done) => done(new Error('unknown')) },
    { expected: '- unreachable connection_reset' },
  ),
  secure(
    'no-close-notify',
    {},
    { answer: (_asked, socket) => socket.write(`${HEAD}\r\n${PAGE}`, () => socket.destroy()) },
  ),
  secure(
    'only-ticket-then-close',
    {},
    { accept: (socket, nth) => nth === 1 && socket.end().writableEnded, choice: ASKED_AGAIN },
  ),
  named('many-names', 'DNS:*.www.lab.test,DNS:www.lab.test', hostname),
  named('wildcard-too-deep', 'DNS:*.*.lab.test', hostname),
  named('wildcard-part', 'DNS:w*.tls-wildcard-part.lab.test,DNS:w*.lab.test', hostname),
  named('wildcard-alone', 'DNS:*', hostname),
  named('wildcard-of-suffix', 'DNS:*.test', hostname),
  named('address-only', 'IP:127.0.0.1', hostname),
  named('common-name-only', 'CN:*.lab.test', hostname),
  named('case', 'DNS:TLS-CASE.LAB.TEST'),
  named('dot', 'DNS:tls-dot.lab.test.'),
  handshake(
    'plain-http',
    (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'),
    'tls_failed',
  ),
  handshake('closed', (socket) => socket.end(), 'connection_reset'),
  handshake('reset', reset, 'connection_reset'),
  ...ALERTS.map(([name, code]) => handshake(name, (socket) => socket.end(alert(code)), 'tls_failed')),
  handshake('silent', () => {}, 'connect_timeout'),
];
