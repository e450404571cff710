// SQL over events. It runs in a copy of them, in a database that reaches no file and no network. Decision 166 says why.
import type { DuckDBPreparedStatement } from '@duckdb/node-api';
import { blame, type Database, openDatabase, type Result, type Rows, SqlError, sqlText } from './duckdb.ts';
import type { EventSource } from './event-source.ts';
import { copyRows } from './parquet.ts';
import type { Selection } from './selection.ts';
import { MAKING, type Notices, TableFiller } from './table-filler.ts';

/** Values of parameters, as texts: by name, or by number from 1. */
export type Parameters = Readonly<Record<string, string>>;

export interface Query {
  /** The answers of the statements that give rows, in their order. Each is read before the next statement runs. Throws `SqlError`. */
  answers(sql: string, parameters?: Parameters): AsyncIterable<Rows>;
  /** Writes the rows of the only statement that gives some to the file that the query was opened with. Throws `SqlError`. */
  toParquet(sql: string, parameters?: Parameters): Promise<void>;
  close(): Promise<void>;
}

interface Options extends Notices {
  /** The only file that may be written, and that no SQL but ours writes. */
  file?: string;
}

/** Answers SQL over the selected events. */
export async function openQuery(source: EventSource, selection: Selection, options: Options = {}): Promise<Query> {
  const database = await openDatabase();
  try {
    await database.run(MAKING.join(';'));
    await confine(database, options.file);
    const filler = new TableFiller(database, source, selection, options);
    const answers = (sql: string, parameters?: Parameters) => answersOf(database, filler, sql, parameters);
    return {
      answers,
      async toParquet(sql, parameters) {
        await writeOnly(database, answers(sql, parameters), options.file!);
      },
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** From here on the database opens no file but its own, and no statement changes that. */
async function confine({ run }: Database, file?: string): Promise<void> {
  if (file !== undefined) await run(`SET allowed_paths = [${sqlText(file)}]`);
  await run('SET allow_persistent_secrets = false; SET enable_external_access = false');
  await run("SET allowed_configs = ['TimeZone', 'Calendar']; SET lock_configuration = true");
}

async function* answersOf(
  database: Database,
  filler: TableFiller,
  sql: string,
  parameters: Parameters = {},
): AsyncGenerator<Result> {
  const { connection } = database;
  const writing = WRITING.exec(sql)?.[0];
  if (writing !== undefined) throw new SqlError(`Permission Error: ${writing} would write a file`);
  const statements = await connection.extractStatements(sql).catch((error: Error) => {
    // DuckDB names no error where there is no statement at all.
    return error.message.includes('Error: ') ? blame(error) : null;
  });
  if (statements === null || statements.count === 0) throw new SqlError('there is no statement');
  if (statements.count > 1) filler.expect(sql);
  await filler.ask(statements.count);
  const given = new Set<string>();
  for (let n = 0; n < statements.count; n += 1) {
    await filler.fillFor(sql, n, statements.count);
    const prepared = await statements.prepare(n).catch(blame);
    for (const name of await bind(database, prepared, parameters)) given.add(name);
    const answer = await run(database, filler, prepared);
    if (answer.result.returnType === database.duckdb.ResultReturnType.QUERY_RESULT) yield answer;
    else for await (const _ of answer.rows);
    prepared.destroySync();
  }
  const unused = Object.keys(parameters).find((name) => !given.has(name));
  if (unused !== undefined) throw new SqlError(`no statement has the parameter ${unused}`);
}

/** Some statements, such as `PRAGMA table_info`, look for their table only when they run. */
async function run(database: Database, filler: TableFiller, prepared: DuckDBPreparedStatement): Promise<Result> {
  for (;;) {
    try {
      return await database.stream(prepared);
    } catch (error) {
      if (!(await filler.fillMissed(error as SqlError))) throw error;
    }
  }
}

async function writeOnly(database: Database, answers: AsyncIterable<Result>, file: string): Promise<void> {
  let written = false;
  for await (const answer of answers) {
    if (written) throw new SqlError('a file of Parquet takes the rows of one statement, and several give rows');
    await copyRows(database, answer, file);
    written = true;
  }
  if (!written) throw new SqlError('no statement gives rows');
}

/** Functions that DuckDB ends the whole program for when they may open no file. */
const WRITING = /\benable_(?:logging|profil\w*)/i;

/** Gives the statement's parameters their values, of the types that it expects. Returns their names. */
async function bind(database: Database, prepared: DuckDBPreparedStatement, parameters: Parameters): Promise<string[]> {
  const { connection } = database;
  const names = Array.from({ length: prepared.parameterCount }, (_, n) => prepared.parameterName(n + 1));
  for (const [n, name] of names.entries()) {
    const text = parameters[name];
    if (text === undefined)
      throw new SqlError(`the parameter ${name} has no value: give it one by --param ${name}=VALUE`);
    const type_id: number = prepared.parameterTypeId(n + 1);
    // Of a parameter that may be of any type, nothing is known.
    if (type_id === 0 || type_id === database.duckdb.DuckDBTypeId.VARCHAR) {
      prepared.bindVarchar(n + 1, text);
      continue;
    }
    const type = prepared.parameterType(n + 1);
    const cast = await connection.runAndReadAll(`SELECT CAST(${sqlText(text)} AS ${type})`).catch(blame);
    prepared.bindValue(n + 1, cast.getRows()[0]![0]!, type);
  }
  return names;
}
