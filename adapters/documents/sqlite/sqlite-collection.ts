// A collection in a table: queries are SQL statements over its columns, documents are JSON text.
import type { SQLInputValue } from 'node:sqlite';
import {
  type Collection,
  type Document,
  type Filter,
  type FindOptions,
  type Sort,
  UnsupportedQuery,
  type Write,
} from '../../../readmodels/documents.ts';
import { segmentsAfter, streamPages } from '../pages.ts';
import { checkFilter, checkQuery, MAX_LIMIT, type Query, type SortKey } from '../query.ts';
import { type Declared, type DeclaredIndex, MAX_DOCUMENT_BYTES } from '../spec.ts';
import { applyUpdate, type CheckedWrite, checkWrites } from '../writes.ts';
import { indexName } from './catalogue.ts';
import type { Connection } from './connection.ts';
import { indexForCount, indexForPage } from './index-choice.ts';
import { column, identifier } from './names.ts';
import { filterSql, type Sql, segmentSql } from './sql-filter.ts';

/** How a collection reaches the file: outside or inside a transaction. */
export interface Access {
  read<R>(work: (connection: Connection) => R): R;
  /** All or none of what `work` writes. */
  write(work: (connection: Connection) => void): Promise<void>;
}

export class SqliteCollection<T extends Document> implements Collection<T> {
  readonly #spec: Declared;
  readonly #access: Access;
  readonly #table: string;

  constructor(spec: Declared, access: Access) {
    this.#spec = spec;
    this.#access = access;
    this.#table = identifier(spec.name);
  }

  async get(id: string): Promise<T | null> {
    const rows = this.#access.read((connection) => connection.all(this.#getSql(), [id]));
    return this.#parsed(rows)[0] ?? null;
  }

  async getMany(ids: readonly string[]): Promise<T[]> {
    if (ids.length > MAX_LIMIT) throw new UnsupportedQuery(`${ids.length} ids: at most ${MAX_LIMIT}`);
    const sql = `SELECT doc FROM json_each(?) AS ids CROSS JOIN ${this.#table} AS t ON t._id = ids.value ORDER BY ids.key`;
    return this.#parsed(this.#access.read((connection) => connection.all(sql, [JSON.stringify(ids)])));
  }

  async find(filter: Filter, options?: FindOptions): Promise<T[]> {
    const query = checkQuery(this.#spec, filter, options);
    const where = filterSql(this.#spec, query.where);
    return this.#parsed(
      this.#access.read((connection) =>
        query.after ? this.#pageAfter(connection, query, where) : this.#page(connection, query, where, query.limit),
      ),
    );
  }

  stream(filter: Filter, options?: { sort?: Sort }): AsyncIterable<T> {
    return streamPages(this.#spec, (where, page) => this.find(where, page), filter, options?.sort);
  }

  async count(filter: Filter): Promise<number> {
    const expression = checkFilter(this.#spec, filter);
    const { text, params } = filterSql(this.#spec, expression);
    const from = this.#from(indexForCount(this.#spec, expression));
    const rows = this.#access.read((connection) => connection.all(`SELECT count(*) ${from} WHERE ${text}`, params));
    return Number(rows[0]![0]);
  }

  async write(ops: readonly Write<T>[]): Promise<void> {
    if (ops.length === 0) return;
    // Everything that can be done before the lock is taken is done before.
    const statements = checkWrites(this.#spec, ops).map((op) => this.#statement(op));
    await this.#access.write((connection) => {
      for (const execute of statements) execute(connection);
    });
  }

  #statement(op: CheckedWrite<T>): (connection: Connection) => void {
    switch (op.kind) {
      case 'insert':
      case 'replace': {
        const params = [op.document._id, jsonText(op.document)];
        const sql = op.kind === 'insert' ? this.#insertSql() : this.#replaceSql();
        return (connection) => connection.run(sql, params);
      }
      case 'update':
        return (connection) => this.#update(connection, op);
      case 'delete': {
        const sql = `DELETE FROM ${this.#table} WHERE _id = ?`;
        return (connection) => connection.run(sql, [op.id]);
      }
      case 'deleteMany': {
        const { text, params } = filterSql(this.#spec, op.where);
        return (connection) => connection.run(`DELETE FROM ${this.#table} WHERE ${text}`, params);
      }
    }
  }

  #update(connection: Connection, { id, update, upsert }: CheckedWrite<T> & { kind: 'update' }): void {
    const [there] = this.#parsed(connection.all(this.#getSql(), [id]));
    if (!there && !upsert) return;
    const document: Document = there ?? { _id: id };
    applyUpdate(document, update, !there);
    if (!there) connection.run(this.#insertSql(), [id, jsonText(document)]);
    else connection.run(`UPDATE ${this.#table} SET doc = ? WHERE _id = ?`, [jsonText(document), id]);
  }

  #page(connection: Connection, { where, keys, skip }: Query, sql: Sql, limit: number): SQLInputValue[][] {
    const from = this.#from(indexForPage(this.#spec, { where, keys }));
    return connection.all(`SELECT doc ${from} WHERE ${sql.text} ORDER BY ${orderSql(keys)} LIMIT ? OFFSET ?`, [
      ...sql.params,
      limit,
      skip,
    ]);
  }

  /** The segments after a document one after the other, until the page is full; all see the same moment. */
  #pageAfter(connection: Connection, query: Query, where: Sql): SQLInputValue[][] {
    const begun = !connection.inTransaction;
    if (begun) connection.exec('BEGIN');
    try {
      const rows: SQLInputValue[][] = [];
      for (const segment of segmentsAfter(query.keys, query.after!).flatMap(segmentSql)) {
        if (rows.length === query.limit) break;
        const text = `(${where.text}) AND (${segment.text})`;
        const params = [...where.params, ...segment.params];
        rows.push(...this.#page(connection, query, { text, params }, query.limit - rows.length));
      }
      return rows;
    } finally {
      if (begun) connection.exec('COMMIT');
    }
  }

  #from(index: DeclaredIndex | null): string {
    return `FROM ${this.#table}${index ? ` INDEXED BY ${identifier(indexName(this.#spec, index))}` : ''}`;
  }

  #getSql(): string {
    return `SELECT doc FROM ${this.#table} WHERE _id = ?`;
  }

  #insertSql(): string {
    return `INSERT INTO ${this.#table} (_id, doc) VALUES (?, ?)`;
  }

  #replaceSql(): string {
    return `${this.#insertSql()} ON CONFLICT (_id) DO UPDATE SET doc = excluded.doc`;
  }

  #parsed(rows: readonly SQLInputValue[][]): T[] {
    return rows.map(([doc]) => JSON.parse(doc as string));
  }
}

const orderSql = (keys: readonly SortKey[]): string =>
  keys.map(({ path, direction }) => `${column(path)}${direction === 1 ? '' : ' DESC'}`).join(', ');

function jsonText(document: Document): string {
  const text = JSON.stringify(document);
  // A character of JSON text is at most three bytes: only long ones are worth measuring.
  if (text.length * 3 > MAX_DOCUMENT_BYTES && Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    throw new UnsupportedQuery(`${document._id}: a document of more than ${MAX_DOCUMENT_BYTES} bytes`);
  }
  return text;
}
