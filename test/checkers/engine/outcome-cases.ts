// What a server may do, and the outcome that it has to have: a row a case, each with a host name of its own.
import type { Outcome } from '../../../events/checks.ts';

export interface Case {
  what: string;
  /** A path at the case's own host on the site; or a URL in which `{host}` and the ports in braces are filled in. */
  ask: string;
  /** URLs in it may be paths at that host, or have the same braces. */
  expected: Partial<Outcome>;
  timeout_ms: number;
  /** How often it is asked for, one after another: the last outcome counts. */
  times: number;
}
export type Section = readonly [title: string, cases: readonly Case[]];

/** A third of it is a body's, two thirds a connection's: long enough that nothing else takes as long. */
export const USUAL_MS = 15_000;
/** For bodies that do not end. */
const BODY_MS = 6000;
/** For headers and handshakes that do not come. */
const SILENCE_MS = 300;

function row(what: string, ask: string, expected: Partial<Outcome>, timeout_ms = USUAL_MS, times = 1): Case {
  return { what, ask, expected, timeout_ms, times };
}
const each = (asks: readonly (string | number)[], make: (ask: string) => Case): Case[] => asks.map((a) => make(`${a}`));

const ok = {
  status_code: 200,
  verdict: 'ok',
  is_broken: false,
  is_soft_404: false,
  error_code: null,
  attempts: 1,
} as const;
const redirected = { ...ok, verdict: 'redirected' } as const;
const broken = { verdict: 'broken', is_broken: true, is_soft_404: false, error_code: null } as const;
const blocked = { verdict: 'blocked', is_broken: true, attempts: 1 } as const;
const failed = { verdict: 'unreachable', is_broken: true, is_soft_404: false } as const;
const silent = { ...failed, status_code: null, final_url: null, response_time_ms: null, content_type: null } as const;
const reset = { ...silent, error_code: 'connection_reset', attempts: 3 } as const;
const malformed = { ...silent, error_code: 'malformed_response', attempts: 1 } as const;
const soft = { status_code: 200, verdict: 'soft_404', is_broken: false, is_soft_404: true } as const;
const astray = { ...failed, status_code: 302, error_code: 'invalid_redirect', attempts: 1 } as const;
const refused = { ...failed, error_code: 'blocked_address', attempts: 1 } as const;
const invalid = { ...silent, error_code: 'invalid_url', attempts: 1 } as const;

export const SECTIONS: readonly Section[] = [
  [
    'pages',
    [
      row('a page', '/fine', { ...ok, redirect_chain: [], content_type: 'text/html; charset=utf-8', protection: null }),
      row('the root', '/', ok),
      row('a chunked body', '/chunked', ok),
      row('a body until the connection closes', '/until-close', ok),
      row('an image', '/image', { ...ok, content_type: 'image/png' }),
      row('an image too big to read', '/big-image', ok),
      row('an endless image', '/endless-image', ok),
      row('an endless page', '/endless', ok),
      row('a body that stalls', '/stalled-body', ok, BODY_MS),
      row('a body that drips', '/slow-body', ok, BODY_MS),
      row('a body of a byte at a time', '/dribbled-body', ok, BODY_MS),
      row('chunks of a byte at a time', '/dribbled-chunks', ok, BODY_MS),
      row('headers of a byte at a time, in time', '/dribbled-status', ok),
      row('HTTP/1.0 with a length', '/http-1.0', ok, USUAL_MS, 3),
      row('HTTP/1.0 without a length', '/http-1.0-until-close', ok, USUAL_MS, 3),
      row('HTTP/1.0 that keeps the connection', '/http-1.0-keep-alive', ok, USUAL_MS, 3),
      row('a server that closes each connection', '/close', ok, USUAL_MS, 3),
      row('a server that breaks each connection when it is done', '/close-and-break', ok, USUAL_MS, 3),
      row('a connection closed between two requests', '/fine-then-reset', ok, USUAL_MS, 3),
      row('a 404 of HTTP/1.0', '/404-until-close', { ...broken, status_code: 404, attempts: 1 }, USUAL_MS, 3),
      row('no reason phrase', '/no-reason', ok),
      row('an offer to upgrade', '/offers-upgrade', ok),
      row('a page that refreshes to another', '/meta-refresh', { ...ok, redirect_chain: [], meta_refresh: '/404' }),
      row('a Refresh header', '/refresh-header', { ...ok, redirect_chain: [], meta_refresh: '/404' }),
      row('a content type of nonsense', '/type-odd', ok),
    ],
  ],
  [
    'statuses',
    [
      ...each([200, 201, 202, 203, 205, 206, 207, 226, 299], (status) =>
        row(status, `/status/${status}`, { ...ok, status_code: Number(status) }),
      ),
      row('204', '/status/204', { ...ok, status_code: 204, content_type: null }),
      row('204 with a body all the same', '/204-body', { ...ok, status_code: 204 }, USUAL_MS, 3),
      row('100 before the answer', '/continue', ok, USUAL_MS, 2),
      row('102 before the answer', '/processing', ok),
      row('103 before the answer', '/early-hints', ok),
      row('103 twice before the answer', '/hints', ok),
      row('103 and no more', '/only-hints', { ...silent, error_code: 'response_timeout', attempts: 3 }, SILENCE_MS),
      row('103 for ever', '/endless-hints', { ...silent, error_code: 'response_timeout', attempts: 3 }, SILENCE_MS),
      row('101 that nobody asked for', '/switch', malformed),
      row('300', '/status/300', { ...ok, status_code: 300 }),
      row('304 that nobody asked for', '/status/304', { ...ok, status_code: 304 }),
      row('304 with a body all the same', '/304-body', { ...ok, status_code: 304 }, USUAL_MS, 3),
      row('305', '/to-status/305', { ...ok, status_code: 305, redirect_chain: [] }),
      row('306', '/to-status/306', { ...ok, status_code: 306, redirect_chain: [] }),
      ...each(
        [
          400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423,
          425, 426, 428, 431, 444, 451, 498, 499,
        ],
        (status) => row(status, `/status/${status}`, { ...broken, status_code: Number(status), attempts: 1 }),
      ),
      ...each([500, 501, 505, 506, 507, 508, 510, 511, 520, 521, 522, 523, 524, 525, 526, 530, 599], (status) =>
        row(status, `/status/${status}`, { ...broken, status_code: Number(status), attempts: 1 }),
      ),
      ...each([429, 502, 503, 504], (status) =>
        row(`${status} to the end`, `/status/${status}`, { ...broken, status_code: Number(status), attempts: 3 }),
      ),
      row('503 once', '/503-once', { ...ok, attempts: 2 }),
      row('429 twice', '/429-twice', { ...ok, attempts: 3 }),
      row('999', '/999', { ...blocked, status_code: 999, protection: 'linkedin' }),
      ...each([600, 700, 998], (status) =>
        row(status, `/status/${status}`, { ...broken, status_code: Number(status), attempts: 1 }),
      ),
      ...each(['000', '001', '099'], (status) => row(status, `/status/${status}`, malformed)),
      row('a status of four digits', '/four-digits', malformed),
      row('a status of two digits', '/two-digits', malformed),
      row('401 with a challenge', '/401', { ...broken, status_code: 401, attempts: 1 }),
      row('a 404 whose body stalls', '/stalled-404', { ...broken, status_code: 404 }, BODY_MS),
      row('a 403 whose body stalls', '/stalled-403', { ...broken, status_code: 403 }, BODY_MS),
    ],
  ],
  [
    'bot protection',
    [
      row('403 without marks', '/403', { ...broken, status_code: 403, protection: null }),
      row('a challenge by header', '/challenge', { ...blocked, status_code: 403, protection: 'cloudflare' }),
      row('a compressed challenge', '/challenge-gzip', { ...blocked, status_code: 403, protection: 'datadome' }),
      row('a challenge as 503', '/challenge-503', { ...blocked, status_code: 503, protection: 'cloudflare' }),
    ],
  ],
  [
    'redirects',
    [
      ...each([301, 302, 303, 307, 308], (status) =>
        row(status, `/to-status/${status}`, {
          ...redirected,
          redirect_chain: [`/fine?${status}`],
          final_url: `/fine?${status}`,
        }),
      ),
      row('three redirects', '/hop-3', { ...redirected, redirect_chain: ['/hop-2', '/hop-1', '/fine'] }),
      row('twenty redirects', '/count/20', { ...redirected, final_url: '/count/0' }),
      row('twenty-one redirects', '/count/21', { ...failed, status_code: 302, error_code: 'too_many_redirects' }),
      row('a relative Location', '/relative/a', { ...redirected, final_url: '/fine' }),
      row('a Location with dots', '/location-dots', { ...redirected, final_url: '/fine' }),
      row('a Location without a scheme', '/location-protocol-relative', { ...redirected, final_url: '/fine' }),
      row('a Location with backslashes', '/location-backslash', { ...redirected, final_url: '/fine' }),
      row('a Location that is a query', '/location-query-only', {
        ...redirected,
        final_url: '/location-query-only?once',
      }),
      row('a Location with a fragment', '/fragment', { ...redirected, final_url: '/fine#part' }),
      row('a fragment kept over a redirect', '/once#here', { ...redirected, final_url: '/fine#here' }),
      row('a Location that is only a fragment', '/location-fragment-only', { ...failed, error_code: 'redirect_loop' }),
      row('a Location with spaces', '/location-spaces', { ...redirected, final_url: '/fine?a%20b%20c' }),
      row('a Location in UTF-8', '/location-utf8', { ...redirected, final_url: '/fine?gr%C3%B6%C3%9Fe' }),
      row('a Location in latin1', '/location-latin1', { ...redirected, final_url: '/fine?gr%C3%B6%C3%9Fe' }),
      row('a Location of 8,000 characters', '/location-long', redirected),
      row('two Locations: the first', '/two-locations', { ...redirected, final_url: '/fine' }),
      row('a Location with a user and a password', '/location-user', { ...redirected, final_url: '/no-secrets' }),
      row('no Location', '/no-location', { ...astray, status_code: 301 }),
      row('an empty Location', '/location-empty', astray),
      row('a blank Location', '/location-blank', astray),
      row('a Location that is no URL', '/to-nonsense', astray),
      row('a port that is none', '/to-port-99999', astray),
      row('to mail', '/to-mail', astray),
      row('to ftp', '/to-ftp', astray),
      row('to javascript', '/to-javascript', astray),
      row('to data', '/to-data', astray),
      row('to a file', '/to-file', astray),
      row('to about:blank', '/to-about', astray),
      row('to an app', '/to-app', astray),
      row('to itself', '/loop', { ...failed, status_code: 302, error_code: 'redirect_loop' }),
      row('a loop of two', '/loop-a', { ...failed, status_code: 302, error_code: 'redirect_loop' }),
      row('a slash more and a slash less', '/slash', { ...failed, status_code: 301, error_code: 'redirect_loop' }),
      row('to itself with a cookie', '/cookie', { ...redirected, redirect_chain: ['/cookie'] }),
      row('to a page that asks for a cookie, and back', '/cookie-wall', {
        ...redirected,
        redirect_chain: ['/cookie-wall/ask', '/cookie-wall'],
        final_url: '/cookie-wall',
      }),
      row('a secure cookie over http', '/cookie-secure', { ...failed, error_code: 'redirect_loop' }),
      row('a new cookie each time', '/cookie-count', { ...failed, error_code: 'too_many_redirects' }),
      row('http to https to http', '/to-tls', {
        ...redirected,
        redirect_chain: ['https://localhost:{tls}/to-plain', 'http://localhost:{plain}/fine'],
        final_url: 'http://localhost:{plain}/fine',
      }),
      row('https to http', 'https://localhost:{tls}/to-plain', {
        ...redirected,
        final_url: 'http://localhost:{plain}/fine',
      }),
      row('to a certificate that has expired', '/to-expired', {
        ...failed,
        status_code: 302,
        error_code: 'tls_expired',
      }),
      row('to a port on which nobody listens', '/to-nobody', {
        ...failed,
        status_code: 302,
        error_code: 'connection_refused',
      }),
      row('to a name that does not exist', '/to-dead', { ...failed, status_code: 302, error_code: 'dns_not_found' }),
      row('to a private address', '/to-private', { ...refused, status_code: 302, final_url: '/to-private' }),
      row('to cloud metadata', '/to-metadata', { ...refused, status_code: 302 }),
      row('to cloud metadata as a number', '/to-decimal', { ...refused, status_code: 302 }),
      row('to a private address in IPv6', '/to-ipv4-mapped', { ...refused, status_code: 302 }),
      row('to a 404', '/to-404', { ...broken, status_code: 404, final_url: '/404' }),
      row('with a body that does not end', '/redirect-endless', redirected),
      row('with a body that does not come', '/redirect-silent-body', redirected, BODY_MS),
      row('with a body that breaks off', '/redirect-broken-body', redirected),
      row('by which the connection closes', '/redirect-close', redirected),
      row('a byte at a time', '/dribbled-redirect', redirected),
    ],
  ],
  [
    'bodies',
    [
      row('gzip', '/gzip', ok),
      row('brotli', '/br', ok),
      row('zstd', '/zstd', ok),
      row('deflate', '/deflate', ok),
      row('raw deflate', '/raw-deflate', ok),
      row('a soft 404 in UTF-16', '/soft-utf16/a', soft),
      row('a soft 404 without a Content-Type', '/soft-untyped/a', soft),
      row('something else without a Content-Type', '/untyped', { ...ok, content_type: null }),
      row('a soft 404 in gzip', '/soft-gzip/a', soft),
      row('a soft 404 in brotli', '/soft-br/a', soft),
      row('a soft 404 in zstd', '/soft-zstd/a', soft),
      row('gzip in brotli', '/gzip-br', ok),
      row('gzip three times', '/gzip-thrice', ok),
      row('an encoding that nobody knows', '/unknown-encoding', ok),
      row('an empty encoding', '/empty-encoding', ok),
      row('gzip that is none', '/not-gzip', ok),
      row('brotli that is called gzip', '/br-called-gzip', ok),
      row('gzip that is called nothing', '/gzip-called-nothing', ok),
      row('gzip of nothing', '/gzip-empty', ok),
      row('gzip cut short', '/gzip-cut', ok),
      row('a gzip bomb', '/bomb', ok),
      row('a brotli bomb', '/br-bomb', ok),
      row('a zstd bomb', '/zstd-bomb', ok),
      row('shorter than announced', '/short', ok),
      row('longer than announced', '/long', ok, USUAL_MS, 2),
      row('longer than nothing', '/length-zero-body', ok, USUAL_MS, 2),
      row('a chunk size of nonsense', '/bad-chunk-size', ok),
      row('a chunk longer than it says', '/bad-chunk-end', ok),
      row('chunks without an end', '/chunks-without-end', ok),
      row('a chunk larger than any number', '/huge-chunk', ok),
      row('trailers', '/trailers', ok),
    ],
  ],
  [
    'headers',
    [
      row('bytes beyond ASCII', '/header-latin1', ok),
      row('tabs', '/header-tab', ok),
      row('2,000 headers', '/many-headers', ok),
      row('160 kB of headers', '/huge-headers', malformed),
      row('headers without end', '/endless-headers', malformed),
      row('one header without end', '/endless-header', malformed),
      row('a NUL', '/header-nul', malformed),
      row('a control character', '/header-control', ok),
      row('a folded line', '/header-folded', ok),
      row('a name with a space', '/header-name-space', ok),
      row('no name', '/header-without-name', ok),
      row('no colon', '/header-without-colon', ok),
      row('a bare CR', '/header-bare-cr', ok),
      row('lines that end with LF alone', '/header-bare-lf', ok),
      row('two equal lengths', '/length-twice', ok),
      row('a redirect that breaks rules', '/redirect-malformed', { ...redirected, final_url: '/fine' }),
      row('a 404 that breaks rules', '/404-malformed', { ...broken, status_code: 404, attempts: 1 }),
      row('two different lengths', '/lengths-differ', malformed),
      row('a negative length', '/length-negative', ok),
      row('a length beyond any number', '/length-huge', ok),
      row('chunked, and a length', '/chunked-and-length', ok),
    ],
  ],
  [
    'connections',
    [
      row('closed when accepted', 'http://{host}:{hangs-up}/', reset),
      row('reset when accepted', 'http://{host}:{resets}/', reset),
      row('nobody listens', 'http://{host}:{nobody}/', { ...silent, error_code: 'connection_refused', attempts: 1 }),
      row('a reset after the request', '/reset', reset),
      row('a reset once', '/reset-once', { ...ok, attempts: 2 }),
      row('a hang-up after the request', '/hang-up', reset),
      row('a reset after the status', '/reset-after-status', reset),
      row('a reset within a header', '/reset-in-headers', reset),
      row('a reset before the blank line', '/reset-before-blank-line', reset),
      row('a hang-up within the headers', '/hang-up-in-headers', reset),
      row('a reset within the body', '/reset-in-length-body', ok),
      row('a reset within a chunk', '/reset-in-chunk', ok),
      row('a hang-up within the body', '/hang-up-in-body', ok),
      row('silence', '/silent', { ...silent, error_code: 'response_timeout', attempts: 3 }, SILENCE_MS),
      row('headers that drip', '/slow-headers', { ...silent, error_code: 'response_timeout', attempts: 3 }, SILENCE_MS),
      row('nonsense', '/nonsense', malformed),
      row('a page without a status line', '/http-0.9', malformed),
      row('HTTP/2.0 in text', '/http-2.0', ok),
      row('a status line in lower case', '/lower-case', ok),
      row('a radio', '/icy', malformed),
      row('SSH', '/ssh', malformed),
      row('TLS to a plain request', 'http://localhost:{tls}/', { ...failed, status_code: null }),
    ],
  ],
  [
    'TLS',
    [
      row('a trusted certificate', 'https://localhost:{tls}/fine', ok, USUAL_MS, 2),
      row('for an address', 'https://127.0.0.1:{tls}/fine', ok, USUAL_MS, 2),
      row(
        'expired',
        'https://localhost:{expired}/',
        { ...silent, error_code: 'tls_expired', attempts: 1 },
        USUAL_MS,
        2,
      ),
      row(
        'for another host',
        'https://localhost:{other}/',
        { ...silent, error_code: 'tls_hostname', attempts: 1 },
        USUAL_MS,
        2,
      ),
      row('for another address', 'https://127.0.0.1:{other}/', { ...silent, error_code: 'tls_hostname', attempts: 1 }),
      row('a certificate for another name', 'https://{host}:{tls}/', {
        ...silent,
        error_code: 'tls_hostname',
        attempts: 1,
      }),
      row('self-signed', 'https://localhost:{self}/', { ...silent, error_code: 'tls_untrusted', attempts: 1 }),
      row('TLS 1.0 and 1.1 only', 'https://localhost:{old}/', { ...silent, error_code: 'tls_failed', attempts: 1 }),
      ...each(['certificate', 'certificate12'], (name) =>
        row(`a server that demands a client's ${name}`, `https://localhost:{${name}}/`, {
          ...silent,
          error_code: 'tls_failed',
          attempts: 1,
        }),
      ),
      row('TLS 1.2 only', 'https://localhost:{tls12}/', ok),
      row('plain HTTP on the port', 'https://localhost:{http}/', { ...silent, error_code: 'tls_failed', attempts: 1 }),
      row('a server that wants the name', 'https://localhost:{sni}/', ok),
      row('a server that wants a name, and an address', 'https://127.0.0.1:{sni}/', {
        ...silent,
        error_code: 'tls_failed',
        attempts: 1,
      }),
      row('closed instead of a handshake', 'https://localhost:{hangs-up}/', reset),
      row('reset instead of a handshake', 'https://localhost:{resets}/', reset),
      row('reset within the handshake', 'https://localhost:{resets-handshake}/', reset),
      row(
        'silence instead of a handshake',
        'https://localhost:{silent}/',
        { ...silent, error_code: 'connect_timeout', attempts: 3 },
        SILENCE_MS,
      ),
    ],
  ],
  [
    'URLs',
    [
      row('an IPv6 address', 'http://[::1]:{v6}/fine', { ...ok, final_url: 'http://[::1]:{v6}/fine' }),
      row('an IPv6 address, long', 'http://[0:0:0:0:0:0:0:1]:{v6}/fine', {
        ...ok,
        final_url: 'http://[::1]:{v6}/fine',
      }),
      row('an IPv4 address as a number', 'http://2130706433:{plain}/fine', {
        ...ok,
        final_url: 'http://127.0.0.1:{plain}/fine',
      }),
      row('an international name', 'http://bücher.{host}:{plain}/fine', {
        ...ok,
        final_url: 'http://xn--bcher-kva.{host}:{plain}/fine',
      }),
      row('an upper-case name', 'HTTP://SHOP.{host}:{plain}/fine', {
        ...ok,
        final_url: 'http://shop.{host}:{plain}/fine',
      }),
      row('a name with a dot at its end', 'http://{host}.:{plain}/fine', {
        ...ok,
        final_url: 'http://{host}.:{plain}/fine',
      }),
      row('a user and a password', 'http://me:secret@{host}:{plain}/no-secrets', { ...ok, final_url: '/no-secrets' }),
      row('a user and a password, and a redirect', 'http://me:secret@{host}:{plain}/location-user', {
        ...redirected,
        final_url: '/no-secrets',
      }),
      row('white space around it', '  http://{host}:{plain}/fine\n', { ...ok, final_url: '/fine' }),
      row('no path', 'http://{host}:{plain}', { ...ok, final_url: '/' }),
      row('only a ?', '/?', { ...ok, final_url: '/?' }),
      row('only a #', '/#', { ...ok, final_url: '/#' }),
      row('a fragment', '/fine#part', { ...ok, final_url: '/fine#part' }),
      row('dots in the path', '/a/../odd/./b', { ...ok, final_url: '/odd/b' }),
      row('odd percent signs', '/odd/%zz%1%%00%2F', { ...ok, final_url: '/odd/%zz%1%%00%2F' }),
      row('odd characters', '/odd/a b|c"<>^`{}[]\\', ok),
      row('a path in its own script', '/odd/größe/日本', {
        ...ok,
        final_url: '/odd/gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC',
      }),
      row('a query in its own script', '/odd/?q=größe&r=%', { ...ok, final_url: '/odd/?q=gr%C3%B6%C3%9Fe&r=%' }),
      row('10,000 characters', `/odd/${'x'.repeat(10_000)}`, ok),
      row('a name that does not exist', 'http://dead.example/', {
        ...silent,
        error_code: 'dns_not_found',
        attempts: 1,
      }),
      row('a name with an empty label', 'http://a..dead.example/', {
        ...silent,
        error_code: 'dns_not_found',
        attempts: 1,
      }),
      row('a private address', 'http://10.0.0.1/', { ...refused, ...silent, error_code: 'blocked_address' }),
      row('port 0', 'http://{host}:0/', { ...silent, error_code: 'connection_refused', attempts: 1 }),
      ...each(
        [
          '',
          ' ',
          'nonsense',
          '/fine-by-itself',
          'mailto:a@b.example',
          'ftp://example.com/',
          'http://',
          'http://a b/',
          'http://[::1/',
          'http://a:99999/',
          'https://exa%mple.com/',
          'file:///etc/passwd',
          'javascript:alert(1)',
          'data:text/html,hi',
          'blob:http://a/b',
          'ws://a.example/',
        ],
        (ask) => row(`'${ask}'`, `raw:${ask}`, invalid),
      ),
    ],
  ],
  [
    'soft 404',
    [
      row('a soft 404', '/soft/a', soft),
      row('a soft 404 in windows-1251', '/soft-russian/a', soft),
      row('a page that says so twice, on an honest site', '/honest/gone', soft),
      row('an article on not finding pages', '/honest/how-to', ok),
      row('a film with an odd title, on an honest site', '/honest/titled', ok),
      row('phrases in the body alone', '/honest/body', ok),
      row('one shell for all pages', '/app/a', ok),
      row('sent home like everyone', '/home/a', { ...soft, final_url: '/' }),
      row('sent home on an honest site', '/moved/a', redirected),
      row('sent to an error page like everyone', '/lost/a', { ...soft, final_url: '/errors/not-found.html' }),
    ],
  ],
];
