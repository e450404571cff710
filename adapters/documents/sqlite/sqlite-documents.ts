// The `Documents` port on SQLite: one file that several threads and processes of one machine share.
import { mkdir, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type {
  Collection,
  CollectionSpec,
  Document,
  Documents,
  Inside,
  Reading,
  Room,
  StoreDisk,
} from '../../../readmodels/documents.ts';
import { checkSpec } from '../spec.ts';
import { TransactionScope } from '../transaction-scope.ts';
import {
  bytesOfCollection,
  collectionIdentities,
  collectionNames,
  dropCollection,
  makeCollection,
} from './catalogue.ts';
import { Changes } from './changes.ts';
import { Connection, whenReadable } from './connection.ts';
import { KnownCollections } from './known-collections.ts';
import { type ReadPlan, type Rows, runPlan } from './read-plan.ts';
import { ReaderPool } from './reader-pool.ts';
import { type Access, SqliteCollection } from './sqlite-collection.ts';
import { readingAccess } from './sqlite-reading.ts';
import { portError, Writer } from './writer.ts';

/** Time limit of a query: a longer one reads too many documents. */
const READ_MS = 15_000;
/** A page of at most this many documents that is one seek takes less time than a message to a reader thread. */
const SHORT_PAGE = 100;

export interface SqliteDocumentsOptions {
  path: string;
  readers?: number;
  read_ms?: number;
  /** Limit of the file's pages, by which tests simulate a full disk. */
  max_pages?: number;
  /** Nobody opens the file after this process: it waits for no disk. */
  is_temporary?: boolean;
  /** Default: the room on the disk of the file. */
  room?: () => Promise<Room>;
}

/**
 * Opens the file at `path`, and makes it and its folder when missing. Calls run on the calling thread; the event loop runs
 * only while they wait for another writer. With `readers`, that many threads run the queries and counts, each for at most
 * `read_ms`. Calls throw `WriteConflict`, `StoreUnavailable`, `ReadTooSlow`, `DuplicateKey` or `StorageFull`.
 * @example const documents = await openSqliteDocuments({ path: '.data/documents.sqlite', readers: 2 })
 */
export async function openSqliteDocuments(options: SqliteDocumentsOptions): Promise<Documents> {
  const { path, readers: threads = 0, read_ms = READ_MS, max_pages, is_temporary } = options;
  await mkdir(dirname(path), { recursive: true });
  const writing = await Connection.writer(path, { max_pages, is_temporary });
  try {
    const reader = await Connection.reader(path);
    const pool = threads > 0 ? new ReaderPool({ path, threads, read_ms }) : null;
    const changes = new Changes(() => reader.all('PRAGMA data_version')[0]![0]);
    const writer = new Writer(writing, () => changes.announce());
    const disk = openDisk(reader, options.room ?? (() => roomOf(path, reader)));
    return new SqliteDocuments(reader, pool, writer, changes, new KnownCollections(writing), disk);
  } catch (error) {
    writing.close();
    throw error;
  }
}

const pragmaOf = (reader: Connection, name: string) => Number(reader.all(`PRAGMA ${name}`)[0]![0]);

/** The room on the disk of the file, less what the file grows by when the write-ahead log is copied into it. */
async function roomOf(path: string, reader: Connection): Promise<Room> {
  const { bsize, bavail, blocks } = await statfs(dirname(path));
  const logged_bytes = await whenReadable(() => pragmaOf(reader, 'page_count') * pragmaOf(reader, 'page_size'));
  const growth_bytes = Math.max(0, logged_bytes - (await stat(path)).size);
  return { free_bytes: Math.max(0, bavail * bsize - growth_bytes), total_bytes: blocks * bsize };
}

function openDisk(reader: Connection, room: () => Promise<Room>): StoreDisk {
  const pragma = (name: string) => pragmaOf(reader, name);
  return {
    async room() {
      const [used_bytes, reusable_bytes] = await whenReadable(() => {
        const [page_bytes, free] = [pragma('page_size'), pragma('freelist_count')];
        return [(pragma('page_count') - free) * page_bytes, free * page_bytes] as const;
      });
      return { ...(await room()), used_bytes, reusable_bytes };
    },
    bytesOf: (names) => whenReadable(() => names.reduce((sum, name) => sum + bytesOfCollection(reader, name), 0)),
  };
}

const isShort = ({ is_heavy, page }: ReadPlan): boolean => !is_heavy && page !== null && page.limit <= SHORT_PAGE;

class SqliteDocuments implements Documents {
  readonly client = null;
  readonly disk: StoreDisk;
  readonly is_concurrent = false;
  readonly #reader: Connection;
  readonly #pool: ReaderPool | null;
  readonly #writer: Writer;
  readonly #changes: Changes;
  readonly #access: Access;
  readonly #known: KnownCollections;
  /** The cache of the writing connection. */
  readonly #known_inside: KnownCollections;

  constructor(
    reader: Connection,
    pool: ReaderPool | null,
    writer: Writer,
    changes: Changes,
    known_inside: KnownCollections,
    disk: StoreDisk,
  ) {
    this.disk = disk;
    this.#reader = reader;
    this.#pool = pool;
    this.#writer = writer;
    this.#changes = changes;
    this.#known = new KnownCollections(reader);
    this.#known_inside = known_inside;
    this.#access = {
      rows: (plan, signal) => this.#rows(plan, signal, isShort(plan)),
      all: (sql, params) => whenReadable(() => reader.all(sql, params)),
      now: (sql, params) => reader.all(sql, params),
      write: (work) => this.#write(work),
    };
  }

  async collection<T extends Document>(spec: CollectionSpec<T>): Promise<Collection<T>> {
    const { declared, is_there } = await whenReadable(() => {
      this.#known.refresh();
      return this.#known.look(spec);
    });
    if (!is_there) await this.#write((connection) => makeCollection(connection, declared));
    return new SqliteCollection<T>(declared, this.#accessOf(spec));
  }

  reading<T extends Document>(spec: CollectionSpec<T>): Reading<T> {
    return new SqliteCollection<T>(checkSpec(spec), readingAccess(spec, this.#known, this.#accessOf(spec)));
  }

  async transaction<R>(fn: (inside: Inside) => Promise<R>): Promise<R> {
    TransactionScope.refuseWithin(this);
    return this.#writer.transaction((connection) => {
      this.#known_inside.refresh();
      const scope = new TransactionScope(this);
      return scope.run(() => fn(new InsideTransaction(connection, scope, this.#known_inside)));
    });
  }

  async drop(name: string): Promise<void> {
    await this.#write((connection) => dropCollection(connection, name));
  }

  async names(): Promise<string[]> {
    return whenReadable(() => collectionNames(this.#reader));
  }

  async identities(): Promise<ReadonlyMap<string, string>> {
    return whenReadable(() => collectionIdentities(this.#reader));
  }

  watch(_name: string, changed: () => void): void {
    this.#changes.watch(changed);
  }

  async endTransactionsOf(): Promise<void> {}

  async close(): Promise<void> {
    TransactionScope.refuseWithin(this);
    this.#changes.close();
    await this.#writer.close();
    await this.#pool?.close();
    this.#reader.close();
  }

  #accessOf<T extends Document>({ is_small }: CollectionSpec<T>): Access {
    return is_small ? { ...this.#access, rows: (plan, signal) => this.#rows(plan, signal, true) } : this.#access;
  }

  async #rows(plan: ReadPlan, signal: AbortSignal | undefined, is_short: boolean): Promise<Rows> {
    signal?.throwIfAborted();
    if (this.#pool !== null && !is_short) return this.#pool.run(plan, signal);
    return whenReadable(() => runPlan(this.#reader, plan));
  }

  async #write<R>(work: (connection: Connection) => R): Promise<R> {
    TransactionScope.refuseWithin(this);
    return this.#writer.transaction(work);
  }
}

/** The same collections over the connection that holds the transaction. */
class InsideTransaction implements Inside {
  readonly #connection: Connection;
  readonly #scope: TransactionScope;
  readonly #access: Access;
  #known: KnownCollections;

  constructor(connection: Connection, scope: TransactionScope, known: KnownCollections) {
    this.#connection = connection;
    this.#scope = scope;
    this.#known = known;
    this.#access = {
      async rows(plan, signal) {
        scope.check();
        signal?.throwIfAborted();
        return runPlan(connection, plan);
      },
      async all(sql, params) {
        scope.check();
        return connection.all(sql, params);
      },
      write: async (work) => {
        scope.check();
        try {
          work(connection);
        } catch (error) {
          const failure = portError(error);
          scope.fail(failure);
          throw failure;
        }
      },
    };
  }

  async collection<T extends Document>(spec: CollectionSpec<T>): Promise<Collection<T>> {
    this.#scope.check();
    const { declared, is_there } = this.#known.look(spec);
    if (!is_there) {
      await this.#access.write((connection) => makeCollection(connection, declared));
      // A rollback would undo this table together with the schema version, so the shared cache must not learn of it.
      this.#known = new KnownCollections(this.#connection);
    }
    return new SqliteCollection<T>(declared, this.#access);
  }
}
