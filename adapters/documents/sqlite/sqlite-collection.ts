// A collection in a table: queries are SQL statements over its columns, documents are JSON text.
import type { SQLInputValue } from 'node:sqlite';
import {
  type Collection,
  type Document,
  type Filter,
  type FindOptions,
  type Slice,
  type Sort,
  UnsupportedQuery,
  type Write,
} from '../../../readmodels/documents.ts';
import { breather } from '../../../time/event-loop.ts';
import { keysetOf, segmentsAfter, streamPages } from '../pages.ts';
import { checkFilter, checkQuery, MAX_LIMIT, type Query } from '../query.ts';
import { type Declared, type DeclaredIndex, MAX_DOCUMENT_BYTES, type SortKey } from '../spec.ts';
import { applyUpdate, type CheckedWrite, checkWrites } from '../writes.ts';
import { indexName } from './catalogue.ts';
import type { Connection } from './connection.ts';
import { indexForCount, indexForPage, isSeek } from './index-choice.ts';
import { column, identifier } from './names.ts';
import { type ReadPlan, type Rows, WANTED } from './read-plan.ts';
import { filterSql, type Sql, segmentSql } from './sql-filter.ts';

/** Characters parsed between two looks at the clock. */
const CHARS_A_LOOK = 16 * 1024;
/** So few rows of an index are counted in less time than a message to a reader thread takes. */
const FEW = 100;
/** SQLite skips this many rows in well under a millisecond. */
const LIGHT_SKIP = 1000;

/** The documents that one statement writes, where a write has as many. */
const ROWS_A_STATEMENT = 200;

/** How a collection reaches the file: outside or inside a transaction. */
export interface Access {
  /** For queries and counts, which may scan many documents. */
  rows(plan: ReadPlan, signal?: AbortSignal): Promise<Rows>;
  /** For reads by id. */
  all(sql: string, params: readonly SQLInputValue[]): Promise<SQLInputValue[][]>;
  /** The same without a wait. Throws where the file is locked. Only outside of transactions. */
  now?(sql: string, params: readonly SQLInputValue[]): SQLInputValue[][];
  /** Commits all writes of `work`, or none. */
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
    return this.#parsed(await this.#access.all(this.#getSql(), [id]))[0] ?? null;
  }

  textNow(id: string): string | null | undefined {
    try {
      const rows = this.#access.now?.(this.#getSql(), [id]);
      return rows && ((rows[0]?.[0] as string | undefined) ?? null);
    } catch {
      return undefined;
    }
  }

  async getMany(ids: readonly string[]): Promise<T[]> {
    if (ids.length > MAX_LIMIT) throw new UnsupportedQuery(`${ids.length} ids: at most ${MAX_LIMIT}`);
    const sql = `SELECT doc FROM json_each(?) AS ids CROSS JOIN ${this.#table} AS t ON t._id = ids.value ORDER BY ids.key`;
    return this.#parsed(await this.#access.all(sql, [JSON.stringify(ids)]));
  }

  async find(filter: Filter, options?: FindOptions): Promise<T[]> {
    let query = checkQuery(this.#spec, filter, options);
    const documents: T[] = [];
    for (;;) {
      const slice = await this.#slice(query, options?.signal);
      documents.push(...slice.documents);
      if (!slice.is_cut) return documents;
      const after = keysetOf(this.#spec, query.keys, documents.at(-1)!);
      query = { ...query, after, skip: 0, limit: query.limit - slice.documents.length };
    }
  }

  async slice(filter: Filter, options?: FindOptions): Promise<Slice<T>> {
    return this.#slice(checkQuery(this.#spec, filter, options), options?.signal);
  }

  async #slice(query: Query, signal: AbortSignal | undefined): Promise<Slice<T>> {
    const { values, is_cut } = await this.#access.rows(this.#pagePlan(query), signal);
    return { documents: await this.#parse(values as string[]), is_cut };
  }

  async #parse(texts: readonly string[]): Promise<T[]> {
    const documents: T[] = [];
    const breathe = breather();
    let chars = 0;
    for (const text of texts) {
      documents.push(JSON.parse(text));
      chars += text.length;
      if (chars < CHARS_A_LOOK) continue;
      chars = 0;
      await breathe();
    }
    return documents;
  }

  stream(filter: Filter, options?: { sort?: Sort; signal?: AbortSignal }): AsyncIterable<T> {
    return streamPages(this.#spec, (where, page) => this.slice(where, page), filter, options);
  }

  async count(filter: Filter, options?: { signal?: AbortSignal }): Promise<number> {
    const where = checkFilter(this.#spec, filter);
    const index = indexForCount(this.#spec, where);
    const { text, params } = filterSql(where);
    const matching = `${this.#from(index)} WHERE ${WANTED} AND (${text})`;
    const read = (what: string, plan: Pick<ReadPlan, 'page' | 'is_heavy'>) =>
      this.#access.rows({ statements: [{ text: `SELECT ${what} ${matching}`, params }], ...plan }, options?.signal);
    if (isSeek(index, where)) {
      const few = await read('1', { page: { limit: FEW, skip: 0 }, is_heavy: false });
      if (few.values.length < FEW) return few.values.length;
    }
    // A seek may end in a million rows that are equal in it: to count is to read them.
    const { values } = await read('count(*)', { page: null, is_heavy: true });
    return Number(values[0] ?? 0);
  }

  async write(ops: readonly Write<T>[]): Promise<void> {
    if (ops.length === 0) return;
    // Checks and serializes before it takes the write lock.
    const checked = checkWrites(this.#spec, ops);
    const statements: ((connection: Connection) => void)[] = [];
    for (let from = 0; from < checked.length; ) {
      const op = checked[from]!;
      if (isPut(op)) {
        const run = checked.slice(from, endOfRun(checked, from)) as Put<T>[];
        statements.push(this.#put(op.kind, run));
        from += run.length;
      } else {
        statements.push(this.#statement(op));
        from++;
      }
    }
    await this.#access.write((connection) => {
      for (const execute of statements) execute(connection);
    });
  }

  /** One statement for many documents costs less than one for each. */
  #put(kind: Put<T>['kind'], ops: readonly Put<T>[]): (connection: Connection) => void {
    const params = ops.flatMap(({ document }) => [document._id, jsonText(document)]);
    const rows = ops.length === ROWS_A_STATEMENT ? ROWS_A_STATEMENT : 1;
    const sql = kind === 'insert' ? this.#insertSql(rows) : this.#replaceSql(rows);
    return (connection) => connection.runEach(sql, params, 2 * rows);
  }

  #statement(op: Exclude<CheckedWrite<T>, Put<T>>): (connection: Connection) => void {
    switch (op.kind) {
      case 'update':
        return (connection) => this.#update(connection, op);
      case 'delete': {
        const sql = `DELETE FROM ${this.#table} WHERE _id = ?`;
        return (connection) => connection.delete(sql, [op.id]);
      }
      case 'deleteMany': {
        const { text, params } = filterSql(op.where);
        return (connection) => connection.delete(`DELETE FROM ${this.#table} WHERE ${text}`, params);
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

  /** A page after a document runs its segments one after the other until it is full. */
  #pagePlan(query: Query): ReadPlan {
    const { where, keys, limit, skip, after } = query;
    const index = query.index ?? indexForPage(this.#spec, query);
    const filter = filterSql(where);
    const segments: Sql[] = after ? segmentsAfter(keys, after).flatMap(segmentSql) : [{ text: '1', params: [] }];
    const statements = segments.map(({ text, params }) => ({
      text:
        `SELECT doc ${this.#from(index)} WHERE ${WANTED} AND (${filter.text}) AND (${text}) ` +
        `ORDER BY ${orderSql(keys)}`,
      params: [...filter.params, ...params],
    }));
    return { statements, page: { limit, skip }, is_heavy: skip > LIGHT_SKIP || !isSeek(index, where) };
  }

  #from(index: DeclaredIndex | null): string {
    return `FROM ${this.#table}${index ? ` INDEXED BY ${identifier(indexName(this.#spec, index))}` : ''}`;
  }

  #getSql(): string {
    return `SELECT doc FROM ${this.#table} WHERE _id = ?`;
  }

  #insertSql(rows = 1): string {
    return `INSERT INTO ${this.#table} (_id, doc) VALUES (?, ?)${', (?, ?)'.repeat(rows - 1)}`;
  }

  #replaceSql(rows = 1): string {
    return `${this.#insertSql(rows)} ON CONFLICT (_id) DO UPDATE SET doc = excluded.doc`;
  }

  #parsed(rows: readonly SQLInputValue[][]): T[] {
    return rows.map(([doc]) => JSON.parse(doc as string));
  }
}

type Put<T extends Document> = CheckedWrite<T> & { kind: 'insert' | 'replace' };

const isPut = <T extends Document>(op: CheckedWrite<T>): op is Put<T> => op.kind === 'insert' || op.kind === 'replace';

/** The end of the operations from `from` on that are of its kind, as many as one statement takes. */
function endOfRun(ops: readonly CheckedWrite<Document>[], from: number): number {
  const most = Math.min(ops.length, from + ROWS_A_STATEMENT);
  let to = from + 1;
  while (to < most && ops[to]!.kind === ops[from]!.kind) to++;
  return to;
}

const orderSql = (keys: readonly SortKey[]): string =>
  keys.map(({ path, direction }) => `${column(path)}${direction === 1 ? '' : ' DESC'}`).join(', ');

function jsonText(document: Document): string {
  const text = JSON.stringify(document);
  // A character takes at most three bytes, so only long texts need an exact count.
  if (text.length * 3 > MAX_DOCUMENT_BYTES && Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    throw new UnsupportedQuery(`${document._id}: a document of more than ${MAX_DOCUMENT_BYTES} bytes`);
  }
  return text;
}
