// One SQL query over events. It runs in a copy of them, in a database that reaches no file and no network.
import type { EventType } from '../events/vocabulary.ts';
import { blame, type EventDatabase, openEventDatabase, type Rows, SqlError } from './duckdb.ts';
import type { EventSource } from './event-source.ts';
import type { Selection } from './selection.ts';
import { EVENT_VIEWS, quoted, viewOf } from './views.ts';

/** Numbers of DuckDB's for the statements that only read: SELECT and EXPLAIN. */
const READING: readonly number[] = [1, 4];

export interface Answer extends Rows {
  /** Events that the query was given. */
  loaded: number;
  close(): Promise<void>;
}

/** Answers one query over the selected events. Throws `SqlError` before it reads an event where the query cannot be right. */
export async function queryEvents(sql: string, source: EventSource, selection: Selection): Promise<Answer> {
  const database = await openEventDatabase();
  try {
    await confine(database);
    const types = await typesIn(sql, database);
    for (const type of EVENT_VIEWS) await database.run(`CREATE VIEW ${quoted(type)} AS ${viewOf(type)}`);
    const wanted = types === null ? selection : { ...selection, types: among(types, selection.types) };
    const loaded = wanted.types?.length === 0 ? 0 : await database.load(source.events(wanted));
    return { ...(await database.stream(sql)), loaded, close: () => database.close() };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** From here on the database opens no file but its own, and nothing can change that. */
async function confine(database: EventDatabase): Promise<void> {
  await database.run('SET enable_external_access = false');
  await database.run('SET lock_configuration = true');
}

/**
 * The types that a query reads; null for all. An empty table stands for each view meanwhile, so that DuckDB names those that the query
 * uses, in whichever way, and finds its faults.
 */
async function typesIn(sql: string, { connection, run }: EventDatabase): Promise<EventType[] | null> {
  const empty = EVENT_VIEWS.map((type) => `CREATE TABLE ${quoted(type)} AS ${viewOf(type)} LIMIT 0`);
  await run(empty.join(';'));
  const statements = await connection.extractStatements(sql).catch((error: Error) => {
    // DuckDB names no error where there is no statement at all.
    return error.message.includes('Error: ') ? blame(error) : null;
  });
  const prepared = statements?.count === 1 ? await statements.prepare(0).catch(blame) : null;
  if (prepared === null || !READING.includes(prepared.statementType)) {
    throw new SqlError('it must be one statement that reads, such as SELECT (PIVOT needs its values: ON type IN (…))');
  }
  if (prepared.parameterCount > 0) throw new SqlError('it has a parameter, which nothing gives a value');
  prepared.destroySync();
  const names = new Set(connection.getTableNames(sql, false));
  await run(EVENT_VIEWS.map((type) => `DROP TABLE ${quoted(type)}`).join(';'));
  return names.has('events') ? null : EVENT_VIEWS.filter((type) => names.has(type));
}

const among = (types: readonly EventType[], asked: readonly string[] | null) =>
  asked === null ? types : types.filter((type) => asked.includes(type));
