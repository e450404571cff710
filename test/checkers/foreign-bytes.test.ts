// Every parser of the checkers that reads foreign bytes: for any bytes it ends soon, with a result that keeps its promise.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import { decodeBody, decodeText, MAX_HTML_BYTES } from '../../checkers/engine/body.ts';
import { CookieJar } from '../../checkers/engine/cookies.ts';
import { parseHosts } from '../../checkers/engine/dns/system.ts';
import { fingerprint } from '../../checkers/engine/fingerprints.ts';
import { readSigns, similarity, sketch } from '../../checkers/engine/html.ts';
import { HeadReader } from '../../checkers/engine/lenient-client.ts';
import { refreshOf } from '../../checkers/engine/meta-refresh.ts';
import { notFoundSaying } from '../../checkers/engine/phrases.ts';
import { isChallengePage, PROTECTIONS, protectionOf } from '../../checkers/engine/protection.ts';
import { nextHop } from '../../checkers/engine/redirects.ts';
import { parseRetryAfter } from '../../checkers/engine/retries.ts';
import { folderOf, siblingOf, suspicionOf } from '../../checkers/engine/soft-404.ts';
import { parseProxy } from '../../checkers/proxies/endpoint.ts';
import { parseProxyList } from '../../checkers/proxies/read-list.ts';
import { requestSocks5 } from '../../checkers/proxies/socks5.ts';
import type { TunnelFailure } from '../../checkers/proxies/tunnel-failure.ts';
import { leastCpuMs } from '../support/cpu-time.ts';
import { bounded, hostileText } from '../support/hostile-text.ts';

/** Without shrinking, because each step of an endless case would wait for the whole limit. */
const RUNS = { numRuns: Number(process.env.FUZZ_RUNS ?? 200), endOnFailure: true };
const PAGE = new URL('https://a.example/shop/thing?id=7');

const HTML = [
  ...[
    '<title>',
    '</title>',
    '<TITLE',
    '<h1>',
    '<h2 class=',
    '</h1',
    '<body class="',
    '<BODY',
    '<!--',
    '-->',
    '>',
    '<',
    '"',
    "'",
  ],
  ...['<noscript', '</noscript', '<script>', '</script', '<svg ', '<a ', '</a ', '<nav>', '<meta ', '<META', '<head '],
  ...[
    'http-equiv=',
    'refresh',
    'Refresh',
    'REFRESH',
    'content=',
    '0;url=',
    '0; /z',
    'charset=',
    'iso-8859-9',
    'robots',
  ],
  ...[
    'noindex',
    'og:type"',
    '"@type":',
    '"page":"/404"',
    'prerender-status-code',
    '404',
    ' Not Found',
    'page',
    ' ',
    'ä',
  ],
  ...[
    '&amp;',
    '&#',
    '&#x110000;',
    '&#55296;',
    ';',
    '<input type=password',
    'not-found',
    'Access Denied',
    '|',
    ':',
    '"Seite',
  ],
];
const HEADER = [
  '=',
  ';',
  ',',
  ' ',
  '"',
  'a',
  'k=v',
  'Domain=',
  '.',
  'a.example',
  'Path=/',
  'Max-Age=',
  '-',
  '0',
  '9',
  'Expires=',
];
const URLS = [
  'http:',
  'https:',
  '//',
  '/',
  '?',
  '#',
  '@',
  ':',
  '[',
  ']',
  '::1',
  '%',
  '%2f',
  '\\',
  '..',
  'a.example',
  '8080',
  ...HEADER,
];

/** Runs every step that the engine runs on a page. */
function judge(html: string): void {
  const signs = readSigns(html);
  for (const { at } of signs.headings) if (html[at] !== '<') throw new Error(`no heading begins at ${at}`);
  const target = refreshOf(html, undefined, PAGE);
  if (target !== null && !/^https?:/.test(target)) throw new Error(`a page cannot lead to ${target}`);
  const { points } = suspicionOf(html, signs, PAGE, new URL('/', PAGE), true);
  if (!Number.isInteger(points)) throw new Error(`${points} points`);
  if (fingerprint(signs, html.length) >>> 0 !== fingerprint(signs, html.length)) throw new Error('no fingerprint');
  isChallengePage(html);
  const page = sketch(html, PAGE.href);
  if (similarity(page, page) !== 1) throw new Error('a page is like itself');
}

test('the search ends for a page whose text is longer in lower case', (t) => {
  bounded(() => judge('<title>İİİİİİ</title><p>refresh</p><meta>'));
  t.pass();
});

test('any page gets a verdict', (t) => {
  fc.assert(
    fc.property(hostileText(HTML), (html) => bounded(() => judge(`<p>refresh${html}`))),
    RUNS,
  );
  t.pass();
});

test('any body decodes within its bound', (t) => {
  const encodings = fc.oneof(
    hostileText(['gzip', 'br', 'zstd', 'deflate', ',', ' ']),
    fc.constantFrom('gzip', 'br', 'zstd'),
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }).map((body) => Buffer.from(body)),
    hostileText(HTML).map((html) => Buffer.from(html)),
    fc.uint8Array({ maxLength: 500 }).map((body) => Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), body])),
  );
  fc.assert(
    fc.property(
      bytes,
      encodings,
      hostileText(['text/html', 'charset=', ';', 'utf-16', 'windows-1254']),
      (body, encoding, type) => {
        const decoded = bounded(() => decodeBody(body, encoding));
        const text = bounded(() => decodeText(decoded ?? body, type));
        return (decoded?.length ?? 0) <= MAX_HTML_BYTES && typeof text === 'string';
      },
    ),
    RUNS,
  );
  t.pass();
});

test('any cookies leave a valid header', (t) => {
  fc.assert(
    fc.property(fc.array(hostileText(HEADER)), hostileText(HEADER), (headers, path) => {
      const jar = new CookieJar();
      const url = new URL('https://www.a.example/');
      url.pathname = path;
      const header = bounded(() => {
        jar.store(url, headers, 0);
        return jar.header(url, 0);
      });
      // The characters that a request header may hold.
      return header === null || !/[^\t\x20-\x7e\x80-\xff]/.test(header);
    }),
    RUNS,
  );
  t.pass();
});

test('any Location leads to an http(s) URL without a user, or to nothing', (t) => {
  fc.assert(
    fc.property(hostileText(URLS), (location) => {
      const next = bounded(() => nextHop(PAGE, location));
      if (!next.ok) return true;
      const { protocol, username, password } = next.url;
      return (protocol === 'http:' || protocol === 'https:') && username + password === '';
    }),
    RUNS,
  );
  t.pass();
});

test('any Retry-After gives a time to wait, or none', (t) => {
  const header = hostileText(['120', '-', '9'.repeat(9), 'Wed, 01 Jan 2020', ' 00:00:00 GMT', ' ', '(', 'Z', '+9999']);
  fc.assert(
    fc.property(header, (value) => {
      const wait_ms = bounded(() => parseRetryAfter(value, 0));
      return wait_ms === null || (Number.isFinite(wait_ms) && wait_ms >= 0);
    }),
    RUNS,
  );
  t.pass();
});

test('any URL has a folder and a sibling in it', (t) => {
  fc.assert(
    fc.property(hostileText(URLS), fc.double({ min: 0, max: 0.999, noNaN: true }), (text, random) => {
      const url = URL.parse(text, 'https://a.example/b/');
      if (url === null || !url.protocol.startsWith('http')) return true;
      return bounded(() => folderOf(url) !== '' && siblingOf(url, random).origin === url.origin);
    }),
    RUNS,
  );
  t.pass();
});

test('any refusal shows the marks of a known product, or none', (t) => {
  fc.assert(
    fc.property(hostileText(['captcha', 'Access denied | ', '<title>', 'Cloudflare', ...HTML]), (body) => {
      const protection = bounded(() => protectionOf(403, { server: body }, body));
      return protection === null || PROTECTIONS.includes(protection);
    }),
    RUNS,
  );
  t.pass();
});

test('the reader reads any head of an answer in pieces as it does in one', (t) => {
  const bytes = hostileText(['HTTP/1.1 ', '200', '100', '\r\n', '\n', '\r', ':', 'content-length: 1', ' folded', 'İ']);
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 40 }), (text, size) => {
      const all = Buffer.from(text);
      const whole = bounded(() => new HeadReader().read(all));
      const reader = new HeadReader();
      let found: ReturnType<HeadReader['read']> = 'more';
      for (let at = 0; at < all.length && found === 'more'; at += size) {
        found = bounded(() => reader.read(all.subarray(at, at + size)));
      }
      t.deepEqual(found, all.length === 0 ? 'more' : whole);
    }),
    RUNS,
  );
  t.pass();
});

test('the parser names the proxies and the bad lines of any list', (t) => {
  fc.assert(
    fc.property(
      hostileText(['http://', 'socks5://', 'user:pass@', 'p.example', ':1080', '\n', '#', '[::1]', '%zz']),
      (text) => {
        const { proxies, bad } = bounded(() => parseProxyList(text));
        t.true(proxies.length + bad.length <= text.split('\n').length);
        for (const { address } of proxies) t.not(parseProxy(address), null);
      },
    ),
    RUNS,
  );
});

test('any answer of a SOCKS5 proxy ends the handshake once, or needs more bytes', (t) => {
  const endpoint = parseProxy('socks5://user:pass@127.0.0.1:1080')!;
  const message = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .constantFrom([5, 2], [5, 0], [1, 0], [5, 0, 0, 1, 1, 2, 3, 4, 0, 80], [5, 0, 0, 3, 255], [5, 5])
      .map((it) => Uint8Array.from(it)),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
      const socket = Object.assign(new EventEmitter(), { write() {}, destroy() {}, unshift() {} });
      const ends: (TunnelFailure | null)[] = [];
      requestSocks5(socket as unknown as Socket, endpoint, '1.2.3.4', 80, (failure) => ends.push(failure));
      bounded(() => {
        for (const bytes of messages) socket.emit('data', Buffer.from(bytes));
        socket.emit('close');
      });
      t.is(ends.length, 1);
    }),
    RUNS,
  );
});

test('any hosts file gives addresses for its names', (t) => {
  fc.assert(
    fc.property(hostileText(['127.0.0.1', '::1', ' ', '\t', '\n', '#', 'Name']), (text) => {
      for (const addresses of bounded(() => parseHosts(text)).values()) t.true(addresses.length > 0);
    }),
    RUNS,
  );
  t.pass();
});

/** Pieces whose repetition may make a parser read the same bytes again and again. */
const REPEATED = [
  ...HTML,
  ...HTML.map((piece) => `${piece} `),
  '<meta http-equiv=',
  '<title>Service unavailable</title>',
  'charset ',
  'İ',
];
const SHORT = 16 * 1024;

function costs(work: (text: string) => unknown, piece: string): { short_ms: number; long_ms: number } {
  const text = (length: number) => `<meta refresh ${piece.repeat(Math.ceil(length / piece.length))}`.slice(0, length);
  const [short, long] = [text(SHORT), text(4 * SHORT)];
  return {
    short_ms: leastCpuMs(() => bounded(() => work(short))),
    long_ms: leastCpuMs(() => bounded(() => work(long))),
  };
}

const PARSERS: readonly [what: string, work: (text: string) => unknown][] = [
  ['a page', judge],
  ['the marks of a challenge', (text) => protectionOf(403, {}, text)],
  ['a charset', (text) => decodeText(Buffer.from(text), text)],
  ['a title', (text) => notFoundSaying(text.slice(0, 300))],
  ['a Location', (text) => nextHop(PAGE, text)],
  ['cookies', (text) => new CookieJar().store(PAGE, [text, text], 0)],
  ['a Retry-After', (text) => parseRetryAfter(text, 0)],
  ['a list of proxies', parseProxyList],
  ['a hosts file', parseHosts],
  ['a head', (text) => new HeadReader().read(Buffer.from(text.slice(0, 60_000)))],
];
for (const [what, work] of PARSERS) {
  test(`the cost of reading ${what} grows in proportion to its length`, (t) => {
    for (const piece of REPEATED) {
      const { short_ms, long_ms } = costs(work, piece);
      // Four times as long: sixteen times the cost is quadratic. Some milliseconds are the clock's own.
      t.true(long_ms < 9 * short_ms + 10, `${JSON.stringify(piece)}: ${short_ms} ms, four times as long ${long_ms} ms`);
    }
  });
}
