// SQL over events. It runs in a copy of them, in a database that reaches no file and no network. Decision 166 says why.
import type { DuckDBPreparedStatement } from '@duckdb/node-api';
import type { Position, RecordedEvent } from '../events/event-store.ts';
import { checkedRows, eventOf } from './checked-rows.ts';
import { blame, type Database, openDatabase, type Result, type Rows, SqlError, sqlText } from './duckdb.ts';
import type { EventSource } from './event-source.ts';
import { eventsTable, load } from './loading.ts';
import { copyRows } from './parquet.ts';
import { namedTypes, type Selection } from './selection.ts';
import { TABLES, type Table } from './tables.ts';
import { EVENT_VIEWS, quoted } from './views.ts';

/** Values of parameters, as texts: by name, or by number from 1. */
export type Parameters = Readonly<Record<string, string>>;

export interface Query {
  /** The answers of the statements that give rows, in their order. Each is read before the next statement runs. Throws `SqlError`. */
  answers(sql: string, parameters?: Parameters): AsyncIterable<Rows>;
  /** Writes the rows of the only statement that gives some to the file that the query was opened with. Throws `SqlError`. */
  toParquet(sql: string, parameters?: Parameters): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  /** The only file that may be written, and that no SQL but ours writes. */
  file?: string;
  /** The position of each event that is read. */
  seen?(position: Position): void;
  /** What the reader of the answers should know of them. */
  notice?(text: string): void;
}

/** Answers SQL over the selected events. */
export async function openQuery(source: EventSource, selection: Selection, options: Options = {}): Promise<Query> {
  const database = await openDatabase();
  try {
    await database.run(MAKING.join(';'));
    await confine(database, options.file);
    const loader = new Loader(database, source, selection, options);
    const answers = (sql: string, parameters?: Parameters) => answersOf(database, loader, sql, parameters);
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

/** The tables behind the views are in a schema of their own. */
const behind = (name: string) => `loaded.${quoted(name)}`;
const stub = ({ name, query }: Table) => `CREATE TABLE ${behind(name)} AS ${query(stagedOr)} LIMIT 0`;
const stagedOr = (name: string) => (name === 'events' ? 'loaded.staged' : behind(name));

/**
 * Every table is there as a view, and the table behind it is not: whoever reads the view, in whatever way, is told by DuckDB that this one
 * does not exist. So no statement finds a table empty that nobody has filled.
 */
const MAKING: readonly string[] = [
  ...['BEGIN', 'CREATE SCHEMA loaded', eventsTable('loaded.staged'), 'CREATE TABLE loaded.fills (n BIGINT)'],
  ...[...TABLES.values()].map(stub),
  ...[...TABLES.keys()].map((name) => `CREATE VIEW ${quoted(name)} AS SELECT * FROM ${behind(name)}`),
  ...[...TABLES.keys()].map((name) => `DROP TABLE ${behind(name)}`),
  'COMMIT',
];

/** From here on the database opens no file but its own, and no statement changes that. */
async function confine({ run }: Database, file?: string): Promise<void> {
  if (file !== undefined) await run(`SET allowed_paths = [${sqlText(file)}]`);
  await run('SET allow_persistent_secrets = false; SET enable_external_access = false');
  await run("SET allowed_configs = ['TimeZone', 'Calendar']; SET lock_configuration = true");
}

async function* answersOf(
  database: Database,
  loader: Loader,
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
  if (statements.count > 1) loader.expect(sql);
  await loader.ask(statements.count);
  const given = new Set<string>();
  for (let n = 0; n < statements.count; n += 1) {
    await loader.fillFor(sql, n);
    const prepared = await statements.prepare(n).catch(blame);
    for (const name of await bind(database, prepared, parameters)) given.add(name);
    const answer = await database.stream(prepared);
    if (answer.result.returnType === database.duckdb.ResultReturnType.QUERY_RESULT) yield answer;
    else for await (const _ of answer.rows);
    prepared.destroySync();
  }
  const unused = Object.keys(parameters).find((name) => !given.has(name));
  if (unused !== undefined) throw new SqlError(`no statement has the parameter ${unused}`);
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

interface Filled {
  made: ReadonlySet<string>;
  staged: ReadonlySet<string | null>;
  unstored: readonly Table[] | null;
}

/** Fills the tables that statements read, when they read them. */
class Loader {
  readonly #database: Database;
  readonly #source: EventSource;
  readonly #selection: Selection;
  readonly #seen: (position: Position) => void;
  readonly #notice: (text: string) => void;
  /** Tables that exist behind their views. */
  #made = new Set<string>();
  /** Those of them that are made of their rows at each question; null where all are stored. */
  #unstored: Table[] | null = [];
  #questions = 0;
  /** Types of rows that are in `staged`; null for all events. */
  #staged = new Set<string | null>();
  #expected: readonly string[] = [];
  /** What there was after each fill. `loaded.fills` has a row for each, which is gone when SQL rolls the fill back with its own transaction. */
  readonly #fills: Filled[] = [];

  constructor(
    database: Database,
    source: EventSource,
    selection: Selection,
    { seen = () => {}, notice = () => {} }: Options,
  ) {
    this.#database = database;
    this.#source = source;
    this.#selection = selection;
    this.#seen = seen;
    this.#notice = notice;
  }

  /** Tables that later statements may read are read from the log together with the first. */
  expect(sql: string): void {
    const words = new Set(sql.toLowerCase().match(/\w+/g));
    this.#expected = EVENT_VIEWS.filter((name) => words.has(name.toLowerCase()));
  }

  /** From the second statement on, tables are stored when they are first read, since several read them. */
  async ask(statements: number): Promise<void> {
    const { run } = this.#database;
    this.#questions += statements;
    if (this.#questions < 2) return;
    await this.#forgetRolledBack();
    for (const { name } of this.#unstored ?? []) {
      const made = 'loaded.made_';
      await run(`CREATE TABLE ${made} AS FROM ${behind(name)}; DROP VIEW ${behind(name)}`);
      await run(`ALTER TABLE ${made} RENAME TO ${quoted(name)}`);
    }
    this.#unstored = null;
    await this.#recordFill();
  }

  /** Fills the tables that a statement reads: DuckDB itself names them, one after the other, as tables that do not exist. */
  async fillFor(sql: string, n: number): Promise<void> {
    await this.#forgetRolledBack();
    const wanted: Table[] = [];
    for (;;) {
      const missing = await this.#missingIn(sql, n);
      if (missing.length === 0) break;
      for (const name of missing) await this.#make(TABLES.get(name)!, wanted);
    }
    if (wanted.length === 0) return;
    await this.#stage(wanted);
    for (const table of wanted) {
      const { name, query } = table;
      if (table.is_wide && this.#unstored !== null) {
        await this.#database.run(`DROP TABLE ${behind(name)}; CREATE VIEW ${behind(name)} AS ${query(stagedOr)}`);
        this.#unstored.push(table);
      } else await this.#database.run(`INSERT INTO ${behind(name)} ${query(stagedOr)}`);
    }
    await this.#recordFill();
  }

  async #recordFill(): Promise<void> {
    await this.#database.run(`INSERT INTO loaded.fills VALUES (${this.#fills.length})`);
    this.#fills.push({
      made: new Set(this.#made),
      staged: new Set(this.#staged),
      unstored: this.#unstored && [...this.#unstored],
    });
  }

  async #forgetRolledBack(): Promise<void> {
    const [[left]] = (await this.#database.all('SELECT count(*) FROM loaded.fills')) as [[number]];
    if (left === this.#fills.length) return;
    this.#fills.length = left;
    const { made, staged, unstored } = this.#fills.at(-1) ?? { made: [], staged: [], unstored: [] };
    this.#made = new Set(made);
    this.#staged = new Set(staged);
    this.#unstored = unstored && [...unstored];
  }

  async #missingIn(sql: string, n: number): Promise<readonly string[]> {
    // A statement can be prepared once, and this one is dropped.
    const statements = await this.#database.connection.extractStatements(sql).catch(blame);
    try {
      (await statements.prepare(n)).destroySync();
      return [];
    } catch (error) {
      const { message } = error as Error;
      const name = /^Catalog Error: Table with name (\w+) does not exist!/.exec(message)?.[1] ?? '';
      if (TABLES.has(name) && !this.#made.has(name)) return [name];
      // PIVOT without values names a type anew each time, so that its second statement can be looked at only once.
      if (message.includes('__pivot_enum_')) return [...TABLES.keys()].filter((each) => !this.#made.has(each));
      // What is wrong with it is told when it is run.
      return [];
    }
  }

  /** Makes an empty table, and those that it reads before it. */
  async #make(table: Table, wanted: Table[]): Promise<void> {
    if (this.#made.has(table.name)) return;
    this.#made.add(table.name);
    for (const type of table.reads) await this.#make(TABLES.get(type)!, wanted);
    await this.#database.run(stub(table));
    wanted.push(table);
  }

  /** Brings the rows that the tables are made of into `staged`, by one reading of the log. */
  async #stage(wanted: readonly Table[]): Promise<void> {
    const every = wanted.some(({ rows }) => rows === null);
    if (every && this.#staged.size > 0) {
      await this.#database.run("DELETE FROM loaded.staged WHERE type NOT LIKE '(%'");
    }
    const asked = [...wanted.flatMap(({ rows }) => rows ?? []), ...this.#expected];
    const lacking = new Set(asked.filter((type) => !this.#staged.has(type) && !this.#staged.has(null)));
    for (const type of asked) if (type.startsWith('(') && !this.#staged.has(type)) lacking.add(type);
    if (!every && lacking.size === 0) return;
    const named = this.#among([...lacking].map(eventOf));
    const types = every ? this.#selection.types : named;
    const rowsOf = (event: RecordedEvent) => [
      ...(every || lacking.has(event.type) ? [event] : []),
      ...checkedRows(event).filter(({ type }) => lacking.has(type)),
    ];
    if (types?.length !== 0) {
      const events = this.#source.events({ ...this.#selection, types });
      await load(this.#database, this.#watched(events), 'staged', { schema: 'loaded', rowsOf });
    }
    for (const type of lacking) this.#staged.add(type);
    if (every) this.#staged.add(null);
  }

  async *#watched(events: AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent> {
    for await (const event of events) {
      this.#seen(event.position);
      yield event;
    }
  }

  /** Those of the types that the options let through; the others are told. */
  #among(types: readonly string[]): readonly string[] {
    const passes = namedTypes(this.#selection);
    const wanted = [...new Set(types)];
    const held_back = wanted.filter((type) => !passes(type));
    if (held_back.length > 0) this.#notice(`left out, as the options say: ${held_back.join(', ')}`);
    return wanted.filter(passes);
  }
}
