// Retries, their waits, and the targets of redirects.
import test from 'ava';
import { locationOf, nextHop } from '../../../checkers/engine/redirects.ts';
import { parseRetryAfter, RETRY_AFTER_CAP_MS, retryDelay } from '../../../checkers/engine/retries.ts';

const NOW = Date.UTC(2026, 0, 1);

test('the wait doubles with each retry, and half of it is random', (t) => {
  t.is(retryDelay(1, 0, null, { base_ms: 100 }), 50);
  t.is(retryDelay(1, 0.5, null, { base_ms: 100 }), 75);
  t.is(retryDelay(2, 0, null, { base_ms: 100 }), 100);
  t.is(retryDelay(3, 0, null, { base_ms: 100 }), 200);
});

test('the last attempt is made later, and not at once', (t) => {
  const last = { base_ms: 100, is_last: true };
  t.is(retryDelay(2, 0, null, last), 1000);
  t.is(retryDelay(1, 0.99, null, last), 1990);
  t.is(retryDelay(2, 0, 3000, last), 3000);
  t.is(retryDelay(2, 0, null, { ...last, tried_ms: 700 }), 300);
  t.is(retryDelay(2, 0, null, { ...last, tried_ms: 30_000 }), 100, 'silence has taken the time already');
});

test('the engine waits as long as the server asks, up to the cap', (t) => {
  t.is(retryDelay(1, 0, 3000, { base_ms: 100 }), 3000);
  t.is(retryDelay(1, 0, 0, { base_ms: 100 }), 50);
  t.is(retryDelay(1, 0, 86_400_000, { base_ms: 100 }), RETRY_AFTER_CAP_MS);
});

test('Retry-After may hold seconds, a time with its unit, or a date', (t) => {
  t.is(parseRetryAfter('120', NOW), 120_000);
  t.is(parseRetryAfter('Thu, 01 Jan 2026 00:00:07 GMT', NOW), 7000);
  t.is(parseRetryAfter('Wed, 31 Dec 2025 00:00:00 GMT', NOW), 0);
  for (const [value, ms] of [
    ['2s', 2000],
    ['2 s', 2000],
    ['2sec', 2000],
    ['2 seconds', 2000],
    ['1.5', 1500],
    ['500ms', 500],
    ['1m', 60_000],
    ['2 minutes', 120_000],
    ['1h', 3_600_000],
  ] as const)
    t.is(parseRetryAfter(value, NOW), ms, value);
  for (const value of [undefined, '', '-1', 'soon', '2x', '1 fortnight', 's', '99999999999999'])
    t.is(parseRetryAfter(value, NOW), null);
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
  // Their last bytes are spaces in latin1.
  [' /città\t', 'https://a.example/citt%C3%A0#part'],
  ['\u00a0', 'https://a.example/x/%C2%A0#part'],
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
    const hop = nextHop(FROM, locationOf({ location: header }));
    t.is(hop.ok ? hop.url.href : null, url);
  });
}
