// A copy of the events that stays true: a file of DuckDB that has the tables of SQL, brought up to date at each call. Each batch of events
// and the position that it reaches are one transaction, and so is what follows from streams that were deleted from the log.
// Decision 168 says why.
import { hash, randomUUID } from 'node:crypto';
import {
  BEGINNING,
  type EventStore,
  type Position,
  type RecordedEvent,
  type StoredLog,
  sizeOf,
} from '../events/event-store.ts';
import { ANSWER_TABLES, rowsOfAnswer } from './answers.ts';
import { checkedRows, LISTING, OUTCOMES } from './checked-rows.ts';
import { type Database, openDatabase, sqlText } from './duckdb.ts';
import { selected } from './event-source.ts';
import { LaterEvents } from './later-events.ts';
import { eventsTable, load } from './loading.ts';
import type { Selection } from './selection.ts';
import { definitions, TABLES } from './tables.ts';
import { EVENT_VIEWS, quoted, rowsOfType } from './views.ts';

/** The copy is of another log, or something else has written to the file. */
export class NoCopy extends Error {
  readonly code = 'no_copy';
}

/** What was copied, for those who bring it elsewhere. */
export interface Copied {
  position: Position;
  /** The id of the log's first event, the version of the tables, and the id of this copy. */
  log: string;
  version: string;
  id: string;
  /** The types of the events that came or went since `published` was called. */
  changed: ReadonlySet<string>;
  /** Whether it was ever called. */
  is_published: boolean;
}

export interface Copy {
  /** Everything up to here is in the copy. */
  readonly position: Position;
  /** The events of later versions that were added: only the table `events` has them. */
  readonly later: LaterEvents;
  /** Adds what the log has after `position`. Returns the number of events. Throws `SqlError` and the log's errors. */
  advance(log: EventStore, signal?: AbortSignal): Promise<number>;
  /** Removes what the log no longer has. Returns the number of events. */
  forget(log: Deleting): Promise<number>;
  copied(): Promise<Copied>;
  /** What changed is elsewhere too. */
  published(): Promise<void>;
  database: Database;
  close(): Promise<void>;
}

/** What of the log says which streams are gone. */
export type Deleting = Pick<StoredLog, 'deletedStreams' | 'head'>;

interface Options {
  /** Called before each step that a power cut may separate from the next. */
  step?(): void;
  /** Called with each event's position. */
  seen?(position: Position): void;
  /** Names of deleted streams that are removed already: for whoever opens the same copy again and again. */
  gone?: Set<string>;
}

const EVERYTHING: Selection = { streams: null, categories: null, types: null, from: null, to: null };
const BATCH_EVENTS = 5_000;
/** An event has up to a megabyte, and its rows take as much again. */
const BATCH_BYTES = 32 * 2 ** 20;
/** Filled from the batch; the others are views over them, which need no upkeep. */
const [URLS, ...VIEWS] = ANSWER_TABLES;

/** Of the tables that are the copy's own. */
const LAYOUT = '3';

/** Of this version of the tables: a copy of another is made anew. */
const VERSION = hash(
  'sha256',
  [
    ...[LAYOUT, ...definitions(), ...ANSWER_TABLES.map((each) => rowsOfAnswer(each, quoted))],
    // They name the versions that are read: what a later one recorded comes in when the service reads it.
    ...EVENT_VIEWS.map((type) => rowsOfType(type, 'events')),
  ].join('\n'),
);

/** Opens the copy in a file, or makes it there. Throws `NoCopy` for a file of another kind or of another log. */
export async function openCopy(file: string, log: EventStore, options: Options = {}): Promise<Copy> {
  const database = await openDatabase(file);
  try {
    const first = await firstOf(log);
    let kept = await keptIn(database);
    if (kept !== null && kept.log !== first)
      throw new NoCopy(`${file} is a copy of another log: let this one have a file of its own`);
    if (kept?.version !== VERSION) {
      await make(database, first);
      options.gone?.clear();
      kept = { position: BEGINNING, log: first, version: VERSION };
    }
    const gone = options.gone ?? new Set<string>();
    if (gone.size === 0) for (const [stream] of await database.all('FROM gone_')) gone.add(String(stream));
    return new DuckDbCopy(database, kept.position, { ...options, gone });
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The id of the log's first event; a log without one has none yet. */
async function firstOf(log: EventStore): Promise<string> {
  for await (const { id } of log.readAll({ limit: 1 })) return id;
  throw new NoCopy('the log is empty');
}

async function keptIn(database: Database): Promise<{ position: Position; log: string; version: string } | null> {
  const tables = (await database.all("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")).flat();
  if (tables.length === 0) return null;
  if (!tables.includes('copied')) throw new NoCopy('the file has tables that are no copy of events');
  const [row] = await database.all('SELECT position, log, version FROM copied');
  if (row === undefined) return null;
  const [position, log, version] = row as [string, string, string];
  return { position, log, version };
}

async function make({ run, all }: Database, log: string): Promise<void> {
  const there = await all(
    "SELECT 'VIEW', view_name FROM duckdb_views() WHERE NOT internal UNION ALL SELECT 'TABLE', table_name FROM duckdb_tables() WHERE schema_name = 'main'",
  );
  const views = VIEWS.map((each) => `CREATE VIEW ${quoted(each.name)} AS ${rowsOfAnswer(each, quoted)}`);
  const stored = [URLS!.name, 'events', ...EVENT_VIEWS];
  const made = definitions().filter((sql) => stored.some((name) => sql.startsWith(`CREATE TABLE ${quoted(name)} (`)));
  await run(
    [
      'BEGIN',
      ...there.map(([kind, name]) => `DROP ${kind} IF EXISTS ${quoted(String(name))}`),
      ...[
        ...made,
        eventsTable('batch_'),
        eventsTable('listing_'),
        'CREATE TABLE gone_ (stream VARCHAR)',
        'CREATE TABLE going_ (stream VARCHAR)',
        ...views,
      ],
      'CREATE TABLE copied (position VARCHAR, log VARCHAR, version VARCHAR, changed VARCHAR[], forgotten VARCHAR, id VARCHAR, is_published BOOLEAN)',
      `INSERT INTO copied VALUES ('', ${sqlText(log)}, ${sqlText(VERSION)}, [], '', '${randomUUID()}', false)`,
      'COMMIT',
    ].join(';'),
  );
}

class DuckDbCopy implements Copy {
  readonly database: Database;
  readonly #step: () => void;
  readonly #seen: (position: Position) => void;
  readonly #gone: Set<string>;
  readonly later = new LaterEvents();
  position: Position;

  constructor(database: Database, position: Position, { step = () => {}, seen = () => {}, gone = new Set() }: Options) {
    this.database = database;
    this.position = position;
    this.#step = step;
    this.#seen = seen;
    this.#gone = gone;
  }

  async advance(log: EventStore, signal?: AbortSignal): Promise<number> {
    let added = 0;
    while (signal?.aborted !== true) {
      const events: RecordedEvent[] = [];
      let bytes = 0;
      let position = this.position;
      for await (const event of log.readAll({ from: position, limit: BATCH_EVENTS })) {
        this.#seen((position = event.position));
        events.push(event);
        bytes += sizeOf(event);
        if (bytes >= BATCH_BYTES) break;
      }
      if (events.length === 0) return added;
      await this.#add(events, position);
      added += events.length;
    }
    return added;
  }

  async #add(events: readonly RecordedEvent[], position: Position): Promise<void> {
    this.#step();
    const types = new Set(events.map(({ type }) => type));
    await this.#transaction([...types], position, async () => {
      const { run } = this.database;
      const rowsOf = (event: RecordedEvent) => [event, ...checkedRows(event)];
      // A store may still give events of a stream that is deleted, which nobody looks for again.
      const kept = events.filter(({ stream }) => !this.#gone.has(stream));
      await load(this.database, selected(kept, EVERYTHING, this.later), 'batch_', { rowsOf });
      this.#step();
      await run("INSERT INTO events FROM batch_ WHERE type NOT LIKE '(%'");
      for (const type of EVENT_VIEWS.filter((each) => types.has(each))) {
        await run(`INSERT INTO ${quoted(type)} ${rowsOfType(type, 'batch_')}`);
      }
      await run(`INSERT INTO listing_ FROM batch_ WHERE type = '${LISTING}'`);
      this.#step();
      if (types.has('URLChecked')) await this.#addUrls();
      await run('DELETE FROM batch_');
    });
  }

  /** Listings come before the outcomes of their URLs, many batches ago it may be. */
  async #addUrls(): Promise<void> {
    const { run } = this.database;
    const jobs = `SELECT 'urls-' || (data->>'job_id') FROM batch_ WHERE type = '${OUTCOMES}'`;
    await run(
      `CREATE TEMP TABLE checked_ AS FROM batch_ WHERE type = '${OUTCOMES}' UNION ALL FROM listing_ WHERE stream IN (${jobs})`,
    );
    await run(
      `INSERT INTO urls ${rowsOfAnswer(URLS!, (name) => (name === 'events' ? 'checked_' : quoted(name)))}; DROP TABLE checked_`,
    );
  }

  async forget(log: Deleting): Promise<number> {
    const { run, all } = this.database;
    const [[after]] = (await all('SELECT forgotten FROM copied')) as [[string]];
    const reached = await log.head();
    const going = await this.#stageGoing(log, after);
    const remember = `UPDATE copied SET forgotten = ${sqlText(reached)}`;
    if (going.length === 0) {
      if (reached > after) await run(remember);
      return 0;
    }
    const found = await all('SELECT type, count(*) FROM events WHERE stream IN (FROM going_) GROUP BY type');
    this.#step();
    const types = found.map(([type]) => String(type));
    await this.#transaction(types, this.position, async () => {
      // The results of a job go with its listing too: without their URLs they say nothing.
      await run(`DELETE FROM urls WHERE 'urls-' || job_id IN (FROM going_)
        OR position IN (SELECT position FROM URLChecked WHERE stream IN (FROM going_))`);
      for (const table of ['events', 'listing_', ...types.filter((type) => TABLES.has(type)).map(quoted)]) {
        await run(`DELETE FROM ${table} WHERE stream IN (FROM going_)`);
      }
      await run(`INSERT INTO gone_ FROM going_; ${remember}`);
      this.#step();
    });
    for (const stream of going) this.#gone.add(stream);
    // Deleted rows are in the file until a checkpoint writes their groups anew.
    if (found.length > 0) await run('CHECKPOINT');
    return found.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** The streams that were deleted after a position, and are not known as such. */
  async #stageGoing(log: Deleting, after: string): Promise<string[]> {
    const { run, connection } = this.database;
    const going = new Set<string>();
    for await (const stream of log.deletedStreams(after)) if (!this.#gone.has(stream)) going.add(stream);
    if (going.size === 0) return [];
    await run('DELETE FROM going_');
    const appender = await connection.createAppender('going_');
    for (const stream of going) {
      appender.appendVarchar(stream);
      appender.endRow();
    }
    appender.closeSync();
    return [...going];
  }

  async #transaction(types: readonly string[], position: Position, work: () => Promise<void>): Promise<void> {
    const { run } = this.database;
    await run('BEGIN');
    try {
      await work();
      const changed = `list_distinct(list_concat(changed, [${types.map(sqlText).join(', ')}]::VARCHAR[]))`;
      await run(`UPDATE copied SET position = ${sqlText(position)}, changed = ${changed}`);
      this.#step();
      await run('COMMIT');
    } catch (error) {
      await run('ROLLBACK').catch(() => {});
      throw error;
    }
    this.#step();
    this.position = position;
  }

  async copied(): Promise<Copied> {
    const [row] = await this.database.all('SELECT position, log, version, id, changed, is_published FROM copied');
    const [position, log, version, id, changed, is_published] = row as [
      string,
      string,
      string,
      string,
      string[],
      boolean,
    ];
    return { position, log, version, id, changed: new Set(changed), is_published };
  }

  async published(): Promise<void> {
    this.#step();
    await this.database.run('UPDATE copied SET changed = [], is_published = true');
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

/** The tables of a copy that people read. */
export const COPIED_TABLES: readonly string[] = [...TABLES.keys()];

/** Those of them whose rows are other ones when events of these types came or went. */
export const changedTables = (changed: ReadonlySet<string>): readonly string[] =>
  changed.size === 0 ? [] : COPIED_TABLES.filter((name) => changed.has(name) || !EVENT_VIEWS.includes(name as never));

/**
 * A copy that was never brought to its place takes over from the one that is there, whose file may be lost. After that the other one is refused, so
 * that two machines do not write the place in turns. Throws `NoCopy`.
 */
export function assertOwner({ id, is_published }: Copied, there: string | null): void {
  if (there === null || there === id || !is_published) return;
  throw new NoCopy(
    'another machine has brought its copy there since: end one of the two, or give it a place of its own. To go on from here, remove the working copy, in copies/ of DATA_DIR',
  );
}
