import test from 'ava';
import { blockedDomains } from '../../intake/blocked-domains.ts';
import { analyzeUrls, type CollectOptions, collectUrls, submitList } from '../../intake/collect-urls.ts';
import type { IntakeError } from '../../intake/errors.ts';
import type { Cell } from '../../intake/sheet.ts';
import { open } from './uploads.ts';

const ROWS = [
  'https://a.example/#top',
  'b.example/x',
  'https://A.example',
  'ftp://c.example/',
  'https://shop.blocked.example/',
  'blocked.example',
  'not a url',
];
const blocked_domain_of = blockedDomains(new Set(['blocked.example']));

async function* cells(values: readonly string[]): AsyncGenerator<Cell[]> {
  yield values.map((value, i) => ({ row: i + 2, value }));
}

async function collect(values: readonly string[], options: CollectOptions = {}) {
  const collected = collectUrls(cells(values), { blocked_domain_of, ...options });
  const urls = (await Array.fromAsync(collected)).flat();
  return { urls, summary: collected.summary };
}

test('each URL is accepted once, as submitted, and the counts cover every row', async (t) => {
  const { urls, summary } = await collect(ROWS);
  t.deepEqual(urls, ['https://a.example/#top', 'https://b.example/x']);
  t.like(summary, {
    total_rows: 7,
    accepted: 2,
    duplicates_removed: 1,
    invalid_urls_rejected: 2,
    blocked_urls_skipped: 2,
    blocked_urls_accepted: 0,
    missing_prefix_fixed: 1,
    categories: { valid: 2, missing_prefix: 1, blocked: 2, invalid: 2 },
  });
});

test('samples name the row, its text and the reason', async (t) => {
  const { samples } = (await collect(ROWS)).summary;
  t.deepEqual(samples.invalid, [
    { row: 5, value: 'ftp://c.example/', url: null, reason: 'unsupported_scheme', blocked_domain: null },
    { row: 8, value: 'not a url', url: null, reason: 'several_words', blocked_domain: null },
  ]);
  t.deepEqual(samples.blocked[1], {
    row: 7,
    value: 'blocked.example',
    url: 'https://blocked.example',
    reason: 'blocked_domain',
    blocked_domain: 'blocked.example',
  });
  t.is((await collect(ROWS, { max_samples: 1 })).summary.samples.invalid.length, 1);
});

test('a URL without a prefix is invalid when auto_add_prefix is off', async (t) => {
  const { urls, summary } = await collect(ROWS, { auto_add_prefix: false });
  t.deepEqual(urls, ['https://a.example/#top']);
  t.like(summary, { invalid_urls_rejected: 4, blocked_urls_skipped: 1, missing_prefix_fixed: 0 });
});

test('URLs of blocklisted domains are checked and counted when skip_blocked is off', async (t) => {
  const { urls, summary } = await collect(ROWS, { skip_blocked: false });
  t.deepEqual(urls.slice(2), ['https://shop.blocked.example/', 'https://blocked.example']);
  t.like(summary, { accepted: 4, blocked_urls_skipped: 0, blocked_urls_accepted: 2, missing_prefix_fixed: 2 });
});

test('the error names the first wrong rows when skip_invalid is off', async (t) => {
  const error = await t.throwsAsync<IntakeError>(collect(ROWS, { skip_invalid: false }));
  t.is(error?.code, 'invalid_rows');
  t.regex(error?.message ?? '', /row 5: "ftp:\/\/c\.example\/" is neither http nor https; row 8: "not a url"/);
  t.deepEqual(
    error?.rows.map(({ row, reason }) => [row, reason]),
    [
      [5, 'unsupported_scheme'],
      [8, 'several_words'],
    ],
  );
  const many = Array.from({ length: 1_000 }, (_, i) => `junk ${i}`);
  const first_ones = await t.throwsAsync<IntakeError>(collect(many, { skip_invalid: false }));
  t.is(first_ones?.rows.length, 10);
  const { urls } = await collect(ROWS.slice(0, 3), { skip_invalid: false });
  t.is(urls.length, 2);
});

test('one URL too many throws at once, and duplicates do not count', async (t) => {
  let given = 0;
  async function* endless(): AsyncGenerator<Cell[]> {
    for (;;) yield [{ row: ++given, value: `https://a.example/${given}` }];
  }
  const error = await t.throwsAsync<IntakeError>(Array.fromAsync(collectUrls(endless(), { max_urls: 50 })));
  t.is(error?.code, 'too_many_urls');
  t.is(given, 51);
  const same = Array.from({ length: 200 }, (_, i) => `https://a.example/${i % 50}`);
  t.is((await collect(same, { max_urls: 50 })).urls.length, 50);
});

test('a list without URLs to check throws an error with the counts', async (t) => {
  const error = await t.throwsAsync<IntakeError>(collect(['x', 'https://blocked.example/']));
  t.is(error?.code, 'no_urls');
  t.regex(error?.message ?? '', /1 invalid, 1 of blocklisted domains/);
});

async function* pagesOf(urls: readonly string[]) {
  for (let start = 0; start < urls.length; start += 1000) yield urls.slice(start, start + 1000);
}

test('pages have the requested size and the order of submission', async (t) => {
  const urls = Array.from({ length: 25 }, (_, i) => `https://a.example/${i}`);
  const pages = await Array.fromAsync(submitList(pagesOf(urls), { page_size: 10 }));
  t.deepEqual(
    pages.map(({ urls: some }) => some.length),
    [10, 10, 5],
  );
  t.deepEqual(
    pages.flatMap(({ urls: some }) => some),
    urls,
  );
  t.deepEqual(
    pages.flatMap(({ rows }) => rows),
    urls.map((_, i) => i + 1),
  );
});

test('the summary throws before the list is complete', (t) => {
  const collected = submitList(pagesOf(['https://a.example/']));
  t.throws(() => collected.summary, { code: 'ERR_ASSERTION' });
});

test('the error of a list names a limited number of wrong entries by index', async (t) => {
  const list = ['https://a.example/', 'nope', ...Array.from({ length: 5_000 }, () => '@')];
  const collected = submitList(pagesOf(list));
  t.deepEqual(
    (await Array.fromAsync(collected)).flatMap(({ urls }) => urls),
    ['https://a.example/'],
  );
  t.is(collected.summary.invalid_urls_rejected, 5_001);
  t.is(collected.summary.samples.invalid.length, 20);
  t.like(collected.summary.samples.invalid[0], { row: 2, value: 'nope', reason: 'no_domain' });
  const error = await t.throwsAsync(Array.fromAsync(submitList(pagesOf(list), { skip_invalid: false })));
  t.regex(error?.message ?? '', /index 1: "nope"/);
});

test('an analysis counts and samples all categories, and answers also without URLs to check', async (t) => {
  const summary = await analyzeUrls(cells(ROWS), { blocked_domain_of });
  t.deepEqual(summary.categories, { valid: 2, missing_prefix: 1, blocked: 2, invalid: 2 });
  t.is(summary.duplicates_removed, 1);
  t.is((await analyzeUrls(cells(['junk']))).categories.invalid, 1);
});

test('collectUrls reads an uploaded file from its bytes to its pages of URLs', async (t) => {
  const sheet = await open(t, 'x.csv', `id;link\n${ROWS.map((row, i) => `${i};${row}`).join('\n')}\n`);
  const collected = collectUrls(sheet.cells(), { blocked_domain_of });
  t.deepEqual((await Array.fromAsync(collected)).flat(), ['https://a.example/#top', 'https://b.example/x']);
  t.is(collected.summary.samples.invalid[0]?.row, 5);
});

test('reading a long list lets other work of the thread run', async (t) => {
  const urls = Array.from({ length: 100_000 }, (_, i) => `https://a.example/${i}`);
  let turns = 0;
  const counting = setInterval(() => turns++, 1);
  for await (const page of submitList(pagesOf(urls))) t.true(page.urls.length > 0);
  clearInterval(counting);
  t.true(turns > 3, `${turns} turns`);
});
