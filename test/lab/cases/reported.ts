// What people have reported of other clients, beyond the families of the other files.
import zlib from 'node:zlib';
import { type Answer, bytes, HEAD, type LabCase, last, PAGE, page, site, to } from '../case.ts';

const LENGTH = `Content-Length: ${PAGE.length}\r\n`;
const SIZE = PAGE.length.toString(16);
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

const reported = (name: string, answer: Answer, more: Partial<LabCase> = {}): LabCase => {
  return { name, answer, expected: '200 ok', ...more };
};
const moved = (name: string, location: string, more: Partial<LabCase> = {}): LabCase =>
  reported(`moved-${name}`, site(to(location)), { expected: '200 redirected', ...more });
const says = (status: string, expected: string, lines = '', more: Partial<LabCase> = {}): LabCase =>
  reported(`says-${status.slice(0, 3)}`, page(lines, '<title>Sorry</title><p>Something is wrong.</p>', status), {
    expected,
    ...more,
  });
/** The first answer to each path is another one than those after it. */
const once =
  (first: Answer, then: Answer): Answer =>
  (asked, socket) =>
    (asked.visit === 1 ? first : then)(asked, socket);
const typed = (name: string, type: string, body: string | Buffer = PAGE, more: Partial<LabCase> = {}): LabCase =>
  reported(
    `type-${name}`,
    last(
      Buffer.concat([
        Buffer.from(`HTTP/1.1 200 OK\r\n${type}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`),
        Buffer.from(body),
      ]),
    ),
    more,
  );
const coded = (name: string, coding: string, body: Buffer | string, more: Partial<LabCase> = {}) =>
  reported(`coding-${name}`, page(`Content-Encoding: ${coding}\r\n`, body), more);
const HEAD_DECIDES = { choice: 'the head decides: decision 117' };
const ONLY_WITH_TLS = { choice: 'Chromium takes it over TLS only' };

export const REPORTED: readonly LabCase[] = [
  moved('thousand-tabs', `/there${'\t'.repeat(1000)}`, { from: 'curl/curl#12147' }),
  moved('space-and-braces', '/there?$' + '{} and more', { from: 'line/armeria#5477' }),
  moved('query-alone', '?there', {
    answer: (asked, socket) => (asked.path === '/page?there' ? page() : to('?there'))(asked, socket),
  }),
  moved('fragment-alone', '#there', {
    answer: once(to('#there'), page()),
  }),
  moved('dot', '.', {
    answer: (asked, socket) => (asked.path === '/a/' ? page() : to('.'))(asked, socket),
    path: '/a/page',
  }),
  moved('above-root', '/../../../there'),
  moved('url-in-query', '/there?to=http://other.example/a?b=c&d'),
  moved('latin1-in-query', '/there?q=gr\xfc\xdfe'),
  moved('apostrophe', "/there?it's"),
  moved('asterisk', '/there?*'),
  moved('escaped-newline', '/there?a%0d%0ab'),
  moved('escaped-nul', '/there?%00'),
  moved('long', `/there?${'x'.repeat(8000)}`),
  moved('without-length', '/there', {
    answer: site(bytes('HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n')),
  }),
  moved('chunked', '/there', {
    answer: site(bytes(`HTTP/1.1 301 Moved\r\nLocation: /there\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)),
  }),
  moved('http-10', '/there', { answer: site(last('HTTP/1.0 302 Found\r\nLocation: /there\r\n\r\n')) }),
  moved('lower-case-name', '/there', {
    answer: site(bytes('HTTP/1.1 302 Found\r\nlocation:/there\r\ncontent-length:0\r\n\r\n')),
  }),
  moved('folded', '/there', {
    answer: site(bytes('HTTP/1.1 302 Found\r\nLocation:\r\n /there\r\nContent-Length: 0\r\n\r\n')),
  }),
  moved('303', '/there', { answer: site(to('/there', '303 See Other')) }),
  moved('307', '/there', { answer: site(to('/there', '307 Temporary Redirect')) }),
  moved('cookie-by-another-page', '/set', {
    answer: (asked, socket) => {
      if (asked.path === '/set') return to('/page', '302 Found', 'Set-Cookie: seen=1; Path=/\r\n')(asked, socket);
      (asked.cookie.includes('seen=1') ? page() : to('/set'))(asked, socket);
    },
    from: '0x676e67/wreq-python#325',
  }),
  moved('same-cookie-for-two-domains', '', {
    answer: (asked, socket) => {
      const of = (domain: string) => `Set-Cookie: t=/en; Max-Age=3600; Path=/; Domain=${domain}\r\n`;
      const set = of('moved-same-cookie-for-two-domains.lab.test') + of('.moved-same-cookie-for-two-domains.lab.test');
      (asked.cookie === 't=/en' ? page() : to(asked.path, '302 Found', set))(asked, socket);
    },
    from: 'request/request#3188',
  }),
  moved('fresh-cookie-each-time', '', {
    answer: (asked, socket) => to(asked.path, '302 Found', `Set-Cookie: n=${asked.visit}\r\n`)(asked, socket),
    expected: '302 unreachable too_many_redirects',
    from: 'xroche/httrack#537',
  }),

  says('401 Unauthorized', '401 broken', 'WWW-Authenticate: Negotiate\r\n'),
  says('402 Payment Required', '402 broken'),
  says('406 Not Acceptable', '406 broken'),
  says('409 Conflict', '409 broken'),
  says('410 Gone', '410 broken'),
  says('412 Precondition Failed', '412 broken'),
  says('418 Teapot', '418 broken'),
  says('423 Locked', '423 broken'),
  says('431 Too Large', '431 broken'),
  says('451 Unavailable', '451 broken'),
  says('501 Not Implemented', '501 broken', '', { from: 'stevenvachon/broken-link-checker#121' }),
  says('509 Bandwidth Limit Exceeded', '509 broken'),
  says('511 Authentication Required', '511 broken'),
  says('530 Odd', '530 broken'),
  says('203 Non-Authoritative', '203 ok'),
  says('207 Multi-Status', '207 ok'),
  says('226 IM Used', '226 ok'),
  reported('misdirected-once', once(page('', '', '421 Misdirected Request'), page()), { from: 'RFC 9110, 15.5.20' }),
  reported('too-early-once', once(page('', '', '425 Too Early'), page()), {
    choice: 'a failure that may pass is asked again (RFC 8470, 5.2)',
  }),
  reported(
    'compressed-error-that-does-not-say-so',
    page('', zlib.gzipSync('<title>Not found</title>'), '404 Not Found'),
    { expected: '404 broken', from: 'apache/trafficcontrol#1737' },
  ),

  reported('trailer-without-end', last(`${CHUNKED}${SIZE}\r\n${PAGE}\r\n0\r\nX-Sum: 1\r\n`), {
    from: 'pocoproject/poco#4147',
  }),
  reported('trailer-with-nul', last(`${CHUNKED}${SIZE}\r\n${PAGE}\r\n0\r\nX-Sum: a\0b\r\n\r\n`), {
    from: 'curl/curl#21896',
  }),
  reported('chunk-size-upper-case', last(`${CHUNKED}${SIZE.toUpperCase()}\r\n${PAGE}\r\n0\r\n\r\n`)),
  reported('chunk-size-space-first', last(`${CHUNKED} ${SIZE}\r\n${PAGE}\r\n0\r\n\r\n`), {
    from: 'reactphp/http-client#115',
  }),
  reported('chunk-without-line-end', last(`${CHUNKED}${SIZE}\r\n${PAGE}0\r\n\r\n`)),
  reported('chunk-semicolon-alone', last(`${CHUNKED}${SIZE};\r\n${PAGE}\r\n0\r\n\r\n`)),
  reported(
    'chunks-of-one',
    last(`${CHUNKED}${[...PAGE.slice(0, 300)].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`),
  ),
  reported(
    'chunked-http-10',
    last(
      `HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n${SIZE}\r\n${PAGE}\r\n0\r\n\r\n`,
    ),
  ),
  reported(
    'transfer-gzip-alone',
    last(Buffer.concat([Buffer.from(`${HEAD}Transfer-Encoding: gzip\r\n\r\n`), zlib.gzipSync(PAGE)])),
  ),

  coded('list-with-identity', 'identity, gzip', zlib.gzipSync(PAGE)),
  coded('trailing-comma', 'gzip,', zlib.gzipSync(PAGE)),
  coded('quoted', '"gzip"', PAGE, HEAD_DECIDES),
  coded('parameter', 'gzip;q=1.0', zlib.gzipSync(PAGE), HEAD_DECIDES),
  coded('aws-chunked', 'aws-chunked', PAGE),
  coded('br', 'br', zlib.brotliCompressSync(PAGE), ONLY_WITH_TLS),
  coded('zstd', 'zstd', zlib.zstdCompressSync(PAGE), ONLY_WITH_TLS),
  coded('br-of-gzip', 'gzip, br', zlib.brotliCompressSync(zlib.gzipSync(PAGE)), ONLY_WITH_TLS),
  coded('gzip-of-nothing', 'gzip', ''),

  typed('none', ''),
  typed('empty', 'Content-Type: \r\n'),
  typed('word', 'Content-Type: html\r\n'),
  typed('two-charsets', 'Content-Type: text/html; charset=utf-8; charset=latin1\r\n'),
  typed('open-quote', 'Content-Type: text/html; charset="utf-8\r\n'),
  typed('binary', 'Content-Type: application/octet-stream\r\n', Buffer.alloc(2000, 7), {
    choice: 'a download is an answer',
  }),
  typed('pdf-as-html', 'Content-Type: text/html\r\n', '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n'),

  reported('blank-lines-first', last(`\r\n\r\n${HEAD}${LENGTH}\r\n${PAGE}`)),
  reported('status-line-http-2', last(`HTTP/2.0 200 OK\r\nContent-Type: text/html\r\n${LENGTH}\r\n${PAGE}`)),
  reported('no-reason-no-space', last(`HTTP/1.1 200\r\nContent-Type: text/html\r\n${LENGTH}\r\n${PAGE}`)),
  reported('two-answers', bytes(`${HEAD}${LENGTH}\r\n${PAGE}${HEAD}${LENGTH}\r\n${PAGE}`)),
  reported('empty-page', page('', '')),
  reported('host-with-hyphen-at-end-', page()),
];
