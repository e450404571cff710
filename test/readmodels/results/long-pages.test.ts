// Pages of results that are together too long to hold are read a slice at a time.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import { LongPage, type ResultsRead, resultsAfter, resultsPage } from '../../../readmodels/results/result-pages.ts';
import { type ResultDocument, resultId, results as resultsSpec } from '../../../readmodels/results/results.ts';

const LONG_URL = `https://example.com/${'x'.repeat(100_000)}`;
const MOST_HELD_CHARS = 5 * 1024 * 1024;
const JOB = 'j1';
const LATE = 50;

const result = (index: number): ResultDocument => ({
  ...{ _id: resultId(JOB, index), job_id: JOB, index, url: `https://example.com/${index}`, status_code: 200 },
  ...{ final_url: LONG_URL, is_broken: false, is_soft_404: false, redirect_chain: [], response_time_ms: 1 },
  ...{ content_type: null, error_code: null, verdict: 'ok', protection: null, attempts: 1 },
});

/** A job with results 0 to 119 but one. `longest` is the most characters that one read of them gave. */
async function openJob(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-test-'));
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  t.teardown(async () => {
    await documents.close();
    await rm(folder, { recursive: true });
  });
  const results = await documents.collection(resultsSpec);
  const indexes = Array.from({ length: 120 }, (_, index) => index).filter((index) => index !== LATE);
  await results.write(indexes.map((index) => ({ insert: result(index) })));
  const seen = { longest: 0, slices: 0 };
  const read: ResultsRead = {
    results: {
      count: results.count,
      async slice(...asked) {
        const slice = await results.slice(...asked);
        seen.slices += 1;
        seen.longest = Math.max(seen.longest, slice.documents.length * LONG_URL.length);
        return slice;
      },
    },
    jobStats: { get: async () => null },
  };
  const job = { _id: JOB, status: 'processing' as const, completed_urls: indexes.length, total_urls: 120 };
  return { read, results, indexes, seen, job };
}

const indexesOf = async (items: AsyncIterable<ResultDocument> | Iterable<ResultDocument>) =>
  (await Array.fromAsync(items)).map(({ index }) => index);

test('a page by offset of long results is complete, and loads while its reader reads it', async (t) => {
  const { read, results, indexes, seen, job } = await openJob(t);
  const { items, total } = await resultsPage(read, job, {}, { limit: 100, offset: 5 });
  t.true(items instanceof LongPage);
  t.is(total, 119);
  t.is(seen.slices, 1);
  const expected = indexes.slice(5, 105);
  t.deepEqual(await indexesOf(items), expected);
  t.is((items as LongPage).last_index, expected.at(-1)!);
  await results.write([{ insert: result(LATE) }]);
  t.deepEqual(await indexesOf(items), expected, 'the same again, without the one that came meanwhile');
  t.true(seen.longest <= MOST_HELD_CHARS, `${seen.longest} characters in one read`);
});

test('a page by offset of a job that is checked whole begins at its index', async (t) => {
  const { read, results, job } = await openJob(t);
  await results.write([{ insert: result(LATE) }]);
  const whole = { ...job, completed_urls: 120 };
  const page = async (offset: number) => indexesOf((await resultsPage(read, whole, {}, { limit: 3, offset })).items);
  t.deepEqual(await page(0), [0, 1, 2]);
  t.deepEqual(await page(LATE - 1), [LATE - 1, LATE, LATE + 1]);
  t.deepEqual(await page(118), [118, 119]);
  t.deepEqual(await page(120), []);
});

test('a page whose results are deleted meanwhile ends with an error', async (t) => {
  const { read, results, job } = await openJob(t);
  const { items } = await resultsPage(read, job, {}, { limit: 100, offset: 0 });
  await results.write([{ deleteMany: { job_id: JOB } }]);
  await t.throwsAsync(indexesOf(items), { message: /deleted/ });
});

test('pages by cursor of long results have fewer of them, and miss none', async (t) => {
  const { read, indexes, seen, job } = await openJob(t);
  const found: number[] = [];
  let pages = 0;
  for (let after: number | null = -1; after !== null; pages++) {
    const page = await resultsAfter(read, job, {}, { limit: 100, after, before: 120 });
    found.push(...page.items.map(({ index }) => index));
    after = page.next;
  }
  t.deepEqual(found, indexes);
  t.true(pages > 2);
  t.true(seen.longest <= MOST_HELD_CHARS, `${seen.longest} characters in one read`);
});
