// Request targets that people write and servers take literally, and further answers, redirects and handshakes from trackers.
import { type Answer, bytes, HEAD, type LabCase, last, PAGE, page, site, to } from '../case.ts';

const MISSING = page('', '<title>Not found</title>', '404 Not Found');

/** The server has the page under one exact target alone. */
const target = (name: string, path: string, sent = path, more: Partial<LabCase> = {}): LabCase => ({
  name: `target-${name}`,
  path,
  answer: (asked, socket) => (asked.path === sent ? page() : MISSING)(asked, socket),
  expected: '200 ok',
  ...more,
});
const redirected = (name: string, answer: Answer, more: Partial<LabCase> = {}): LabCase => {
  return { name: `further-to-${name}`, answer: site(answer), expected: '200 redirected', ...more };
};
const says = (status: number): LabCase => {
  return { name: `further-says-${status}`, answer: page('', PAGE, `${status} Odd`), expected: `${status} broken` };
};
const secure = (name: string, tls: NonNullable<LabCase['tls']>, more: Partial<LabCase> = {}): LabCase => {
  return { name: `further-tls-${name}`, is_secure: true, tls, answer: page(), expected: '200 ok', ...more };
};
const further = (name: string, text: string, more: Partial<LabCase> = {}): LabCase => {
  return { name: `further-${name}`, answer: last(text), expected: '200 ok', ...more };
};

const WHOLE = `${HEAD}Content-Length: ${PAGE.length}\r\n\r\n${PAGE}`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CHUNKS = '\r\n5\r\nhello\r\n0\r\n\r\n';

export const TARGETS: readonly LabCase[] = [
  target('number-sign', '/c%23-automation.md', undefined, { from: 'tcort/markdown-link-check#264' }),
  target('encoded-slash', '/sdk%2Fclient', undefined, { from: 'tcort/link-check#45' }),
  target('encoded-backslash', '/a%5Cb', undefined, { from: 'linkchecker/linkchecker#520' }),
  target('encoded-plus', '/mesos_0.19.0~ubuntu14.04%2B1.deb', undefined, { from: 'wummel/linkchecker#571' }),
  target('asterisk', '/toda?nguyen-*', undefined, { from: 'wummel/linkchecker#668' }),
  target('question-mark-last', '/bonbons_?', undefined, { from: 'linkchecker/linkchecker#203' }),
  target('bad-percent', '/%NETHOOD%', undefined, { from: 'SeasideSt/Seaside#1157' }),
  target('colon-and-dollar', '/Benutzer%3A%24dude', undefined, { from: 'wummel/linkchecker#645' }),
  target('plus', '/How+To+Unlock', undefined, { from: 'cytopia/linkcheck#7' }),
  target('letter', '/gjør/', '/gj%C3%B8r/', { from: 'stevenvachon/broken-link-checker#53' }),
  target('letter-in-query', '/?q=ą', '/?q=%C4%85'),
  target('lower-case-escape', '/gj%c3%b8r'),
  target('pipe', '/a|b', undefined, { choice: 'the URL standard and Firefox leave it as it is' }),
  target('braces', '/{a}', '/%7Ba%7D'),
  target('apostrophe-in-query', "/?q='a'", '/?q=%27a%27'),
  target('encoded-dots', '/a/%2e%2e/b', '/b'),
  target('two-slashes', '//a//b'),
  target('semicolon', '/a;jsessionid=1;b?c;d'),
  target('emoji', '/😀', '/%F0%9F%98%80'),
  target('backslashes', '/a\\b', '/a/b'),
  target('tab', '/a\tb', '/ab'),
  target('brackets-in-query', '/?a[]=1&b[c]=2'),
  target('quotes-in-query', '/?q="a"<b>', '/?q=%22a%22%3Cb%3E'),
  target('two-thousand', `/${'a'.repeat(2000)}`),

  redirected('upper-host', (asked, socket) => to(`http://${asked.host.toUpperCase()}/there`)(asked, socket)),
  redirected(
    'with-refresh',
    bytes('HTTP/1.1 301 Moved\r\nRefresh: 0;url=/elsewhere\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n'),
  ),
  redirected(
    'in-trailer',
    bytes(`HTTP/1.1 302 Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n0\r\nLocation: /there\r\n\r\n`),
    { expected: '302 ok' },
  ),
  // The last byte of à in UTF-8 is a space in latin1.
  redirected('grave-letter', bytes('HTTP/1.1 302 Found\r\nLocation: /citt\xc3\xa0\r\nContent-Length: 0\r\n\r\n'), {
    answer: ({ path, ...asked }, socket) =>
      (path === '/page'
        ? bytes('HTTP/1.1 302 Found\r\nLocation: /citt\xc3\xa0 \r\nContent-Length: 0\r\n\r\n')
        : path === '/citt%C3%A0'
          ? page()
          : MISSING)({ path, ...asked }, socket),
  }),
  redirected('grave-letter-in-cookie', page(), {
    answer: (asked, socket) =>
      (asked.cookie === 'where=citt\xc3\xa0' ? page() : to('/page', '302 Found', 'Set-Cookie: where=citt\xc3\xa0\r\n'))(
        asked,
        socket,
      ),
  }),
  redirected('growing-path', page(), {
    answer: (asked, socket) => (asked.path.length < 14 ? to(`${asked.path}a`) : page())(asked, socket),
  }),

  ...[416, 428, 444, 498, 508, 520, 561].map(says),
  further(
    'mixed-replace',
    `HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n${PAGE}\r\n--b--\r\n`,
  ),
  further(
    'archive-said-to-be-compressed',
    'HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello',
    { choice: 'Chromium downloads it' },
  ),
  further('status-in-lower-case-and-lf', `http/1.1 200 ok\ncontent-type: text/html\n\n${PAGE}`),
  further('header-without-name-value', `${HEAD}:\r\nContent-Length: ${PAGE.length}\r\n\r\n${PAGE}`),

  secure('chacha-alone', (certificates) => ({
    ...certificates.of('DNS:*.lab.test'),
    ciphers: 'TLS_CHACHA20_POLY1305_SHA256',
  })),
  secure('p-384-alone', (certificates) => ({ ...certificates.of('DNS:*.lab.test'), ecdhCurve: 'P-384' })),
  further('length-and-more', `${HEAD}Content-Length: 0\r\n\r\n${PAGE}`),
  further('chunked-said-twice', `${HEAD}${CHUNKED}${CHUNKED}${CHUNKS}`),
  further('chunked-after-identity', `${HEAD}Transfer-Encoding: identity, chunked\r\n${CHUNKS}`),
  further('chunked-between-tabs', `${HEAD}Transfer-Encoding:\tchunked\t\r\n${CHUNKS}`),
  further('chunked-misspelt', `${HEAD}Transfer-Encoding: xchunked\r\n\r\nhello`),
  further('chunk-of-plus-five', `${HEAD}${CHUNKED}${CHUNKS.replace('5', '+5')}`),
  further('chunk-cr-in-extension', `${HEAD}${CHUNKED}${CHUNKS.replace('5', '5;a\rb')}`),
  ...['+200', '200.0', '200-OK', '200OK', '-200'].map((status, n) =>
    further(`status-${n}`, WHOLE.replace('200 OK', status)),
  ),
  ...['HTTP/2', 'HTTP/10', 'HTTP /1.1', 'HTTP/1.1.1', 'S-HTTP/1.1', 'RTSP/1.0'].map((version, n) =>
    further(`version-${n}`, WHOLE.replace('HTTP/1.1', version)),
  ),
  further('lf-before-cr', WHOLE.replaceAll('\r\n', '\n\r')),
  further('ends-after-100', 'HTTP/1.1 100 Continue\r\n\r\n', { expected: '- unreachable connection_reset' }),
  // The hosts of a video site, and labels that no punycode has.
  ...['r3---sn-25ge7nsl', 'xn--ls8h', 'xn--a', 'xn--'].map((name): LabCase => {
    return {
      name,
      is_secure: true,
      tls: (certificates) => certificates.of('DNS:*.lab.test'),
      answer: page(),
      expected: '200 ok',
    };
  }),
];
