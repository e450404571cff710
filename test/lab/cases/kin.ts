// Kin of what people have reported: the same kinds in other forms.
import type { TLSSocket } from 'node:tls';
import zlib from 'node:zlib';
import { reset } from '../../support/reset.ts';
import { type Answer, bytes, HEAD, type LabCase, last, PAGE, page, site, to } from '../case.ts';

const LENGTH = `Content-Length: ${PAGE.length}\r\n`;
const NOT_SHOWN = 'an answer, though Chromium shows no page';
const invalid = { expected: '302 unreachable invalid_redirect' };
const malformed = { expected: '- unreachable malformed_response' };

const kin = (name: string, answer: Answer, more: Partial<LabCase> = {}): LabCase => {
  return { name: `kin-${name}`, answer, expected: '200 ok', ...more };
};
const moved = (name: string, location: string | ((host: string) => string), more: Partial<LabCase> = {}): LabCase =>
  kin(
    `to-${name}`,
    site((asked, socket) => to(typeof location === 'string' ? location : location(asked.host))(asked, socket)),
    { expected: '200 redirected', ...more },
  );
const cookie = (name: string, set: string, sent: RegExp, more: Partial<LabCase> = {}): LabCase =>
  kin(
    `cookie-${name}`,
    (asked, socket) => (sent.test(asked.cookie) ? page() : to(asked.path, '302 Found', set))(asked, socket),
    {
      expected: '200 redirected',
      ...more,
    },
  );
const head = (name: string, lines: string, more: Partial<LabCase> = {}) =>
  kin(`head-${name}`, last(`HTTP/1.1 200 OK\r\n${lines}\r\n${PAGE}`), more);
const hops =
  (count: number): Answer =>
  (asked, socket) => {
    const at = Number(asked.path.split('?')[1] ?? 0);
    (at < count ? to(`/page?${at + 1}`) : page())(asked, socket);
  };
const secure = (certificates: Parameters<NonNullable<LabCase['tls']>>[0]) => certificates.of('DNS:*.lab.test');

export const KIN: readonly LabCase[] = [
  ...(
    [
      'javascript:alert(1)',
      'mailto:a@b.example',
      'data:text/html,hello',
      'about:blank',
      'tel:123',
      'intent://x#Intent;end',
      'itms-apps://a/b',
      'blob:http://a/b',
      'file:///etc/passwd',
      'ftp://127.0.0.1/',
      'view-source:http://a/',
    ] as const
  ).map((location, n) => moved(`scheme-${n}`, location, invalid)),
  moved('upper-scheme-relative', (host) => `HTTP://${host}/there`),
  moved('host-and-backslash', (host) => `/\\${host}/there`),
  moved('two-backslashes', (host) => `\\\\${host}\\there`),
  moved('four-slashes', (host) => `////${host}/there`),
  moved('empty-port', (host) => `http://${host.replace(/:.*/, '')}:${host.split(':')[1] ?? ''}/there`),
  moved('port-65536', 'http://kin-to-port-65536.lab.test:65536/there', invalid),
  moved('port-0', 'http://kin-to-port-0.lab.test:0/there', { expected: '302 unreachable connection_refused' }),
  moved('empty-user', (host) => `http://@${host}/there`),
  moved('user-without-host', 'http://user@/there', invalid),
  moved('empty-query', '?', { answer: (asked, socket) => (asked.path === '/page?' ? page() : to('?'))(asked, socket) }),
  moved('slashes-alone', '//', invalid),
  moved('encoded-slash', '/there%2Fmore', { expected: '404 broken' }),
  moved('vertical-tab', '/there\x0b'),
  moved('delete', '/the\x7fre', { expected: '404 broken' }),
  moved('quoted-url', (host) => `<http://${host}/there>`, { expected: '404 broken' }),
  moved(
    'unicode-host',
    (host) => `http://${Buffer.from(host.replace('to-unicode', 'to-\uff35nicode')).toString('latin1')}/there`,
  ),
  moved('emoji-path', `/there?${Buffer.from('\u{1f40c}').toString('latin1')}`),
  moved('blank', '', { answer: page('Location: \r\n', PAGE, '302 Found'), expected: '302 ok' }),
  moved('blank-then-good', '\r\nLocation: /there', {
    choice: 'Chromium takes two fields for an attack; a blank one is none',
  }),
  moved('meta-in-200', '', { answer: page('Refresh: 0; url=/there\r\n'), expected: '200 ok' }),
  moved('page-with-location', '/there', { answer: site(page('Location: /there\r\n', PAGE, '307 Temporary Redirect')) }),
  moved('gzip-body-broken', '/there', {
    answer: site(page('Location: /there\r\nContent-Encoding: gzip\r\n', 'plain', '301 Moved')),
  }),
  moved('no-reason', '/there', {
    answer: site(bytes('HTTP/1.1 302\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n')),
  }),
  moved('lf', '/there', { answer: site(last('HTTP/1.1 302 Found\nLocation: /there\n\n')) }),
  moved('name-with-space', '/there', { answer: site(last('HTTP/1.1 302 Found\r\nLocation : /there\r\n\r\n')) }),
  moved('after-103', '/there', {
    answer: site(
      bytes(
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n',
      ),
    ),
  }),
  moved('long-length', '/there', {
    answer: site(bytes('HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 5000\r\n\r\nshort')),
  }),
  moved('bad-chunks', '/there', {
    answer: site(bytes('HTTP/1.1 302 Found\r\nLocation: /there\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n')),
  }),
  moved('reset-after-head', '/there', {
    answer: site((_asked, socket) =>
      socket.write('HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 9\r\n\r\n', () =>
        setImmediate(() => reset(socket)),
      ),
    ),
  }),
  moved('twenty', '', { answer: hops(20), choice: 'the Fetch standard allows twenty' }),
  moved('twenty-one', '', { answer: hops(21), expected: '302 unreachable too_many_redirects' }),
  moved('fragment-kept', '/there', { path: '/page#section' }),
  moved('http-and-back', '', {
    answer: (asked, socket) =>
      (asked.visit > 2 ? page() : to(asked.path === '/page' ? '/other' : '/page'))(asked, socket),
  }),

  cookie(
    'clock-behind',
    'Set-Cookie: a=1; Expires=Wed, 01 Jan 2020 00:10:00 GMT\r\nDate: Wed, 01 Jan 2020 00:00:00 GMT\r\n',
    /a=1/,
  ),
  cookie('long-attributes', `Set-Cookie: a=${'x'.repeat(4080)}; Path=/; SameSite=Lax; HttpOnly\r\n`, /a=x/),
  cookie('secure-over-http', 'Set-Cookie: a=1; Secure\r\n', /a=1/, { expected: '302 unreachable redirect_loop' }),
  cookie('secure-prefix', 'Set-Cookie: __Secure-a=1; Secure; Path=/\r\n', /a=1/, { is_secure: true, tls: secure }),
  cookie('host-prefix', 'Set-Cookie: __Host-a=1; Secure; Path=/\r\n', /a=1/, { is_secure: true, tls: secure }),
  cookie('partitioned', 'Set-Cookie: a=1; Secure; Path=/; SameSite=None; Partitioned\r\n', /a=1/, {
    is_secure: true,
    tls: secure,
  }),
  cookie('blank-first', 'Set-Cookie: \r\nSet-Cookie: a=1\r\n', /a=1/),
  cookie('unknown-attributes', 'Set-Cookie: a=1; Version=1; Comment="x"; Priority=High; Fish\r\n', /a=1/),
  cookie('max-age-huge', 'Set-Cookie: a=1; Max-Age=99999999999999999999\r\n', /a=1/),
  cookie('expires-1900', 'Set-Cookie: b=1; Expires=Mon, 01 Jan 1900 00:00:00 GMT\r\nSet-Cookie: a=1\r\n', /^a=1$/),
  cookie('expires-9999', 'Set-Cookie: a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT\r\n', /a=1/),
  cookie('expires-asctime', 'Set-Cookie: a=1; Expires=Fri Dec 31 23:59:59 2083\r\n', /a=1/),
  cookie('expires-offset', 'Set-Cookie: a=1; Expires=Fri, 31 Dec 2083 23:59:59 +0100\r\n', /a=1/),
  cookie('semicolons', 'Set-Cookie: ;a=1\r\nSet-Cookie: b=1;;;\r\n', /b=1/),
  cookie('path-percent', 'Set-Cookie: a=1; Path=/%7Ea\r\n', /a=1/, { path: '/%7Ea/page' }),
  cookie('path-tilde', 'Set-Cookie: a=1; Path=/~a\r\n', /a=1/, { path: '/~a/page' }),
  cookie('name-with-spaces', 'Set-Cookie: a b=1\r\n', /a b=1/),
  cookie('name-upper', 'SET-COOKIE: a=1\r\n', /a=1/),
  cookie('comma-inside', 'Set-Cookie: a=1,b=2\r\n', /a=1,b=2/),

  head('nul', `X-Odd: a\0b\r\n${LENGTH}`, malformed),
  head('name-empty', `: value\r\n${LENGTH}`),
  head('name-number', `1: 2\r\n${LENGTH}`),
  head('two-hundred-kb', `X-Long: ${'x'.repeat(200_000)}\r\n`),
  head('past-256-kb', `X-Long: ${'x'.repeat(270_000)}\r\n`, malformed),
  head('five-thousand', Array.from({ length: 5000 }, (_, i) => `X-${i}: 1\r\n`).join('')),
  head('transfer-br', 'Transfer-Encoding: br\r\n'),
  head('transfer-chunked-parameter', 'Transfer-Encoding: chunked;foo\r\n'),
  head('transfer-vertical-tab', 'Transfer-Encoding: \x0bchunked\r\n'),
  head('length-folded', `Content-Length:\r\n ${PAGE.length}\r\n`),
  head('length-hex', 'Content-Length: 0x10\r\n'),
  head('length-with-space', `Content-Length : ${PAGE.length}\r\n`),
  head('lengths-in-one-differ', 'Content-Length: 5, 7\r\n', malformed),
  head('type-twice', 'Content-Type: text/html\r\nContent-Type: application/json\r\n'),
  head('x-frame', 'X-Frame-Options: DENY\r\nContent-Security-Policy: default-src none\r\n'),
  head('clear-site-data', 'Clear-Site-Data: "*"\r\n'),
  head('alt-svc', 'Alt-Svc: h3=":1"; ma=86400\r\n'),
  head('proxy-authenticate', 'Proxy-Authenticate: Basic\r\nWWW-Authenticate: Basic\r\n'),
  kin('interim-hundred-fifty', bytes(`${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(150)}${HEAD}${LENGTH}\r\n${PAGE}`), {
    ...malformed,
    choice: 'at most a hundred: more is a flood',
  }),
  kin('interim-lf', bytes(`HTTP/1.1 103 Early Hints\n\n${HEAD}${LENGTH}\r\n${PAGE}`)),
  kin(
    'interim-101-upgrade',
    bytes('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'),
    malformed,
  ),
  kin('interim-then-nothing', last('HTTP/1.1 100 Continue\r\n\r\n'), { expected: '- unreachable connection_reset' }),
  kin('http-10-keep-alive', bytes(`HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n${LENGTH}\r\n${PAGE}`)),
  kin('no-fields', last(`HTTP/1.1 200 OK\r\n\r\n${PAGE}`)),
  kin('status-alone', last('HTTP/1.1 200 OK\r\n')),
  kin('status-204-length', last('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'), {
    expected: '204 ok',
    choice: NOT_SHOWN,
  }),
  kin('status-304-length', last('HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n'), {
    expected: '304 ok',
    choice: NOT_SHOWN,
  }),
  kin('status-206-range', page('Content-Range: bytes 0-9/900\r\n', PAGE, '206 Partial Content'), {
    expected: '206 ok',
  }),
  kin('status-201', page('', PAGE, '201 Created'), { expected: '201 ok' }),
  kin('status-299', page('', PAGE, '299 Odd'), { expected: '299 ok' }),
  kin('status-310', page('', PAGE, '310 Odd'), { expected: '310 ok' }),
  kin('status-499', page('', PAGE, '499 Closed'), { expected: '499 broken' }),
  kin('status-599', page('', PAGE, '599 Odd'), { expected: '599 broken' }),
  kin('status-700', page('', PAGE, '700 Odd'), { expected: '700 broken' }),
  kin('length-but-no-body', last(`${HEAD}Content-Length: 500\r\n\r\n`)),
  kin('reset-after-whole', (_asked, socket) =>
    socket.write(`${HEAD}${LENGTH}\r\n${PAGE}`, () => setImmediate(() => reset(socket))),
  ),
  kin('gzip-header-alone', page('Content-Encoding: gzip\r\n', zlib.gzipSync(PAGE).subarray(0, 10))),
  kin('gzip-empty-length', page('Content-Encoding: gzip\r\n', '')),
  kin('encoding-unknown', page('Content-Encoding: fish\r\n', PAGE)),
  kin('encoding-empty', page('Content-Encoding: \r\n', PAGE)),
  kin('encoding-compress', page('Content-Encoding: compress\r\n', PAGE)),
  kin(
    'encoding-twice',
    page('Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n', zlib.gzipSync(zlib.gzipSync(PAGE))),
  ),
  kin('chunk-negative', last(`${HEAD}Transfer-Encoding: chunked\r\n\r\n-5\r\n${PAGE}\r\n0\r\n\r\n`)),
  kin('chunk-huge', last(`${HEAD}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n${PAGE}\r\n0\r\n\r\n`)),
  kin(
    'chunk-extension-long',
    last(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`),
  ),
  kin('chunk-first-empty', last(`${HEAD}Transfer-Encoding: chunked\r\n\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)),
  kin('says-408-at-once', page(), {
    choice: 'a failure that may pass is asked again',
    accept: (socket, nth) =>
      nth === 1 &&
      socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n').writableEnded,
  }),

  kin(
    'tls-renegotiates',
    (_asked, socket) => {
      (socket as TLSSocket).renegotiate({ requestCert: true, rejectUnauthorized: false }, () => page()(_asked, socket));
    },
    { is_secure: true, tls: (certificates) => ({ ...secure(certificates), maxVersion: 'TLSv1.2' }) },
  ),
  kin('tls-tiny-records', page(), {
    is_secure: true,
    tls: secure,
    accept: (socket) => !(socket as TLSSocket).setMaxSendFragment(512),
  }),
  kin('tls-ends-in-head', (_asked, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n'), {
    is_secure: true,
    tls: secure,
    ...malformed,
  }),
  kin('tls-empty', (_asked, socket) => socket.end(), {
    is_secure: true,
    tls: secure,
    expected: '- unreachable connection_reset',
  }),
];
