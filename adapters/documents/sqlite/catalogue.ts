// Makes the tables and indexes of collections: one rowid table each, with the document as JSON text and a generated column for each
// declared field that holds scalars.
import { randomUUID } from 'node:crypto';
import type { Declared, DeclaredIndex, Field } from '../spec.ts';
import type { Connection } from './connection.ts';
import { column, columnExpression, columnName, identifier } from './names.ts';

/** Whether the table has every declared field and index. Reads only. */
export function isThere(connection: Connection, spec: Declared): boolean {
  const there = columnsOf(connection, spec.name);
  if (there.size === 0 || columnsToBe(spec).some((field) => !there.has(columnName(field.path)))) return false;
  const indexes = indexesOf(connection, spec.name);
  return spec.indexes.every((index) => indexes.has(indexName(spec, index)));
}

/** Whether a collection of that name exists, with any fields and indexes. */
export function isTable(connection: Connection, name: string): boolean {
  return columnsOf(connection, name).size > 0;
}

/** Makes missing columns and indexes; leaves those that others declared. The caller holds a transaction. */
export function makeCollection(connection: Connection, spec: Declared): void {
  const there = columnsOf(connection, spec.name);
  const wanted = columnsToBe(spec);
  if (there.size === 0) {
    connection.exec(tableSql(spec, wanted));
  } else if (wanted.some((field) => !there.has(columnName(field.path)))) {
    widen(connection, spec, wanted, there);
  }
  const indexes = indexesOf(connection, spec.name);
  for (const index of spec.indexes) {
    if (!indexes.has(indexName(spec, index))) makeIndex(connection, spec, index);
  }
}

export function dropCollection(connection: Connection, name: string): void {
  connection.drop(`DROP TABLE IF EXISTS ${identifier(name)}`);
}

/** With its indexes. It reads a page of each, which is in no cache. */
export function bytesOfCollection(connection: Connection, name: string): number {
  const parts = connection.all('SELECT name FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0', [name]);
  const bytes = parts.map(([part]) =>
    connection.all('SELECT sum(pgsize) FROM dbstat WHERE name = ? AND aggregate = TRUE', [String(part)]),
  );
  return bytes.reduce((sum, rows) => sum + Number(rows[0]?.[0] ?? 0), 0);
}

export function collectionNames(connection: Connection): string[] {
  const rows =
    connection.all(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY name`);
  return rows.map(([name]) => String(name));
}

/** Tables of earlier versions have no identity but their name. */
export function collectionIdentities(connection: Connection): Map<string, string> {
  const rows = connection.all(`SELECT name, sql FROM sqlite_schema WHERE type = 'table'`);
  return new Map(rows.map(([name, sql]) => [String(name), IDENTITY.exec(String(sql))?.[1] ?? String(name)]));
}
/** A comment of the table's declaration, which SQLite keeps as it is. */
const IDENTITY = /\(\/\* ([\w-]+) \*\//;

/**
 * `doc` is the last column, so that a scan of the other columns skips the overflow pages of long documents. Where one index
 * holds every column, queries read them there, and the table stores none: its columns are virtual. SQLite takes virtual columns from an
 * index only in a table that is not STRICT.
 */
function tableSql(spec: Declared, wanted: readonly Field[]): string {
  const is_virtual = spec.indexes.some((index) =>
    wanted.every(({ path }) => index.keys.some((key) => key.path === path)),
  );
  const columns = wanted.map((field) => (is_virtual ? virtualSql(field) : columnSql(field)));
  const body = `/* ${randomUUID()} */ _id TEXT NOT NULL PRIMARY KEY, ${columns.map((sql) => `${sql}, `).join('')}doc TEXT NOT NULL`;
  return `CREATE TABLE ${identifier(spec.name)} (${body})${is_virtual ? '' : ' STRICT'}`;
}

const virtualSql = (field: Field): string =>
  `${column(field.path)} GENERATED ALWAYS AS (${columnExpression(field)}) VIRTUAL`;
const columnSql = (field: Field): string =>
  `${column(field.path)} ANY GENERATED ALWAYS AS (${columnExpression(field)}) STORED`;

const columnsToBe = (spec: Declared): Field[] => [...spec.fields.values()].filter((field) => field.path !== '_id');

/** SQLite cannot add a stored column, so this copies the table into a wider one, with its old columns and indexes. */
function widen(connection: Connection, spec: Declared, wanted: readonly Field[], there: ReadonlySet<string>): void {
  const [[old] = []] = connection.all(`SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?`, [spec.name]);
  const indexes = connection.all(
    `SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`,
    [spec.name],
  );
  const missing = wanted.filter((field) => !there.has(columnName(field.path))).map(columnSql);
  const table = identifier(spec.name);
  const beside = identifier(`${spec.name} widened`);
  // The copy keeps the old columns as declared, because another version of the service may use them.
  const body = String(old).slice(String(old).indexOf('('));
  const end = body.lastIndexOf('doc TEXT NOT NULL)');
  const widened = `${body.slice(0, end)}${missing.join(', ')}, ${body.slice(end)}`;
  connection.exec(`CREATE TABLE ${beside} ${widened}`);
  connection.exec(`INSERT INTO ${beside} (_id, doc) SELECT _id, doc FROM ${table} ORDER BY rowid`);
  connection.exec(`DROP TABLE ${table}`);
  connection.exec(`ALTER TABLE ${beside} RENAME TO ${table}`);
  for (const [sql] of indexes) connection.exec(String(sql));
}

function makeIndex(connection: Connection, spec: Declared, index: DeclaredIndex): void {
  const table = identifier(spec.name);
  const name = indexName(spec, index);
  const columns = index.keys.map((key) => `${column(key.path)}${key.direction === 1 ? '' : ' DESC'}`);
  connection.exec(`CREATE INDEX ${identifier(name)} ON ${table} (${columns.join(', ')})`);
}

// SQLite's tables and indexes share one namespace that ignores case. An index's name has a space, which no collection's name
// has, and `columnName` encodes capitals.
export function indexName(spec: Declared, index: DeclaredIndex): string {
  const fields = index.fields.map(({ path, direction }) => `${direction === 1 ? '' : '-'}${columnName(path)}`);
  return `${spec.name} index ${fields.join(',')}`;
}

function columnsOf(connection: Connection, name: string): Set<string> {
  return new Set(connection.all('SELECT name FROM pragma_table_xinfo(?)', [name]).map(([column]) => String(column)));
}

function indexesOf(connection: Connection, name: string): Set<string> {
  return new Set(connection.all('SELECT name FROM pragma_index_list(?)', [name]).map(([index]) => String(index)));
}
