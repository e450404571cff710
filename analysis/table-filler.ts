// Fills the tables that statements of SQL read, when they read them. Decision 166 says why.
import type { Position, RecordedEvent } from '../events/event-store.ts';
import { checkedRows, eventOf } from './checked-rows.ts';
import { blame, type Database, type SqlError } from './duckdb.ts';
import type { EventSource } from './event-source.ts';
import { eventsTable, load } from './loading.ts';
import { namedTypes, type Selection } from './selection.ts';
import { TABLES, type Table } from './tables.ts';
import { EVENT_VIEWS, quoted } from './views.ts';

export interface Notices {
  /** The position of each event that is read. */
  seen?(position: Position): void;
  /** What the reader of the answers should know of them. */
  notice?(text: string): void;
}

/** The tables behind the views are in a schema of their own. */
const behind = (name: string) => `loaded.${quoted(name)}`;
const stub = ({ name, query }: Table) => `CREATE TABLE ${behind(name)} AS ${query(stagedOr)} LIMIT 0`;
const stagedOr = (name: string) => (name === 'events' ? 'loaded.staged' : behind(name));

/**
 * Every table is there as a view, and the table behind it is not: whoever reads the view, in whatever way, is told by DuckDB that this one
 * does not exist. So no statement finds a table empty that nobody has filled.
 */
export const MAKING: readonly string[] = [
  ...['BEGIN', 'CREATE SCHEMA loaded', eventsTable('loaded.staged'), 'CREATE TABLE loaded.fills (n BIGINT)'],
  ...[...TABLES.values()].map(stub),
  ...[...TABLES.keys()].map((name) => `CREATE VIEW ${quoted(name)} AS SELECT * FROM ${behind(name)}`),
  ...[...TABLES.keys()].map((name) => `DROP TABLE ${behind(name)}`),
  'COMMIT',
];

/** What a statement is. `hidden` is one that does not tell what it reads. */
type Seen = 'transaction' | 'hidden' | 'other';

interface Filled {
  made: ReadonlySet<string>;
  staged: ReadonlySet<string | null>;
  unstored: readonly Table[] | null;
}

export class TableFiller {
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
  /** The statements before this one have their tables. */
  #filled_until = 0;
  /** What there was after each fill. `loaded.fills` has a row for each, which is gone when SQL rolls the fill back with its own transaction. */
  readonly #fills: Filled[] = [];

  constructor(
    database: Database,
    source: EventSource,
    selection: Selection,
    { seen = () => {}, notice = () => {} }: Notices,
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
    this.#filled_until = 0;
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

  /** Fills the tables that a statement reads. */
  async fillFor(sql: string, n: number, statements: number): Promise<void> {
    await this.#forgetRolledBack();
    if (n < this.#filled_until) return;
    const wanted: Table[] = [];
    // DuckDB makes a transaction of `CREATE TABLE … AS PIVOT`, and any error ends it, so nothing within it can be looked at.
    if ((await this.#makeFor(sql, n, wanted)) === 'transaction') {
      let [last, found]: [number, Seen] = [n, 'other'];
      while (found === 'other' && last + 1 < statements) found = await this.#makeFor(sql, ++last, wanted);
      if (found === 'hidden') this.#filled_until = last + 1;
    }
    if (wanted.length > 0) await this.#fill(wanted);
  }

  /** Fills the table that a statement did not find; false where it is another error. */
  async fillMissed({ message }: SqlError): Promise<boolean> {
    const name = this.#unmadeIn(message);
    if (name === null) return false;
    const wanted: Table[] = [];
    await this.#make(TABLES.get(name)!, wanted);
    await this.#fill(wanted);
    return true;
  }

  async #fill(wanted: readonly Table[]): Promise<void> {
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
    this.#filled_until = 0;
    this.#fills.length = left;
    const { made, staged, unstored } = this.#fills.at(-1) ?? { made: [], staged: [], unstored: [] };
    this.#made = new Set(made);
    this.#staged = new Set(staged);
    this.#unstored = unstored && [...unstored];
  }

  /** Makes the tables that a statement reads: DuckDB itself names them, one after the other, as tables that do not exist. */
  async #makeFor(sql: string, n: number, wanted: Table[]): Promise<Seen> {
    for (;;) {
      const { seen, missing } = await this.#look(sql, n);
      for (const name of missing) await this.#make(TABLES.get(name)!, wanted);
      if (missing.length === 0 || seen === 'hidden') return seen;
    }
  }

  async #look(sql: string, n: number): Promise<{ seen: Seen; missing: readonly string[] }> {
    // A statement can be prepared once, and this one is dropped.
    const statements = await this.#database.connection.extractStatements(sql).catch(blame);
    try {
      const prepared = await statements.prepare(n);
      const { TRANSACTION } = this.#database.duckdb.StatementType;
      const seen = prepared.statementType === TRANSACTION ? 'transaction' : 'other';
      prepared.destroySync();
      return { seen, missing: [] };
    } catch (error) {
      const { message } = error as Error;
      const name = this.#unmadeIn(message);
      if (name !== null) return { seen: 'other', missing: [name] };
      // PIVOT without values names a type anew each time, so that its second statement can be looked at only once.
      const is_hidden = message.includes('__pivot_enum_');
      if (is_hidden) return { seen: 'hidden', missing: [...TABLES.keys()].filter((each) => !this.#made.has(each)) };
      // What is wrong with it is told when it is run.
      return { seen: 'other', missing: [] };
    }
  }

  /** The table behind a view that an error says does not exist. */
  #unmadeIn(message: string): string | null {
    const name = /^Catalog Error: Table with name (\w+) does not exist!/.exec(message)?.[1] ?? '';
    return TABLES.has(name) && !this.#made.has(name) ? name : null;
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
