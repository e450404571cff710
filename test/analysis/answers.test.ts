// The tables `urls`, `jobs`, `entries` and `deliveries`, against the documents that the projections make of the same log.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { sourceOfLog } from '../../analysis/event-source.ts';
import { openQuery } from '../../analysis/query.ts';
import { TABLES } from '../../analysis/tables.ts';
import type { Value } from '../../analysis/values.ts';
import { type CheckedUrl, foldRange } from '../../events/checked-range.ts';
import type { EventStore, NewEvent } from '../../events/event-store.ts';
import { findingsOf } from '../../events/findings.ts';
import { foldRows } from '../../events/listed-rows.ts';
import { balances, transactions } from '../../readmodels/billing/credits.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { fillLedger, openFiller } from '../support/audited-ledger.ts';
import { anOutcome } from '../support/outcomes.ts';
import { openLive, projectedFolder, withDocuments } from '../support/projected-folder.ts';
import { commandContext } from '../support/stores.ts';

const EVERYTHING = { streams: null, categories: null, types: null, from: null, to: null };
type Row = Record<string, Value>;

/** The rows of the last statement. */
async function ask(log: EventStore, sql: string): Promise<Row[]> {
  const query = await openQuery(sourceOfLog(log), EVERYTHING);
  try {
    const rows: Row[] = [];
    for await (const answer of query.answers(sql)) {
      for await (const bunch of answer.rows) {
        rows.push(...bunch.map((row) => Object.fromEntries(answer.columns.map((name, n) => [name, row[n]!]))));
      }
    }
    return rows;
  } finally {
    await query.close();
  }
}

test('what a question filled and rolled back is filled again for the next', async (t) => {
  const log = await emptyLog(t);
  await fillLedger(log);
  const query = await openQuery(sourceOfLog(log), EVERYTHING);
  t.teardown(() => query.close());
  const counts: Value[] = [];
  for (const sql of ['BEGIN; SELECT count(*) FROM jobs; ROLLBACK', 'SELECT count(*) FROM jobs'])
    for await (const { rows } of query.answers(sql)) for await (const bunch of rows) counts.push(...bunch.flat());
  const numbers = counts.filter((value) => typeof value === 'number');
  t.is(numbers.length, 2);
  t.true(numbers[0]! > 0 && numbers[0] === numbers[1], String(numbers));
});

test('one question is asked of the rows of urls as they are made, and several questions of stored rows', async (t) => {
  const log = await emptyLog(t);
  await fillLedger(log);
  const query = await openQuery(sourceOfLog(log), EVERYTHING);
  t.teardown(() => query.close());
  const stored = "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'loaded' AND table_name = 'urls'";
  const answers: (readonly Value[])[] = [];
  for (const sql of Array(3).fill(`SELECT (SELECT count(*) FROM urls), (${stored})`) as string[])
    for await (const { rows } of query.answers(sql)) for await (const bunch of rows) answers.push(...bunch);
  t.true((answers[0]![0] as number) > 0);
  t.deepEqual(
    answers.map(([urls, is_stored]) => [urls, is_stored]),
    [0, 1, 1].map((is_stored) => [answers[0]![0]!, is_stored]),
  );
  const both = await ask(log, `SELECT 1; SELECT (${stored}) AS is_stored FROM urls LIMIT 1`);
  t.is(both.at(-1)!.is_stored, 1);
});

async function emptyLog(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'answers-'));
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  t.teardown(() => log.close().then(() => rm(folder, { recursive: true, force: true })));
  return log;
}

const { now: _now, ...metadata } = { ...commandContext(), at: '2026-01-31T09:00:00.000Z', actor: 'checker:c0ffee00' };
let ids = 0;
const event = (type: string, data: unknown): NewEvent => ({
  ...{ id: `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`, type, data, metadata },
});

test('urls has the outcome of each URL as unfolded results have it, of any outcomes, ranges and gaps', async (t) => {
  const log = await emptyLog(t);
  const expected: object[] = [];
  let job = 0;
  // No server answers from the empty URL.
  const possible = anOutcome.map((outcome) => ({
    ...outcome,
    final_url: outcome.final_url || null,
    redirect_chain: outcome.redirect_chain.filter((url) => url !== ''),
  }));
  const aRange = fc.array(fc.option(possible, { nil: undefined, freq: 6 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(fc.array(aRange, { minLength: 1, maxLength: 4 }), async (ranges) => {
      const job_id = `job${++job}`;
      let from_index = 0;
      const urls: string[] = [];
      for (const [batch, outcomes] of ranges.entries()) {
        outcomes[0] ??= outcomes.find((each) => each !== undefined);
        if (outcomes[0] === undefined) continue;
        const last = outcomes.findLastIndex((each) => each !== undefined) + 1;
        const some = outcomes.slice(0, last);
        const of_range = some.map((_, n) => `https://${n % 3 ? 'a' : 'Bücher'}.example:8443/${from_index + n}`);
        urls.push(...of_range);
        await log.append(`checks-${job_id}-${batch}`, 'no_stream', [
          event('URLChecked', foldRange(job_id, from_index, of_range, some)),
        ]);
        for (const [n, outcome] of some.entries()) {
          if (outcome !== undefined)
            expected.push(rowOf({ ...outcome, job_id, index: from_index + n, url: of_range[n]! }));
        }
        from_index += last;
      }
      if (urls.length === 0) return;
      const rows = foldRows(urls.map((_, n) => 2 + 3 * n));
      await log.append(`urls-${job_id}`, 'no_stream', [event('UrlsListed', { job_id, from_index: 0, urls, rows })]);
    }),
    { numRuns: 60, seed: 45 },
  );
  const found = await ask(log, 'SELECT * EXCLUDE (user_id, checked_at, position) FROM urls');
  const byPlace = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row, Object.keys(row).sort())).sort();
  t.true(expected.length > 500);
  t.deepEqual(byPlace(found), byPlace(expected));
});

/** What the table is to say of a row. */
function rowOf(row: CheckedUrl) {
  const { temporary, redirect_kind = null } = findingsOf(row, row.url);
  const { error_code, protection, meta_refresh: _m, redirect_statuses: _r, earlier_attempts: _e, ...rest } = row;
  return {
    ...{ tried_ms: null, tls_detail: null, by_circuit: null, proxy_id: null },
    ...rest,
    ...{ error_code, protection, temporary, redirect_kind },
    finding: error_code ?? protection ?? redirect_kind,
    row: 2 + 3 * row.index,
    host: new URL(row.url).hostname,
    checker: 'c0ffee00',
  };
}

test('jobs and entries say what the documents of the service say', async (t) => {
  const folder = await projectedFolder(t, async (log) => {
    await fillLedger(log);
    const filler = openFiller(log);
    await filler.buy('carol', 'pi-carol', 30);
    const job_id = await filler.job('carol', 30, 10, 'running');
    await filler.jobs.run(job_id, { type: 'pause' }, filler.context());
  });
  const log = await openSqliteEventStore({ path: join(folder, 'events.db'), read_only: true });
  t.teardown(() => log.close());
  const found = await ask(log, 'FROM jobs');
  const entries = await ask(log, 'FROM entries');
  await withDocuments(folder, async (documents) => {
    const [of_jobs, stats] = [await openLive(documents, 'jobs', jobs), await openLive(documents, 'jobs', jobStats)];
    const shown = found.filter(({ deleted_at }) => deleted_at === null);
    t.is(shown.length, await of_jobs.count({}));
    t.is(found.length, shown.length + 2);
    for (const row of shown) {
      const document = (await of_jobs.get(row.job_id as string))!;
      const { status, total_urls, completed_urls, credits_allocated, credits_refunded, pause_reason } = document;
      t.like(row, { status, total_urls, completed_urls, credits_allocated, credits_refunded, pause_reason });
      if (status === 'completed') t.is(row.broken_urls, (await stats.get(document._id))?.broken_urls ?? 0);
    }
    const of_users = await openLive(documents, 'credits', balances);
    for (const { _id, balance } of await of_users.find({})) {
      const own = entries.filter(({ user_id }) => user_id === _id);
      t.is(
        own.reduce((sum, { credits }) => sum + (credits as number), 0),
        balance,
      );
    }
    t.is(entries.length, await (await openLive(documents, 'credits', transactions)).count({}));
  });
  t.deepEqual(
    entries
      .filter(({ money_cents }) => money_cents !== null)
      .map((row) => [row.user_id, row.money_cents, row.returned_cents])
      .sort(),
    [
      ['alice', 1000, 100],
      ['bob', 1000, 100],
      ['carol', 30, 0],
    ],
  );
});

test('a URL that was checked after the end of its job is in no table, nor counted', async (t) => {
  const log = await emptyLog(t);
  const filler = openFiller(log);
  await filler.buy('alice', 'pi-alice', 100);
  const job_id = await filler.job('alice', 40, 12, 'cancelled');
  const outcome = fc.sample(anOutcome, { numRuns: 1, seed: 1 })[0]!;
  await log.append(`checks-${job_id}-9`, 'no_stream', [
    event('URLChecked', foldRange(job_id, 30, ['https://a.example/'], [outcome])),
  ]);
  t.deepEqual(await ask(log, 'SELECT count(*) AS n FROM urls'), [{ n: 12 }]);
  t.deepEqual(await ask(log, 'SELECT completed_urls AS n FROM jobs'), [{ n: 12 }]);
});

test('deliveries has the state and the last attempt of each delivery', async (t) => {
  const log = await emptyLog(t);
  const requested = (delivery_id: string) =>
    event('WebhookDeliveryRequested', {
      ...{ delivery_id, endpoint_id: 'e', user_id: 'alice' },
      event: {
        id: 'i',
        type: 'job.cancelled',
        created_at: metadata.at,
        data: { job_id: 'j', status: 'cancelled', total_urls: 1 },
      },
    });
  const attempted = (attempt: number, status_code: number | null) =>
    event('WebhookAttempted', {
      ...{
        attempt,
        status_code,
        error: status_code === null ? 'timeout' : null,
        response_excerpt: '',
        duration_ms: attempt,
      },
      next_attempt_at: null,
    });
  await log.append('webhook_delivery-a', 'no_stream', [
    requested('a'),
    attempted(1, null),
    attempted(2, 200),
    event('WebhookDelivered', {}),
  ]);
  await log.append('webhook_delivery-b', 'no_stream', [
    requested('b'),
    attempted(1, 503),
    event('WebhookDeliveryGivenUp', { reason: 'endpoint_gone' }),
  ]);
  await log.append('webhook_delivery-c', 'no_stream', [requested('c')]);
  const at_once = { endpoint_id: 'e', user_id: 'alice', event: { type: 'job.completed', job_id: 'j' } };
  await log.append('webhook_delivery-d', 'no_stream', [
    event('WebhookDeliveredAtOnce', { ...at_once, status_code: 204, duration_ms: 3 }),
  ]);
  const sql =
    'SELECT delivery_id, job_id, type, state, attempts, status_code, error, given_up_reason FROM deliveries ORDER BY ALL';
  const of_job = { job_id: 'j', type: 'job.cancelled' };
  t.deepEqual(await ask(log, sql), [
    {
      delivery_id: 'a',
      ...of_job,
      state: 'delivered',
      attempts: 2,
      status_code: 200,
      error: null,
      given_up_reason: null,
    },
    {
      delivery_id: 'b',
      ...of_job,
      state: 'given_up',
      attempts: 1,
      status_code: 503,
      error: null,
      given_up_reason: 'endpoint_gone',
    },
    {
      delivery_id: 'c',
      ...of_job,
      state: 'pending',
      attempts: 0,
      status_code: null,
      error: null,
      given_up_reason: null,
    },
    {
      ...{ delivery_id: 'd', job_id: 'j', type: 'job.completed' },
      state: 'delivered',
      attempts: 1,
      status_code: 204,
      error: null,
      given_up_reason: null,
    },
  ]);
});

test('every table has a row for each event of the golden history, and no text of JSON where a schema says more', async (t) => {
  const log = await emptyLog(t);
  const golden = readFileSync(join(import.meta.dirname, '../golden/0.1.0.ndjson'), 'utf8')
    .trimEnd()
    .split('\n');
  const counts = new Map<string, number>();
  for (const [n, line] of golden.entries()) {
    const { type, data, metadata: of_line, stream } = JSON.parse(line);
    // Streams of their own: the history has an event of each type, and not of each stream's life.
    await log.append(`${stream}${n}`, 'no_stream', [{ ...event(type, data), metadata: of_line }]);
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  const names = [...TABLES.keys()].filter((name) => /^[A-Z]/.test(name) && name !== 'PersonalKeyMade');
  const found = await ask(
    log,
    names.map((name) => `SELECT '${name}' AS name, count(*) AS n FROM ${name}`).join(' UNION ALL '),
  );
  t.deepEqual(new Map(found.map(({ name, n }) => [name, n])), new Map(names.map((name) => [name, counts.get(name)!])));
  const columns = await ask(
    log,
    "SELECT table_name || '.' || column_name AS of FROM duckdb_columns() WHERE data_type = 'JSON' AND schema_name = 'main' ORDER BY 1",
  );
  t.deepEqual(columns, [{ of: 'RequestAnswered.body' }, { of: 'events.data' }]);
});
