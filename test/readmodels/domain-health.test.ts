// Domains that never answered are at the end of an order by response time.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { type DomainHealthDocument, domainHealth, domainHealthPage } from '../../readmodels/domain-health.ts';

const TIMES = { a: 30, b: null, c: 10, d: null, e: 20 };

const health = ([_id, avg_response_time_ms]: [string, number | null]): DomainHealthDocument => ({
  ...{ _id, avg_response_time_ms, checks: 1, failures: 0, failure_rate: 0, blocked_count: 0 },
  ...{ answers: 1, response_time_total_ms: 0, status_codes: {}, error_codes: {}, verdicts: {} },
  last_checked_at: '2026-01-31T09:00:00.000Z',
});

test('domains that never answered come after all others in either direction, on any page', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-test-'));
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  t.teardown(async () => {
    await documents.close();
    await rm(folder, { recursive: true });
  });
  const collection = await documents.collection(domainHealth);
  await collection.write(Object.entries(TIMES).map((each) => ({ insert: health(each) })));
  for (const [sort_order, expected] of [
    ['asc', 'ceabd'],
    ['desc', 'aecdb'],
  ] as const) {
    for (const [offset, limit] of [0, 1, 2, 3, 4, 5].flatMap((n) => [1, 2, 5].map((m) => [n, m] as const))) {
      const page = { offset, limit, sort_order, sort_by: 'avg_response_time_ms', min_checks: 0 } as const;
      const { items, total } = await domainHealthPage(collection, page);
      t.is(total, 5);
      t.is(
        items.map(({ _id }) => _id).join(''),
        expected.slice(offset, offset + limit),
        `${sort_order} ${offset} ${limit}`,
      );
    }
  }
});
