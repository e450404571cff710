// What servers answer besides what they should, in bytes: statuses of all kinds, bodies that are not what they say,
// headers that no rule allows, and connections that break at each stage. For `startTestSite`.
import zlib from 'node:zlib';
import { reset } from './reset.ts';
import { type Behaviour, drip, html, page, raw, reply, to } from './test-site.ts';

const PAGE = html('Welcome to the shop', 'Things to buy');
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
const WHOLE = `${HEAD}Content-Length: 2\r\n\r\nok`;

/** An answer of one write, by which its connection ends. */
const last = (text: string): Behaviour => raw(text, (socket) => socket.end());
/** An answer whose beginning goes out before the connection breaks. */
const broken = (text: string): Behaviour => raw(text, (socket) => setImmediate(() => reset(socket)));
/** An answer that comes a byte at a time. */
const dribbled = (text: string, every_ms: number): Behaviour => {
  return (_request, socket) => {
    const bytes = Buffer.from(text, 'latin1');
    let sent = 0;
    const timer = setInterval(() => {
      if (sent < bytes.length) socket.write(bytes.subarray(sent, ++sent));
      else clearInterval(timer);
    }, every_ms);
    socket.once('close', () => clearInterval(timer));
  };
};
const encoded = (encoding: string, body: Buffer): Behaviour => {
  return (_request, socket) => page(socket, body, { 'Content-Encoding': encoding });
};
const headers = (lines: string): Behaviour => raw(`${HEAD}${lines}Content-Length: 2\r\n\r\nok`);

export const ODD_ANSWERS: { readonly [path: string]: Behaviour } = {
  '/status/*': (request, socket) => {
    const status = request.path.slice('/status/'.length);
    const body = status === '204' || status === '304' ? '' : 'Content-Length: 0\r\n';
    raw(`HTTP/1.1 ${status} Odd\r\n${body}\r\n`)(request, socket);
  },
  '/to-status/*': (request, socket) => {
    const status = Number(request.path.slice('/to-status/'.length));
    to(`/fine?${status}`, status)(request, socket);
  },
  '/continue': raw(`HTTP/1.1 100 Continue\r\n\r\n${WHOLE}`),
  '/processing': raw(`HTTP/1.1 102 Processing\r\n\r\n${WHOLE}`),
  '/hints': raw(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n${WHOLE}`),
  '/only-hints': raw('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
  '/endless-hints': (_request, socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 5),
  '/switch': raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
  '/offers-upgrade': headers('Upgrade: h2,h2c\r\nConnection: Upgrade, Keep-Alive\r\n'),
  '/no-reason': raw('HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n'),
  '/lower-case': raw('http/1.1 200 ok\r\nContent-Length: 0\r\n\r\n'),
  '/four-digits': last('HTTP/1.1 2000 OK\r\n\r\n'),
  '/two-digits': last('HTTP/1.1 20 OK\r\n\r\n'),
  '/icy': last('ICY 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n'),
  '/ssh': last('SSH-2.0-OpenSSH_9.6\r\n'),
  '/http-0.9': last(PAGE),
  '/http-2.0': last('HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'),
  '/http-1.0': last(`HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${PAGE.length}\r\n\r\n${PAGE}`),
  '/http-1.0-until-close': last(`HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n${PAGE}`),
  '/http-1.0-keep-alive': raw('HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok'),
  '/close': last(`${HEAD}Connection: close\r\nContent-Length: 2\r\n\r\nok`),
  '/close-and-break': broken(`${HEAD}Connection: close\r\nContent-Length: 2\r\n\r\nok`),
  '/404-until-close': last('HTTP/1.0 404 Not Found\r\n\r\nnothing here'),

  '/gzip-br': encoded('gzip, br', zlib.brotliCompressSync(zlib.gzipSync(PAGE))),
  '/gzip-thrice': encoded('gzip, gzip, gzip', zlib.gzipSync(zlib.gzipSync(zlib.gzipSync(PAGE)))),
  '/unknown-encoding': encoded('rot13', Buffer.from(PAGE)),
  '/empty-encoding': encoded('', Buffer.from(PAGE)),
  '/br-called-gzip': encoded('gzip', zlib.brotliCompressSync(PAGE)),
  '/gzip-called-nothing': (_request, socket) => page(socket, zlib.gzipSync(PAGE)),
  '/gzip-empty': encoded('gzip', Buffer.alloc(0)),
  '/gzip-cut': encoded('gzip', zlib.gzipSync(PAGE).subarray(0, 40)),
  '/br-bomb': encoded(
    'br',
    zlib.brotliCompressSync(Buffer.alloc(100_000_000), { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }),
  ),
  '/zstd-bomb': encoded('zstd', zlib.zstdCompressSync(Buffer.alloc(100_000_000))),
  '/soft-utf16/*': (_request, socket) =>
    reply(
      socket,
      200,
      { 'Content-Type': 'text/html' },
      Buffer.from(`\ufeff${html('Page not found | Shop', 'Page not found')}`, 'utf16le'),
    ),
  '/soft-untyped/*': (_request, socket) => reply(socket, 200, {}, html('Page not found | Shop', 'Page not found')),
  '/untyped': (_request, socket) => reply(socket, 200, {}, 'Page not found. <title>Page not found</title>'),
  '/soft-gzip/*': encoded('gzip', zlib.gzipSync(html('Page not found | Shop', 'Page not found'))),
  '/soft-br/*': encoded('br', zlib.brotliCompressSync(html('Page not found | Shop', 'Page not found'))),
  '/soft-zstd/*': encoded('zstd', zlib.zstdCompressSync(html('Page not found | Shop', 'Page not found'))),

  '/bad-chunk-size': last(`${HEAD}Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n`),
  '/bad-chunk-end': last(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello there\r\n0\r\n\r\n`),
  '/chunks-without-end': last(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`),
  '/huge-chunk': last(`${HEAD}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\nhello`),
  '/chunked-and-length': last(`${HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
  '/trailers': raw(`${HEAD}Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n`),
  '/length-twice': last(`${HEAD}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`),
  '/lengths-differ': last(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`),
  '/lengths-differ-chunked': last(
    `${HEAD}Content-Length: 2\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
  ),
  '/length-negative': last(`${HEAD}Content-Length: -5\r\n\r\nok`),
  '/length-huge': last(`${HEAD}Content-Length: 99999999999999999999999\r\n\r\nok`),
  '/length-zero-body': raw(`${HEAD}Content-Length: 0\r\n\r\nand yet there is something`),
  '/204-body': raw('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello'),
  '/304-body': raw('HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello'),

  '/header-nul': headers('X-Odd: a\0b\r\n'),
  '/header-latin1': headers('X-Odd: caf\xe9 \xff\r\n'),
  '/header-control': headers('X-Odd: a\x07b\r\n'),
  '/header-tab': headers('X-Odd:\ta\tb\t\r\n'),
  '/header-folded': headers('X-Odd: one\r\n two\r\n'),
  '/header-name-space': headers('X Odd: one\r\n'),
  '/header-without-name': headers(': one\r\n'),
  '/header-without-colon': headers('nonsense\r\n'),
  '/header-bare-lf': last('HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 2\n\nok'),
  '/header-bare-cr': headers('X-Odd: a\rb\r\n'),
  '/redirect-malformed': last('HTTP/1.1 302 Found\nX Odd: 1\nLocation: /fine\n\n'),
  '/404-malformed': last('HTTP/1.1 404 Not Found\r\nX Odd: 1\r\n\r\n'),
  '/many-headers': headers(Array.from({ length: 2000 }, (_, i) => `X-${i}: 1\r\n`).join('')),
  '/head-70k': raw(`${HEAD}${`Set-Cookie: a=${'x'.repeat(3500)}\r\n`.repeat(20)}Content-Length: 2\r\n\r\nok`),
  '/head-250k': raw(`${HEAD}${`X-Long: ${'x'.repeat(8000)}\r\n`.repeat(31)}Content-Length: 2\r\n\r\nok`),
  '/cr-cr-lf': last(`${HEAD}Content-Length: 2\r\n\r\nok`.replaceAll('\r\n', '\r\r\n')),
  '/cr-cr-lf-alive': raw(`${HEAD}Content-Length: 2\r\n\r\nok`.replaceAll('\r\n', '\r\r\n')),
  '/head-ends-with-line': last(HEAD),
  '/redirect-ends-with-line': last('HTTP/1.0 302 Found\r\nLocation: /fine\r\n'),
  '/redirect-ends-in-line': last('HTTP/1.0 302 Found\r\nLocation: /fine'),
  '/404-ends-in-status': last('HTTP/1.0 404 Not Found'),
  '/no-code': last(`HTTP/1.1 OK\r\nContent-Type: text/html\r\n\r\n${PAGE}`),
  '/no-code-and-no-reason': last(`HTTP/1.1\r\nContent-Type: text/html\r\n\r\n${PAGE}`),
  '/no-version': last(`HTTP 200 OK\r\nContent-Type: text/html\r\n\r\n${PAGE}`),
  '/bom': last(`\xef\xbb\xbf${WHOLE}`),
  '/soft-bom/*': last(`\xef\xbb\xbf${HEAD}\r\n${html('Page not found | Shop', 'Page not found')}`),
  '/blank-lines-first': last(`\r\n\r\n\n${WHOLE}`),
  '/odd-challenge': last(`\xef\xbb\xbfHTTP/1.1 403 No\r\n\r\n<title>Just a moment...</title>`),
  '/endless-headers': (_request, socket) => {
    socket.write(HEAD);
    drip(socket, `X-More: ${'and more '.repeat(1000)}\r\n`, 1);
  },
  '/endless-header': (_request, socket) => {
    socket.write(`${HEAD}X-Long: `);
    drip(socket, 'and more '.repeat(1000), 1);
  },
  '/type-odd': headers('Content-Type: nonsense/////;;;=\r\n'),
  '/two-locations': raw('HTTP/1.1 302 Found\r\nLocation: /fine\r\nLocation: /404\r\nContent-Length: 0\r\n\r\n'),

  '/no-location-page': (_request, socket) => page(socket, PAGE, {}, 308),
  '/location-empty-page': (_request, socket) => page(socket, PAGE, { Location: '' }, 302),
  '/first-location-empty': raw('HTTP/1.1 302 Found\r\nLocation:\r\nLocation: /fine\r\nContent-Length: 0\r\n\r\n'),
  '/self-once': (request, socket) => (request.visit === 1 ? to('/self-once')(request, socket) : page(socket, PAGE)),
  '/self-five-times': (request, socket) =>
    request.visit <= 5 ? to('/self-five-times')(request, socket) : page(socket, PAGE),
  '/there': (request, socket) => (request.visit === 1 ? to('/and-back')(request, socket) : page(socket, PAGE)),
  '/and-back': to('/there'),
  '/location-gbk': to('/fine?\xd6\xd0\xce\xc4'),
  '/location-empty': to(''),
  '/location-blank': to('   '),
  '/location-spaces': to('/fine?a b c'),
  '/location-latin1': to('/fine?gr\xf6\xdfe'),
  '/location-utf8': to(Buffer.from('/fine?größe').toString('latin1')),
  '/location-protocol-relative': (request, socket) =>
    reply(socket, 302, { Location: `//${request.headers.host}/fine` }),
  '/location-backslash': (request, socket) => reply(socket, 302, { Location: `\\\\${request.headers.host}\\fine` }),
  '/location-dots': to('/a/b/../../../fine'),
  '/location-fragment-only': to('#top'),
  '/location-query-only': to('?once'),
  '/location-query-only?once': (_request, socket) => page(socket, PAGE),
  '/location-user': (request, socket) =>
    reply(socket, 302, { Location: `http://u:p@${request.headers.host}/no-secrets` }),
  '/location-long': to(`/fine?${'x'.repeat(8000)}`),
  '/to-ftp': to('ftp://example.com/'),
  '/to-javascript': to('javascript:alert(1)'),
  '/to-data': to('data:text/html,hello'),
  '/to-file': to('file:///etc/passwd'),
  '/to-about': to('about:blank'),
  '/to-app': to('intent://scan/#Intent;scheme=zxing;end'),
  '/to-port-0': to('http://127.0.0.1:0/'),
  '/to-port-99999': to('http://127.0.0.1:99999/'),
  '/to-ipv4-mapped': to('http://[::ffff:10.0.0.1]/'),
  '/to-decimal': to('http://2852039166/latest/meta-data/'),
  '/redirect-endless': raw('HTTP/1.1 302 Found\r\nLocation: /fine\r\n\r\n', (s) => drip(s, 'x'.repeat(16_384), 1)),
  '/redirect-silent-body': raw('HTTP/1.1 302 Found\r\nLocation: /fine\r\nContent-Length: 10\r\n\r\n'),
  '/redirect-broken-body': broken('HTTP/1.1 302 Found\r\nLocation: /fine\r\nContent-Length: 10\r\n\r\nab'),
  '/redirect-close': last('HTTP/1.1 301 Moved\r\nLocation: /fine\r\nConnection: close\r\n\r\n'),
  '/meta-refresh': (_request, socket) =>
    page(socket, `<meta http-equiv="refresh" content="0; url=/404"><title>Moving</title>${PAGE}`),
  '/refresh-header': headers('Refresh: 0; url=/404\r\n'),
  '/slash': to('/slash/', 301),
  '/slash/': to('/slash', 301),
  '/cookie-wall': (request, socket) => {
    if (/\bconsent=yes\b/.test(request.headers.cookie ?? '')) page(socket, PAGE);
    else reply(socket, 302, { Location: '/cookie-wall/ask', 'Set-Cookie': 'wall=1; Path=/' });
  },
  '/cookie-wall/ask': (request, socket) => {
    const asked = /\bwall=1\b/.test(request.headers.cookie ?? '');
    reply(
      socket,
      302,
      asked ? { Location: '/cookie-wall', 'Set-Cookie': 'consent=yes; Path=/' } : { Location: '/404' },
    );
  },

  '/no-secrets': (request, socket) => {
    if (request.headers.authorization === undefined) page(socket, PAGE);
    else reply(socket, 418, {});
  },
  '/odd/*': (_request, socket) => page(socket, PAGE),

  '/reset-after-status': broken('HTTP/1.1 200 OK\r\n'),
  '/reset-before-blank-line': broken(`${HEAD}Content-Length: 2\r\n`),
  '/reset-in-length-body': broken(`${HEAD}Content-Length: 900\r\n\r\n<p>`),
  '/reset-in-chunk': broken(`${HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\n<p>`),
  '/hang-up-in-headers': last('HTTP/1.1 200 OK\r\nContent-Ty'),
  '/hang-up-in-body': last(`${HEAD}Content-Length: 900\r\n\r\n<p>`),
  '/dribbled-status': dribbled(WHOLE, 40),
  '/dribbled-body': (request, socket) => {
    socket.write(`${HEAD}Content-Length: 100000\r\n\r\n`);
    dribbled('x'.repeat(100_000), 10)(request, socket);
  },
  '/dribbled-chunks': (request, socket) => {
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    dribbled('1\r\nx\r\n'.repeat(10_000), 10)(request, socket);
  },
  '/dribbled-redirect': dribbled('HTTP/1.1 302 Found\r\nLocation: /fine\r\nContent-Length: 0\r\n\r\n', 20),
  '/stalled-404': raw('HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<title>No'),
  '/stalled-403': raw('HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<title>No'),
};
