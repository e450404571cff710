// One URL to one outcome: a row for each thing that a server may do.
import test from 'ava';
import { createEngine, type EngineSettings } from '../../../checkers/engine/engine.ts';
import type { Outcome } from '../../../events/checks.ts';
import { startTestSite } from '../../support/test-site.ts';

const SETTINGS: EngineSettings = {
  concurrency: 64,
  per_host: 32,
  timeout_ms: 15_000,
  retries: 2,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};

type Row = [what: string, path: string, expected: Partial<Outcome>, timeout_ms?: number];
/** For bodies that do not end: a third of it is theirs. */
const BODY = 1500;
/** For headers that do not come. */
const HEADERS = 200;

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
const soft = { status_code: 200, verdict: 'soft_404', is_broken: false, is_soft_404: true } as const;

const ROWS: Row[] = [
  ['a page', '/fine', { ...ok, redirect_chain: [], content_type: 'text/html; charset=utf-8', protection: null }],
  ['the root', '/', ok],
  ['a chunked body', '/chunked', ok],
  ['a body until the connection closes', '/until-close', ok],
  ['no content', '/no-content', { ...ok, status_code: 204 }],
  ['early hints before the answer', '/early-hints', ok],
  ['an image', '/image', { ...ok, content_type: 'image/png' }],
  ['an image too big to read', '/big-image', ok],
  ['an endless image', '/endless-image', ok],
  ['an endless page', '/endless', ok],
  ['a body that stalls', '/stalled-body', ok, BODY],
  ['a body that drips', '/slow-body', ok, BODY],
  ['gzip', '/gzip', ok],
  ['brotli', '/br', ok],
  ['deflate', '/deflate', ok],
  ['raw deflate', '/raw-deflate', ok],
  ['zstd', '/zstd', ok],
  ['gzip that is none', '/not-gzip', ok],
  ['a gzip bomb', '/bomb', ok],
  ['a body shorter than announced', '/short', ok],
  ['a body longer than announced', '/long', ok],
  ['a reset within the body', '/reset-in-body', ok],

  ['one redirect', '/once', { ...redirected, redirect_chain: ['/fine'], final_url: '/fine' }],
  ['three redirects', '/hop-3', { ...redirected, redirect_chain: ['/hop-2', '/hop-1', '/fine'] }],
  ['five redirects', '/count/5', { ...redirected, final_url: '/count/0' }],
  ['ten redirects', '/count/10', { ...redirected, final_url: '/count/0' }],
  ['eleven redirects', '/count/11', { ...failed, status_code: 302, error_code: 'too_many_redirects' }],
  ['a relative Location', '/relative/a', { ...redirected, final_url: '/fine' }],
  ['a Location that is a query', '/relative/query', { ...redirected, final_url: '/relative/query?b=1' }],
  ['a Location with a fragment', '/fragment', { ...redirected, final_url: '/fine#part' }],
  ['a fragment kept over a redirect', '/once#here', { ...redirected, final_url: '/fine#here' }],
  ['a Location in UTF-8', '/to-utf8', { ...redirected, final_url: '/gr%C3%B6%C3%9Fe' }],
  ['a redirect to itself', '/loop', { ...failed, status_code: 302, error_code: 'redirect_loop' }],
  ['a loop of two', '/loop-a', { ...failed, status_code: 302, error_code: 'redirect_loop' }],
  ['a redirect to itself with a cookie', '/cookie', { ...redirected, redirect_chain: ['/cookie'] }],
  ['a secure cookie over http', '/cookie-secure', { ...failed, error_code: 'redirect_loop' }],
  ['a new cookie each time', '/cookie-count', { ...failed, error_code: 'too_many_redirects' }],
  ['a redirect to nowhere', '/no-location', { ...failed, status_code: 301, error_code: 'invalid_redirect' }],
  ['a redirect to mail', '/to-mail', { ...failed, status_code: 302, error_code: 'invalid_redirect' }],
  ['a redirect to nonsense', '/to-nonsense', { ...failed, status_code: 302, error_code: 'invalid_redirect' }],
  ['a redirect to a private address', '/to-private', { ...failed, status_code: 302, error_code: 'blocked_address' }],
  ['a redirect to cloud metadata', '/to-metadata', { ...failed, status_code: 302, error_code: 'blocked_address' }],
  ['a redirect to a 404', '/to-404', { ...broken, status_code: 404, final_url: '/404' }],

  ['401', '/401', { ...broken, status_code: 401 }],
  ['403', '/403', { ...broken, status_code: 403, protection: null }],
  ['404', '/404', { ...broken, status_code: 404, attempts: 1 }],
  ['410', '/410', { ...broken, status_code: 410, attempts: 1 }],
  ['418', '/418', { ...broken, status_code: 418, attempts: 1 }],
  ['500', '/500', { ...broken, status_code: 500, attempts: 1 }],
  ['503 to the end', '/503', { ...broken, status_code: 503, attempts: 3 }],
  ['503 once', '/503-once', { ...ok, attempts: 2 }],
  ['429 twice', '/429-twice', { ...ok, attempts: 3 }],
  ['999', '/999', { ...blocked, status_code: 999, protection: 'linkedin' }],
  ['a challenge by header', '/challenge', { ...blocked, status_code: 403, protection: 'cloudflare' }],
  ['a compressed challenge', '/challenge-gzip', { ...blocked, status_code: 403, protection: 'datadome' }],
  ['a challenge as 503', '/challenge-503', { ...blocked, status_code: 503, protection: 'cloudflare' }],

  ['silence', '/silent', { ...failed, status_code: null, error_code: 'response_timeout', attempts: 3 }, HEADERS],
  ['headers that drip', '/slow-headers', { ...failed, error_code: 'response_timeout', attempts: 3 }, HEADERS],
  ['huge headers', '/huge-headers', { ...failed, error_code: 'malformed_response', attempts: 1 }],
  ['nonsense', '/nonsense', { ...failed, error_code: 'malformed_response', attempts: 1 }],
  ['a reset', '/reset', { ...failed, error_code: 'connection_reset', attempts: 3, final_url: null }],
  ['a reset once', '/reset-once', { ...ok, attempts: 2 }],
  ['a hang-up', '/hang-up', { ...failed, error_code: 'connection_reset', attempts: 3 }],
  ['a reset within the headers', '/reset-in-headers', { ...failed, error_code: 'connection_reset', attempts: 3 }],

  ['a soft 404', '/soft/a', soft],
  ['a soft 404 in windows-1251', '/soft-russian/a', soft],
  ['a page that says so twice, on an honest site', '/honest/gone', soft],
  ['an article on not finding pages', '/honest/how-to', ok],
  ['a film with an odd title, on an honest site', '/honest/titled', ok],
  ['phrases in the body alone', '/honest/body', ok],
  ['one shell for all pages', '/app/a', ok],
  ['sent home like everyone', '/home/a', { ...soft, final_url: '/' }],
  ['sent home on an honest site', '/moved/a', redirected],
  ['sent to an error page like everyone', '/lost/a', { ...soft, final_url: '/errors/not-found.html' }],
];

for (const [what, path, expected, timeout_ms = SETTINGS.timeout_ms] of ROWS) {
  test(`${what} (${path}): ${expected.error_code ?? expected.verdict}`, async (t) => {
    const site = await startTestSite();
    const engine = createEngine({ ...SETTINGS, timeout_ms }, { retry_base_ms: 1 });
    t.teardown(() => site.close());

    const outcome = await engine.check(site.origin + path);

    const absolute = (url: string): string => (url.startsWith('/') ? site.origin + url : url);
    const wanted = { ...expected };
    if (typeof wanted.final_url === 'string') wanted.final_url = absolute(wanted.final_url);
    if (wanted.redirect_chain !== undefined) wanted.redirect_chain = wanted.redirect_chain.map(absolute);
    t.like(outcome, wanted);
    t.is(outcome.response_time_ms === null, outcome.status_code === null);
    await engine.close();
    await site.drained();
    t.is(site.open, 0);
  });
}

const INVALID = ['', 'nonsense', 'mailto:a@b.example', 'ftp://example.com/', 'http://', 'http://a b/', 'http://[::1/'];
for (const url of INVALID) {
  test(`'${url}' is an invalid URL`, async (t) => {
    const engine = createEngine(SETTINGS);
    t.like(await engine.check(url), { ...failed, error_code: 'invalid_url', status_code: null, attempts: 1 });
    await engine.close();
  });
}
