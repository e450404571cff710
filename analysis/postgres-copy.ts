// Brings a copy of the events to a database of PostgreSQL, as tables of one schema. All that a call changes there is one transaction, with the
// position that it reaches: readers see the whole of it or nothing, and a call that is killed leaves nothing.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { ANSWER_TABLES } from './answers.ts';
import { assertOwner, COPIED_TABLES, type Copy, changedTables, NoCopy } from './copy.ts';
import { type Database, sqlText } from './duckdb.ts';
import { COLUMNS } from './tables.ts';
import { quoted, type SqlColumn } from './views.ts';

/** The packages are not installed. */
class NoPostgres extends Error {
  readonly code = 'no_postgres';
}

async function loadPostgres() {
  try {
    const [{ default: pg }, { from: copyFrom }] = await Promise.all([import('pg'), import('pg-copy-streams')]);
    return { pg, copyFrom };
  } catch (cause) {
    throw new NoPostgres('this needs packages that are not installed: npm install pg pg-copy-streams', { cause });
  }
}

/** Names have no case, as in SQL. */
const tableOf = (name: string) => quoted(name.toLowerCase());
const TYPES: Readonly<Record<string, string>> = {
  ...{ VARCHAR: 'text', BIGINT: 'bigint', DOUBLE: 'double precision', BOOLEAN: 'boolean' },
  'TIMESTAMP WITH TIME ZONE': 'timestamptz',
};
/** Lists, structs and maps are JSON. */
const typeOf = ({ type }: SqlColumn) => TYPES[type] ?? 'json';
const columnsOf = (table: string) => COLUMNS.get(table)!;
const definitionOf = (table: string) =>
  columnsOf(table)
    .map((column) => `${tableOf(column.name)} ${typeOf(column)}`)
    .join(', ');

/** They are made of other tables, and written anew when these change; rows of the others are added and deleted. */
const [, ...MADE] = ANSWER_TABLES.map(({ name }) => name);

interface Reached {
  position: string;
  log: string;
  version: string;
  copy_id: string;
  /** The deleted streams of the copy that are deleted here. */
  gone: number;
}

const NOTHING: Omit<Reached, 'log' | 'version'> = { position: '', copy_id: '', gone: 0 };

/**
 * `url`: of the database, with `?schema=NAME`. `folder`: for files that are there for as long as a table is sent. `step`: called before each step that a power cut may
 * separate from the next. Throws `NoCopy` for a schema with the tables of somebody else.
 */
export async function publishToPostgres(
  copy: Copy,
  url: string,
  folder: string,
  step: () => void = () => {},
): Promise<void> {
  const { pg, copyFrom } = await loadPostgres();
  const address = new URL(url);
  const schema = address.searchParams.get('schema') ?? 'events';
  address.searchParams.delete('schema');
  const client = new pg.Client({ connectionString: address.href, application_name: 'url-checker events copy' });
  // A connection that breaks fails the query that waits for it, and is told twice.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`url-checker copy ${schema}`]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}; SET LOCAL search_path = ${quoted(schema)}`);
    const sender = new Sender(client, copy.database, { folder, step, copyFrom });
    await bringUpToDate(client, copy, sender);
    step();
    await client.query('COMMIT');
    step();
  } catch (error) {
    // The package names no code where the server ends the connection.
    const is_cut = (error as Error).message.startsWith('Connection terminated');
    throw is_cut ? Object.assign(error as Error, { code: 'ECONNRESET' }) : error;
  } finally {
    // An open transaction ends with its connection.
    await client.end().catch(() => {});
  }
  await copy.published();
}

async function bringUpToDate(client: Client, copy: Copy, sender: Sender): Promise<void> {
  const copied = await copy.copied();
  const there = await reachedIn(client, copied.log);
  assertOwner(copied, there?.copy_id ?? null);
  // The copy of another machine may have reached a later position, whose rows would come twice.
  const is_continued = there?.version === copied.version && there.position <= copied.position;
  if (!is_continued) await makeTables(client);
  const reached = is_continued ? there : NOTHING;
  const is_own = reached.copy_id === copied.id;
  const streams = await sender.deleteGone(is_own ? reached.gone : 0);
  for (const table of is_own ? changedTables(copied.changed) : COPIED_TABLES) {
    if (MADE.includes(table)) await sender.replace(table);
    else await sender.add(table, reached.position);
  }
  await client.query('DELETE FROM copied');
  await client.query('INSERT INTO copied VALUES ($1, $2, $3, $4, $5)', [
    ...[copied.position, copied.log, copied.version, copied.id, streams],
  ]);
}

/** Null in a schema that is new, or whose tables were never filled. */
async function reachedIn(client: Client, log: string): Promise<Reached | null> {
  const { rows: tables } = await client.query<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
  );
  if (tables.length === 0) return null;
  if (tables.every(({ name }) => name !== 'copied'))
    throw new NoCopy('the schema has tables that are no copy of events: name another one by ?schema=NAME');
  const { rows } = await client.query<Reached>('SELECT position, log, version, copy_id, gone::int FROM copied');
  const [reached] = rows;
  if (reached !== undefined && reached.log !== log)
    throw new NoCopy('the schema has a copy of another log: name another one by ?schema=NAME');
  return reached ?? null;
}

/**
 * Tables that are as they were keep the views that somebody has made of them; one with other columns is made anew, which PostgreSQL refuses, and
 * says so, where views read it.
 */
async function makeTables(client: Client): Promise<void> {
  await client.query('CREATE TABLE IF NOT EXISTS copied_tables (name text PRIMARY KEY, definition text)');
  await client.query(
    'CREATE TABLE IF NOT EXISTS copied (position text, log text, version text, copy_id text, gone bigint)',
  );
  const { rows } = await client.query<{ name: string; definition: string }>(
    'SELECT name, definition FROM copied_tables',
  );
  const there = new Map(rows.map(({ name, definition }) => [name, definition]));
  for (const table of COPIED_TABLES) {
    const definition = definitionOf(table);
    if (there.get(table) === definition) {
      await client.query(`TRUNCATE ${tableOf(table)}`);
      continue;
    }
    await client.query(`DROP TABLE IF EXISTS ${tableOf(table)}; CREATE TABLE ${tableOf(table)} (${definition})`);
    if (table === 'urls') await client.query('CREATE INDEX ON urls (job_id)');
    if (table === 'events') await client.query('CREATE INDEX ON events (stream)');
    await client.query(
      'INSERT INTO copied_tables VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET definition = EXCLUDED.definition',
      [table, definition],
    );
  }
}

interface Sending {
  folder: string;
  step(): void;
  copyFrom: typeof import('pg-copy-streams').from;
}

/** Moves rows from DuckDB to PostgreSQL, as CSV, which both write and read themselves. */
class Sender {
  readonly #client: Client;
  readonly #database: Database;
  readonly #sending: Sending;

  constructor(client: Client, database: Database, sending: Sending) {
    this.#client = client;
    this.#database = database;
    this.#sending = sending;
  }

  /** Deletes the rows of the streams that are gone after the first `known`. Returns how many streams are gone. */
  async deleteGone(known: number): Promise<number> {
    const [[all]] = (await this.#database.all('SELECT count(*) FROM gone_')) as [[number]];
    if (all <= known) return all;
    await this.#client.query('CREATE TEMP TABLE going (stream text) ON COMMIT DROP');
    await this.#send(`SELECT stream FROM gone_ WHERE rowid >= ${known}`, 'pg_temp.going');
    const { rows } = await this.#client.query<{ type: string }>(
      'SELECT DISTINCT type FROM events WHERE stream IN (SELECT stream FROM going)',
    );
    if (rows.length === 0) return all;
    await this.#client.query(`DELETE FROM urls WHERE 'urls-' || job_id IN (SELECT stream FROM going)
      OR position IN (SELECT position FROM urlchecked WHERE stream IN (SELECT stream FROM going))`);
    const types = rows.map(({ type }) => type).filter((type) => COLUMNS.has(type));
    for (const table of ['events', ...types])
      await this.#client.query(`DELETE FROM ${tableOf(table)} WHERE stream IN (SELECT stream FROM going)`);
    return all;
  }

  add(table: string, after: string): Promise<void> {
    return this.#send(`${rowsOf(table)} WHERE position > ${sqlText(after)}`, tableOf(table));
  }

  async replace(table: string): Promise<void> {
    await this.#client.query(`DELETE FROM ${tableOf(table)}`);
    await this.#send(rowsOf(table), tableOf(table));
  }

  async #send(query: string, table: string): Promise<void> {
    const { folder, step, copyFrom } = this.#sending;
    const path = join(folder, `${randomUUID()}.csv`);
    step();
    try {
      await writeFile(path, '', { mode: 0o600 });
      await this.#database.run(`COPY (${query}) TO ${sqlText(path)} (FORMAT csv, HEADER false, NULLSTR '\\N')`);
      const copying = this.#client.query(copyFrom(`COPY ${table} FROM STDIN (FORMAT csv, NULL '\\N')`));
      await pipeline(createReadStream(path), copying);
    } finally {
      await rm(path, { force: true });
    }
  }
}

const rowsOf = (table: string): string => `SELECT ${columnsOf(table).map(sentOf).join(', ')} FROM ${quoted(table)}`;

/** As PostgreSQL takes it: no text there has the character NUL. */
function sentOf(column: SqlColumn): string {
  const name = quoted(column.name);
  const type = typeOf(column);
  if (type === 'text') return `replace(${name}, chr(0), '')`;
  if (type !== 'json' || column.type === 'JSON') return name;
  return `CASE WHEN ${name} IS NOT NULL THEN to_json(${name}) END`;
}
