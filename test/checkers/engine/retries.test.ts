// Retries, their waits, and the targets of redirects.
import test from 'ava';
import { nextHop } from '../../../checkers/engine/redirects.ts';
import {
  isRetriedError,
  isRetriedStatus,
  parseRetryAfter,
  RETRY_AFTER_CAP_MS,
  retryDelay,
} from '../../../checkers/engine/retries.ts';

const NOW = Date.UTC(2026, 0, 1);

test('the engine retries only timeouts, resets, 429 and 502 to 504', (t) => {
  t.deepEqual(
    [400, 401, 403, 404, 408, 425, 429, 500, 501, 502, 503, 504, 505, 999].filter(isRetriedStatus),
    [429, 502, 503, 504],
  );
  t.true(isRetriedError('response_timeout'));
  t.true(isRetriedError('connect_timeout'));
  t.true(isRetriedError('connection_reset'));
  t.false(isRetriedError('connection_refused'));
  t.false(isRetriedError('dns_not_found'));
  t.false(isRetriedError('tls_expired'));
});

test('the wait doubles with each retry, and half of it is random', (t) => {
  t.is(retryDelay(1, 0, null, 100), 50);
  t.is(retryDelay(1, 0.5, null, 100), 75);
  t.is(retryDelay(2, 0, null, 100), 100);
  t.is(retryDelay(3, 0, null, 100), 200);
});

test('the engine waits as long as the server asks, up to the cap', (t) => {
  t.is(retryDelay(1, 0, 3000, 100), 3000);
  t.is(retryDelay(1, 0, 0, 100), 50);
  t.is(retryDelay(1, 0, 86_400_000, 100), RETRY_AFTER_CAP_MS);
});

test('Retry-After may hold seconds or a date', (t) => {
  t.is(parseRetryAfter('120', NOW), 120_000);
  t.is(parseRetryAfter('Thu, 01 Jan 2026 00:00:07 GMT', NOW), 7000);
  t.is(parseRetryAfter('Wed, 31 Dec 2025 00:00:00 GMT', NOW), 0);
  for (const value of [undefined, '', '-1', '1.5', 'soon', '99999999999999']) t.is(parseRetryAfter(value, NOW), null);
});

const FROM = new URL('https://a.example/x/y?q=1#part');
const HOPS: readonly [location: string | undefined, url: string | null][] = [
  ['/z', 'https://a.example/z#part'],
  ['z', 'https://a.example/x/z#part'],
  ['../z', 'https://a.example/z#part'],
  ['?r=2', 'https://a.example/x/y?r=2#part'],
  ['#other', 'https://a.example/x/y?q=1#other'],
  ['//b.example/z', 'https://b.example/z#part'],
  ['http://b.example', 'http://b.example/#part'],
  ['https:z', 'https://a.example/x/z#part'],
  ['  /z  ', 'https://a.example/z#part'],
  ['/a b', 'https://a.example/a%20b#part'],
  ['https://bücher.example/', 'https://xn--bcher-kva.example/#part'],
  ['http://0x7f.1/', 'http://127.0.0.1/#part'],
  ['ftp://b.example/', null],
  ['javascript:alert(1)', null],
  ['data:text/html,hi', null],
  ['file:///etc/passwd', null],
  ['market://details?id=x', null],
  ['https://', null],
  ['http://[bad', null],
  ['', null],
  [undefined, null],
];

for (const [location, url] of HOPS) {
  test(`Location ${JSON.stringify(location)} leads to ${url ?? 'nowhere'}`, (t) => {
    const header = location === undefined ? undefined : Buffer.from(location).toString('latin1');
    const hop = nextHop(FROM, header);
    t.is(hop.ok ? hop.url.href : null, url);
  });
}
