import { stripVTControlCharacters } from 'node:util';
import test from 'ava';
import type { JobView } from '../../cli/client.ts';
import { report } from '../../cli/report.ts';

const NOTHING = { verdicts: {}, broken: [], broken_count: 0 };

function linesOf(job: Partial<JobView>, seconds = 2): string[] {
  const whole: JobView = {
    job_id: '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11',
    status: 'completed',
    total_urls: 10,
    completed_urls: 10,
    credits_allocated: 10,
    credits_refunded: 0,
    duplicates_removed: 0,
    invalid_urls_rejected: 0,
    blocked_urls_skipped: 0,
    pause_reason: null,
    failure_reason: null,
    ...job,
  };
  return stripVTControlCharacters(report(whole, NOTHING, seconds)).split('\n');
}
const dropped = (job: Partial<JobView>) => linesOf(job).find((line) => line.startsWith('not checked'));

test('the report uses singular and plural', (t) => {
  const all = (n: number) => ({ duplicates_removed: n, invalid_urls_rejected: n, blocked_urls_skipped: n });
  t.is(dropped(all(1)), 'not checked: 1 duplicate, 1 row that is no URL, 1 URL of a blocked domain');
  t.is(dropped(all(2)), 'not checked: 2 duplicates, 2 rows that are no URL, 2 URLs of blocked domains');
  t.is(
    dropped(all(12_000)),
    'not checked: 12 000 duplicates, 12 000 rows that are no URL, 12 000 URLs of blocked domains',
  );
  t.is(linesOf({ completed_urls: 1 })[1], '1 URL checked in 2.0 s (1 URL/s)');
  t.is(linesOf({ completed_urls: 0 })[1], '0 URLs checked in 2.0 s (0 URL/s)');
  t.is(linesOf({ completed_urls: 1500 })[1], '1 500 URLs checked in 2.0 s (750 URL/s)');
});

test('the report does not mention counts of zero', (t) => {
  t.is(dropped({}), undefined);
  t.is(dropped({ invalid_urls_rejected: 3 }), 'not checked: 3 rows that are no URL');
});
