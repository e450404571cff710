// The questions of examples/sql, asked of a log whose answers are known.
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { opsHere } from '../support/run-ops.ts';

const FOLDER = join(import.meta.dirname, '../../examples/sql');
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  'status-changes-between-jobs.sql': ['--param', 'before=jan-2', '--param', 'after=feb-1'],
  'sample-of-charges.sql': ['--param', 'seed=audit-2026', '--param', 'size=3'],
};

/** The rows of each file. */
const ANSWERS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  'active-users-by-week.sql': [
    ['2026-01-05', 2, 2],
    ['2026-01-19', 1, 0],
    ['2026-02-02', 1, 0],
  ],
  'balances.sql': [
    ['ann', 192, 0, '2026-02-04T08:00:00.000Z'],
    ['ben', 88, 0, '2026-01-06T09:00:00.000Z'],
  ],
  'broken-rate-by-host-and-week.sql': [
    ['c.example', '2026-01-05', 1, 100],
    ['a.example', '2026-01-05', 2, 50],
    ['a.example', '2026-01-19', 2, 50],
    ['b.example', '2026-01-05', 14, 0],
    ['a.example', '2026-02-02', 1, 0],
  ],
  'churn.sql': [['2026-01-01', 2, 1, 50]],
  'cohorts.sql': [
    ['2026-01-01', 0, 2],
    ['2026-01-01', 1, 1],
  ],
  'errors-by-host.sql': [['response_timeout', true, 1, 1, 'c.example']],
  'failing-webhooks.sql': [['hook', 2, 1, 2, '503']],
  'funnel.sql': [
    ['registered', 3],
    ['submitted a job', 2],
    ['completed a job', 2],
    ['paid', 2],
  ],
  'largest-users.sql': [
    ['ben', 1, 12, 1, 0],
    ['ann', 3, 8, 3, 37.5],
  ],
  'latency-by-checker.sql': [
    ['ben', 12, 65, 114.5, 120],
    ['ann', 7, 20, 37, 40],
  ],
  'pauses.sql': [['owner', 1, 1, 30]],
  'redirect-targets.sql': [['b.example', 'new.example', 'permanent', 1, 1]],
  'reserved-and-refunded.sql': [
    ['ben', 12, 0, 12],
    ['ann', 8, 0, 8],
  ],
  'retried-urls.sql': [['c.example', 1, 3, 0]],
  'revenue-by-plan-and-month.sql': [
    ['2026-01-01', 'pack', 'usd', 1, 500, 200, 300],
    ['2026-01-01', 'pro', 'usd', 1, 2900, 0, 2900],
    ['2026-02-01', 'pro', 'usd', 1, 2900, 0, 2900],
  ],
  'sample-of-charges.sql': [
    ['jan-2', 2, 'https://a.example/1', 'ok', '2026-01-20T09:00:39.000Z', '0000000000000019', 'reservation:jan-2'],
    ['jan-3', 9, 'https://b.example/8', 'ok', '2026-01-06T09:00:09.000Z', '0000000000000029', 'reservation:jan-3'],
    ['jan-3', 8, 'https://b.example/7', 'ok', '2026-01-06T09:00:09.000Z', '0000000000000029', 'reservation:jan-3'],
  ],
  'soft-404-by-host.sql': [['b.example', 1, 14, 7.1]],
  'status-changes-between-jobs.sql': [
    ['https://a.example/0', 'broken', 'ok', 404, 200],
    ['https://a.example/1', 'ok', null, 200, null],
  ],
  'time-to-complete-by-size.sql': [
    [1, 3, 40, 60],
    [10, 1, 10, 10],
  ],
  'trial-to-paid.sql': [['2026-01-01', 1, 1, 100]],
  'verdicts-by-day.sql': [
    ['2026-01-05', 1, 1, 1, 1, 0, 1],
    ['2026-01-06', 12, 0, 0, 0, 0, 0],
    ['2026-01-20', 1, 0, 1, 0, 0, 0],
    ['2026-02-03', 1, 0, 0, 0, 0, 0],
  ],
};

let DATA_DIR: string;
test.before(async () => {
  DATA_DIR = await mkdtemp(join(tmpdir(), 'questions-'));
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  await fillAnalysed(log);
  await log.close();
});
test.after.always(() => rm(DATA_DIR, { recursive: true, force: true }));

test('each question has its answer here', (t) => {
  t.deepEqual(
    readdirSync(FOLDER)
      .filter((name) => name.endsWith('.sql'))
      .sort(),
    Object.keys(ANSWERS).sort(),
  );
});

for (const [name, rows] of Object.entries(ANSWERS)) {
  test(`${name} has the answer that the log holds`, async (t) => {
    const words = ['events', 'query', '--json', '--sql', join(FOLDER, name), ...(PARAMETERS[name] ?? [])];
    const { code, stdout, stderr } = await opsHere(words, { DATA_DIR });
    t.is(code, 0, stderr);
    const found = stdout
      .trimEnd()
      .split('\n')
      .map((line) => Object.values(JSON.parse(line)));
    t.deepEqual(found, rows);
  });
}
