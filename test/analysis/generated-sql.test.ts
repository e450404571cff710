// Statements drawn from a seed: `events query` answers each as DuckDB itself does over the exported Parquet, where every table is there
// before it is asked. EVENTS_SQL_SEED and EVENTS_SQL_STATEMENTS draw others.
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { type Database, openDatabase, sqlText } from '../../analysis/duckdb.ts';
import { sourceOfLog } from '../../analysis/event-source.ts';
import { writeParquet } from '../../analysis/parquet.ts';
import { openQuery } from '../../analysis/query.ts';
import { rowsOfType } from '../../analysis/views.ts';
import type { EventType } from '../../events/vocabulary.ts';
import { filledFolder } from '../support/filled-log.ts';
import { drawingFrom, FORM_NAMES, statementOf } from './sql-statements.ts';

const SEED = Number(process.env.EVENTS_SQL_SEED ?? 45);
const STATEMENTS = Number(process.env.EVENTS_SQL_STATEMENTS ?? 500);
/** Of one copy of the log: the first ones find nothing loaded, the later ones some. */
const PER_COPY = 40;
const EVERYTHING = { streams: null, categories: null, types: null, from: null, to: null };
const TYPES: readonly EventType[] = [
  ...(['JobCreated', 'JobCompleted', 'JobCancelled', 'JobFailed', 'JobDeleted', 'JobPaused'] as const),
  ...(['CreditsGranted', 'CreditsReserved', 'CreditsRefunded', 'PaymentReceived', 'URLChecked', 'UserNamed'] as const),
];

test('generated statements are answered as DuckDB answers them over the exported events', async (t) => {
  const folder = await filledFolder(t);
  const log = await openSqliteEventStore({ path: join(folder, 'events.db'), read_only: true });
  const source = sourceOfLog(log);
  const file = join(folder, 'log.parquet');
  await writeParquet(file, source.events(EVERYTHING));
  const truth = await openDatabase();
  await truth.run(`CREATE TABLE events AS FROM read_parquet(${sqlText(file)})`);
  for (const type of TYPES) await truth.run(`CREATE TABLE ${type} AS ${rowsOfType(type, 'events')}`);

  const draw = drawingFrom(SEED);
  let answered = 0;
  let with_rows = 0;
  for (let first = 0; first < STATEMENTS; first += PER_COPY) {
    const query = await openQuery(source, EVERYTHING);
    for (let n = first; n < Math.min(first + PER_COPY, STATEMENTS); n += 1) {
      const sql = statementOf(FORM_NAMES[n % FORM_NAMES.length]!, draw, [...TYPES, 'events']);
      const expected = await outcomeOf(async () => lastOf(truth, sql));
      const found = await outcomeOf(async () => {
        let rows: readonly unknown[] = [];
        for await (const answer of query.answers(sql)) {
          rows = [];
          for await (const bunch of answer.rows) rows = [...rows, ...bunch];
        }
        return rows;
      });
      t.deepEqual(found, expected, `seed ${SEED}, statement ${n}: ${sql}`);
      answered += 1;
      if (expected.length > 0 && !String(expected[0]).startsWith('refused')) with_rows += 1;
    }
    await query.close();
  }
  t.is(answered, STATEMENTS);
  t.true(with_rows > STATEMENTS * 0.8, `only ${with_rows} statements gave rows`);
  await truth.close();
  await log.close();
});

/** The rows in an order of their own, or the kind of the error. */
async function outcomeOf(rows: () => Promise<readonly unknown[]>): Promise<string[]> {
  try {
    return (await rows()).map((row) => JSON.stringify(row)).sort();
  } catch (error) {
    return [`refused: ${/^[A-Z][a-z]+ Error/.exec((error as Error).message)?.[0] ?? (error as Error).message}`];
  }
}

/** The rows of the last statement that gives some. */
async function lastOf(truth: Database, sql: string): Promise<readonly unknown[]> {
  const statements = await truth.connection.extractStatements(sql);
  let rows: readonly unknown[] = [];
  for (let n = 0; n < statements.count; n += 1) {
    const prepared = await statements.prepare(n);
    const is_read = [1, 4, 8].includes(prepared.statementType);
    if (!is_read) await prepared.run();
    else {
      rows = [];
      for await (const bunch of (await truth.stream(prepared)).rows) rows = [...rows, ...bunch];
    }
  }
  return rows;
}
