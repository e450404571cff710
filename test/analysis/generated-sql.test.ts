// Statements drawn from a seed: `events query` answers each as DuckDB itself does over the exported Parquet, where every table is there
// before it is asked. EVENTS_SQL_SEED and EVENTS_SQL_STATEMENTS draw others.
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { type Database, openDatabase, type Rows, sqlText } from '../../analysis/duckdb.ts';
import { type EventSource, sourceOfLog } from '../../analysis/event-source.ts';
import { writeParquet } from '../../analysis/parquet.ts';
import { openQuery } from '../../analysis/query.ts';
import { EVENT_VIEWS, rowsOfType } from '../../analysis/views.ts';
import type { EventType } from '../../events/vocabulary.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { filledFolder } from '../support/filled-log.ts';
import { drawingFrom } from './sql-drawing.ts';
import { FORM_NAMES, statementOf } from './sql-statements.ts';

const SEED = Number(process.env.EVENTS_SQL_SEED ?? 45);
const STATEMENTS = Number(process.env.EVENTS_SQL_STATEMENTS ?? 500);
/** Of one copy of the log: the first ones find nothing loaded, the later ones some. */
const PER_COPY = 40;
const EVERYTHING = { streams: null, categories: null, types: null, from: null, to: null };
const TYPES: readonly EventType[] = [
  ...(['JobCreated', 'JobCompleted', 'JobCancelled', 'JobFailed', 'JobDeleted', 'JobPaused'] as const),
  ...(['CreditsGranted', 'CreditsReserved', 'CreditsRefunded', 'PaymentReceived', 'URLChecked', 'UserNamed'] as const),
  ...(['UrlsListed', 'UserRegistered'] as const),
];
const ANSWERS = ['urls', 'jobs', 'entries', 'deliveries'];

test('generated statements are answered as DuckDB answers them over the exported events', async (t) => {
  const folder = await filledFolder(t, fillAnalysed);
  const log = await openSqliteEventStore({ path: join(folder, 'events.db'), read_only: true });
  const source = sourceOfLog(log);
  const truth = await exported(source, folder);
  const draw = drawingFrom(SEED);
  let with_rows = 0;
  for (let first = 0; first < STATEMENTS; first += PER_COPY) {
    const query = await openQuery(source, EVERYTHING);
    for (let n = first; n < Math.min(first + PER_COPY, STATEMENTS); n += 1) {
      const form = FORM_NAMES[n % FORM_NAMES.length]!;
      const { sql, parameters, whole } = statementOf(form, draw, [...TYPES, 'events']);
      const expected = await outcomeOf(answersOf(truth, whole));
      const found = await outcomeOf(query.answers(sql, parameters));
      t.deepEqual(found, expected, `seed ${SEED}, statement ${n}, ${form}: ${sql}`);
      if (typeof found !== 'string') with_rows += 1;
    }
    await query.close();
  }
  t.true(with_rows > STATEMENTS * 0.9, `only ${with_rows} statements gave rows`);
  await truth.close();
  await log.close();
});

/** The tables over the files that an analyst exports. */
async function exported(source: EventSource, folder: string): Promise<Database> {
  const truth = await openDatabase();
  const file = join(folder, 'log.parquet');
  await writeParquet(file, source.events(EVERYTHING));
  await truth.run(`CREATE TABLE events AS FROM read_parquet(${sqlText(file)})`);
  await truth.run(EVENT_VIEWS.map((type) => `CREATE TABLE ${type} AS ${rowsOfType(type, 'events')}`).join(';'));
  for (const name of ANSWERS) {
    const path = join(folder, `${name}.parquet`);
    const query = await openQuery(source, EVERYTHING, { file: path });
    await query.toParquet(`FROM ${name}`);
    await query.close();
    await truth.run(`CREATE TABLE ${name} AS FROM read_parquet(${sqlText(path)})`);
  }
  return truth;
}

/** The columns and the rows of each answer, the rows in an order of their own; or the first two lines of the error. */
async function outcomeOf(answers: AsyncIterable<Rows>): Promise<string | (readonly [readonly string[], string[]])[]> {
  const all: (readonly [readonly string[], string[]])[] = [];
  try {
    for await (const { columns, rows } of answers) {
      const texts = (await Array.fromAsync(rows)).flat().map((row) => JSON.stringify(row));
      all.push([columns, texts.sort()]);
    }
    return all;
  } catch (error) {
    const { message } = error as Error;
    return `refused: ${message.replace('Failed to extract statements: ', '').split('\n').slice(0, 2).join(' ').trimEnd()}`;
  }
}

async function* answersOf(truth: Database, sql: string): AsyncGenerator<Rows> {
  const statements = await truth.connection.extractStatements(sql);
  for (let n = 0; n < statements.count; n += 1) {
    const answer = await truth.stream(await statements.prepare(n));
    if (answer.result.returnType === truth.duckdb.ResultReturnType.QUERY_RESULT) yield answer;
    else for await (const _ of answer.rows);
  }
}
