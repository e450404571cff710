// Results with redirects and with failures that may pass: filtered, and shown as a table of old and new addresses.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import type { CheckedUrl } from '../../../events/checked-range.ts';
import { REDIRECT_COLUMNS, resultsTable } from '../../../http/results/export/columns.ts';
import { csvOf } from '../../../http/results/export/csv.ts';
import { resultExample, resultViewsOf } from '../../../http/results/result-view.ts';
import { resultsPage } from '../../../readmodels/results/result-pages.ts';
import {
  type ResultsFilter,
  resultId,
  results as resultsSpec,
  toResult,
  toStored,
} from '../../../readmodels/results/results.ts';

const JOB = 'j1';

function row(index: number, found: Partial<CheckedUrl>): CheckedUrl {
  const {
    row: _,
    cell: _cell,
    temporary: _t,
    redirects: _r,
    redirect_kind: _k,
    redirect_changes: _c,
    ...outcome
  } = resultExample;
  const plain = { verdict: 'ok' as const, status_code: 200, is_broken: false, redirect_chain: [], final_url: null };
  return { ...outcome, ...plain, job_id: JOB, index, url: `http://a.example/${index}`, ...found };
}

const moved = (to: string, status: number): Partial<CheckedUrl> => ({
  ...{ verdict: 'redirected', redirect_chain: [to], final_url: to, redirect_statuses: [status] },
});
const ROWS = [
  row(0, {}),
  row(1, moved('https://a.example/1', 301)),
  row(2, moved('http://b.example/', 302)),
  row(3, { verdict: 'broken', status_code: 404, is_broken: true }),
  row(4, { verdict: 'broken', status_code: 503, is_broken: true, attempts: 3, tried_ms: 8000 }),
  row(5, {
    verdict: 'unreachable',
    status_code: null,
    error_code: 'response_timeout',
    is_broken: true,
    by_circuit: true,
  }),
  row(6, { ...moved('http://a.example/gone', 308), verdict: 'broken', status_code: 404, is_broken: true }),
  row(7, { ...moved('http://c.example/', 301), redirect_statuses: undefined }),
];
const STORED = ROWS.map((one) => toStored(resultId(JOB, one.index), one));

const FILTERS: readonly [filter: ResultsFilter, indexes: readonly number[]][] = [
  [{ redirect_kind: 'permanent' }, [1, 6]],
  [{ redirect_kind: 'temporary' }, [2]],
  [{ redirect_kind: 'mixed' }, []],
  [{ redirect_kind: 'any' }, [1, 2, 6]],
  [{ redirect_kind: 'permanent', status_codes: [404] }, [6]],
  [{ temporary: true }, [4, 5]],
  [{ temporary: false }, [0, 1, 2, 3, 6, 7]],
  [{ temporary: false, status_group: 'broken' }, [3, 6]],
];

test('results are filtered by the kind of their redirects and by whether they may pass', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-test-'));
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  t.teardown(async () => {
    await documents.close();
    await rm(folder, { recursive: true });
  });
  const results = await documents.collection(resultsSpec);
  await results.write(STORED.map((insert) => ({ insert })));
  const read = { results, jobStats: { get: async () => null } };
  const job = { _id: JOB, status: 'processing' as const, completed_urls: ROWS.length, total_urls: ROWS.length };
  for (const [filter, indexes] of FILTERS) {
    const { items, total } = await resultsPage(read, job, filter, { limit: 100, offset: 0 });
    t.deepEqual(
      (await Array.fromAsync(items)).map(({ index }) => index),
      indexes,
      JSON.stringify(filter),
    );
    t.is(total, indexes.length);
  }
});

test('a stored result gives back what was found, and its view tells each hop with its status', (t) => {
  for (const [n, stored] of STORED.entries()) {
    const { redirect_statuses, by_circuit, tried_ms } = toResult(stored);
    t.deepEqual(
      [redirect_statuses, by_circuit, tried_ms],
      [ROWS[n]!.redirect_statuses, ROWS[n]!.by_circuit, ROWS[n]!.tried_ms],
    );
  }
  const view = resultViewsOf({});
  t.like(view(toResult(STORED[1]!)), {
    redirects: [{ url: 'https://a.example/1', status_code: 301 }],
    redirect_kind: 'permanent',
    redirect_changes: 'form',
    temporary: false,
  });
  t.false('redirect_statuses' in view(toResult(STORED[1]!)));
  t.like(view(toResult(STORED[4]!)), { temporary: true, attempts: 3, tried_ms: 8000, redirects: [] });
});

test('a table of redirects has the old and the new address of each', async (t) => {
  async function* pages() {
    yield STORED.slice(1, 3).map((stored) => ({
      ...toResult(stored),
      row: stored.index + 2,
      cell: `A${stored.index + 2}`,
    }));
  }
  t.is(
    await text(csvOf(resultsTable(pages(), REDIRECT_COLUMNS))),
    '\ufeffold_url,new_url,redirect_kind,redirect_changes,status_code,row,cell\r\n' +
      'http://a.example/1,https://a.example/1,permanent,form,200,3,A3\r\n' +
      'http://a.example/2,http://b.example/,temporary,address,200,4,A4\r\n',
  );
});
