// What reads foreign text is linear in it: of texts made to be slow, one twice as long takes no more than about twice as long.
// A quadratic reader would take seconds for these lengths, so the bound is far from both.
import test from 'ava';
import { isMarkedDiscussion, isNoindex, isWork, readSigns } from '../../checkers/engine/html.ts';
import { notFoundSaying } from '../../checkers/engine/phrases.ts';
import { isChallengePage } from '../../checkers/engine/protection.ts';
import { inert } from '../../http/results/export/columns.ts';
import { exportFilename } from '../../http/results/export/file-name.ts';
import { classifyUrl, urlLikeness } from '../../intake/classify-url.ts';
import { parseDomain } from '../../intake/domain.ts';
import { leastCpuMs } from '../support/cpu-time.ts';

/** The largest `MAX_URL_CHARS`, and what is read of a page. */
const MAX_URL_CHARS = 65_536;
const PAGE_CHARS = 128 * 1024;
const MOST_MS = 150;

const repeated = (pump: string, chars: number) => pump.repeat(Math.ceil(chars / pump.length)).slice(0, chars);
const PUMPS = [
  '.',
  ':',
  'a.',
  '/',
  '?#',
  ' ',
  '\t',
  '-',
  'a-',
  '1.',
  '%',
  '@',
  '[',
  '\u3002',
  'xn--',
  'www.',
  'é',
  '=',
  '"',
];
const AROUND: [string, string][] = [
  ['', ''],
  ['a', ':x'],
  ['a.b:8', 'x'],
  ['https://', '\u0000'],
  ['https://a.', '/'],
  ['//', '@'],
];

for (const [name, read] of [
  ['classifyUrl', (text: string) => classifyUrl(text, { max_url_chars: MAX_URL_CHARS })],
  ['urlLikeness', (text: string) => urlLikeness(text, MAX_URL_CHARS)],
  ['parseDomain', parseDomain],
  ['inert', inert],
  ['exportFilename', (text: string) => exportFilename(text, 'csv')],
] as const) {
  test(`${name} reads the longest URLs that are made to be slow`, (t) => {
    for (const pump of PUMPS) {
      for (const [before, after] of AROUND) {
        const text = before + repeated(pump, MAX_URL_CHARS - before.length - after.length) + after;
        const took_ms = leastCpuMs(() => read(text));
        t.true(took_ms < MOST_MS, `${took_ms} ms for ${before}${pump}…${after}`);
      }
    }
  });
}

for (const [name, read] of [
  ['readSigns', readSigns],
  ['isNoindex', isNoindex],
  ['isWork', isWork],
  ['isMarkedDiscussion', isMarkedDiscussion],
  ['isChallengePage', isChallengePage],
  ['notFoundSaying', (text: string) => notFoundSaying(text.slice(0, 400))],
] as const) {
  test(`${name} reads the longest pages that are made to be slow`, (t) => {
    for (const pump of [
      ...['<', '<meta ', '<title', '<h1 ', '<input ', ' robots', '<meta robots', 'type = ', '"@type" : [ "', '\t'],
      ...[
        'og:type"',
        '<meta og:type"',
        'content="',
        'Access denied | ',
        '<title>Azure WAF</title>',
        '"@type":"a',
        '«',
        '404 ',
      ],
      ...[
        '<TITLE>Access Denied</TITLE>',
        'The request could not be satisfied',
        '<title>http://a</title>',
        '<h1>404</h',
        ' - ',
      ],
    ]) {
      for (const before of ['', '<meta ', '<title>', '<h1>']) {
        const text = before + repeated(pump, PAGE_CHARS);
        const took_ms = leastCpuMs(() => read(text));
        t.true(took_ms < MOST_MS, `${took_ms} ms for ${before}${pump}…`);
      }
    }
  });
}

test('the service reads a thousand of the longest domains in well under a second', (t) => {
  const worst = `a${'.'.repeat(2040)}:x`;
  const took_ms = leastCpuMs(() => {
    for (let n = 0; n < 1000; n++) parseDomain(worst);
  });
  t.true(took_ms < MOST_MS, `${took_ms} ms`);
});
