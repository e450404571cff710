// A page far down a filtered list begins at a place that an earlier page has shown.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import { resultsPage } from '../../../readmodels/results/result-pages.ts';
import { openResultPlaces } from '../../../readmodels/results/result-places.ts';
import { resultId, results as resultsSpec, type StoredResult } from '../../../readmodels/results/results.ts';

const URLS = 6000;
const job = { _id: 'j1', status: 'completed', total_urls: URLS, completed_urls: URLS } as const;

/** Every third URL of a job, and none of a long stretch of it, has `/shop/`. */
const isShop = (index: number) => index % 3 === 0 && (index < 2000 || index > 4500);
const result = (index: number): StoredResult => ({
  ...{ _id: resultId(job._id, index), job_id: job._id, index, status_code: 200, is_broken: false },
  url: `https://example.com/${isShop(index) ? 'shop' : 'blog'}/${index}`,
});
const shops = Array.from({ length: URLS }, (_, index) => index).filter(isShop);

async function openResults(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-test-'));
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  t.teardown(async () => {
    await documents.close();
    await rm(folder, { recursive: true });
  });
  const stored = await documents.collection(resultsSpec);
  await stored.write(Array.from({ length: URLS }, (_, index) => ({ insert: result(index) })));
  let counts = 0;
  const results = {
    slice: stored.slice.bind(stored),
    count(...asked: Parameters<typeof stored.count>) {
      counts++;
      return stored.count(...asked);
    },
  };
  return { results, stored, counts: () => counts };
}

test('pages of a filtered list are those that skipping gives, in any order of asking', async (t) => {
  const { results } = await openResults(t);
  const read = {
    results,
    jobStats: { get: async () => null },
    places: openResultPlaces(results, () => 0),
  };
  for (const offset of [1900, 0, 1164, 1001, 1165, 1010, shops.length - 1, shops.length]) {
    const { items, total } = await resultsPage(read, job, { url_contains: '/SHOP/' }, { limit: 10, offset });
    t.is(total, shops.length);
    t.deepEqual(
      (await Array.fromAsync(items)).map(({ index }) => index),
      shops.slice(offset, offset + 10),
      `from ${offset}`,
    );
  }
});

test('a page begins at the last known place before it, and what passes is counted once', async (t) => {
  const { results, counts } = await openResults(t);
  const places = openResultPlaces(results, () => 0);
  const filter = { url_contains: '/shop/' };
  const read = { results, jobStats: { get: async () => null }, places };
  for (const offset of [1000, 1100, 1100]) await resultsPage(read, job, filter, { limit: 10, offset });
  t.is(counts(), 1);
  t.deepEqual(places.of(job, filter).placeOf(1100), { from_index: shops[1000]!, skip: 100 });
  t.deepEqual(places.of(job, filter).placeOf(999), { from_index: 0, skip: 999 });
  t.deepEqual(places.of(job, { status_codes: [200] }).placeOf(1100), { from_index: 0, skip: 1100 });
});

test('the places of a running job are not cached', async (t) => {
  const { results } = await openResults(t);
  const places = openResultPlaces(results, () => 0);
  const read = { results, jobStats: { get: async () => null }, places };
  const going = { ...job, status: 'processing' as const };
  await resultsPage(read, going, { url_contains: '/shop/' }, { limit: 10, offset: 1000 });
  t.deepEqual(places.of(job, { url_contains: '/shop/' }).placeOf(1000), { from_index: 0, skip: 1000 });
});

test('after a rebuild nothing is known of the results before it', async (t) => {
  const { results, stored } = await openResults(t);
  const [filter, page] = [{ url_contains: '/shop/' }, { limit: 10, offset: 1000 }];
  let flips = 0;
  const read = { results, jobStats: { get: async () => null }, places: openResultPlaces(results, () => flips) };
  const lost = shops.slice(0, 10);
  await stored.write(lost.map((index) => ({ delete: resultId(job._id, index) })));
  t.is((await resultsPage(read, job, filter, page)).total, shops.length - lost.length);
  await stored.write(lost.map((index) => ({ insert: result(index) })));
  flips++;
  const { items, total } = await resultsPage(read, job, filter, page);
  t.is(total, shops.length);
  t.like((await Array.fromAsync(items))[0], { index: shops[1000]! });
});

test('a page that is read while a rebuild takes the place of its results leaves nothing behind', async (t) => {
  const { results, stored } = await openResults(t);
  const [filter, page] = [{ url_contains: '/shop/' }, { limit: 10, offset: 1000 }];
  let flips = 0;
  const places = openResultPlaces(results, () => flips);
  const flipping: typeof results.slice = async (...asked) => {
    const before = await stored.slice(...asked);
    flips++;
    return before;
  };
  const jobStats = { get: async () => null };
  await resultsPage({ results: { ...results, slice: flipping }, jobStats, places }, job, filter, page);
  t.deepEqual(places.of(job, filter).placeOf(1000), { from_index: 0, skip: 1000 });
});
