// The `Documents` port on MongoDB, which must run as a replica set: a standalone server has no transactions.

import { randomUUID } from 'node:crypto';
import { type ClientSession, type CollectionInfo, type Db, MongoClient } from 'mongodb';
import type {
  Collection,
  CollectionSpec,
  Document,
  Documents,
  Inside,
  Reading,
} from '../../../readmodels/documents.ts';
import { TIME_LIMITS } from '../../../time/time-limits.ts';
import { mongoTls } from '../../mongodb-tls.ts';
import type { TlsFiles } from '../../tls-files.ts';
import { checkSpec } from '../spec.ts';
import { TransactionScope } from '../transaction-scope.ts';
import { makeCollection } from './catalogue.ts';
import { isUnauthorized, portError } from './errors.ts';
import { type Access, MongoCollection } from './mongo-collection.ts';
import { endTransactionsOf, type Log, Transactions } from './transactions.ts';
import { watchCollection } from './watch-collection.ts';

const SERVER_WAIT_MS = TIME_LIMITS.MongoDB.answer_ms;
/** Heartbeat interval, by which the driver notices a hung server and fails the calls that wait for it. */
const HEARTBEAT_MS = TIME_LIMITS.MongoDB.longest_wait_ms;
/** The shares of the wait for a server after which a connection or a heartbeat has failed, and transactions give up. */
const CONNECT_SHARE = 0.6;
const TRANSACTION_SHARE = 3;
const MAX_CONNECTIONS = 50;
const DEFAULT_DATABASE = 'url_checker';

/**
 * Connects to MongoDB. `database` defaults to the URL's, or else to `url_checker`. Throws `StoreUnavailable` when no server
 * answers, and an error when the server is not a replica set or the URL's user may not write. `server_wait_ms`: how long a call waits for a usable server before it
 * fails with the code `unavailable`.
 * @example const documents = await openMongoDocuments({ url: 'mongodb://127.0.0.1:27017/?replicaSet=rs0', log: pino() })
 */
export async function openMongoDocuments(options: {
  url: string;
  tls?: TlsFiles;
  database?: string;
  log: Log;
  server_wait_ms?: number;
}): Promise<Documents> {
  const { log, server_wait_ms = SERVER_WAIT_MS } = options;
  const name = `url-checker ${randomUUID()}`;
  const client = new MongoClient(options.url, {
    ...mongoTls(options.tls),
    appName: name,
    serverSelectionTimeoutMS: server_wait_ms,
    connectTimeoutMS: server_wait_ms * CONNECT_SHARE,
    heartbeatFrequencyMS: HEARTBEAT_MS,
    maxPoolSize: MAX_CONNECTIONS,
    waitQueueTimeoutMS: server_wait_ms * 2,
    readConcern: { level: 'majority' },
    writeConcern: { w: 'majority' },
    readPreference: 'primary',
    retryReads: true,
    retryWrites: true,
    ignoreUndefined: true,
  });
  try {
    await client.connect();
    const hello = await client.db('admin').command({ hello: 1 });
    if (!hello.setName && hello.msg !== 'isdbgrid') {
      throw new Error('MongoDB must run as a replica set (--replSet, then rs.initiate()): transactions need it');
    }
    const database = options.database ?? databaseOf(options.url) ?? DEFAULT_DATABASE;
    await assertWritable(client.db(database));
    const transactions = new Transactions(client, log, server_wait_ms * TRANSACTION_SHARE);
    return new MongoDocuments(name, client, client.db(database), { transactions, log });
  } catch (error) {
    await client.close();
    throw portError(error);
  }
}

/** Throws when the user of the URL may only read. What it writes matches no document, and makes no collection. */
async function assertWritable(db: Db): Promise<void> {
  try {
    await db.collection<Document>('rights').updateOne({ _id: '' }, { $set: {} });
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    throw new Error(`its user may not write: give it the role readWrite on its database`);
  }
}

function databaseOf(url: string): string | undefined {
  const name = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return name && decodeURIComponent(name);
}

class MongoDocuments implements Documents {
  readonly client: string;
  readonly is_concurrent = true;
  readonly #client: MongoClient;
  readonly #db: Db;
  readonly #transactions: Transactions;
  readonly #access: Access;
  /** Declarations known to exist on the server, so that a transaction need not look for them again. */
  readonly #known = new Set<string>();
  readonly #log: Log;
  readonly #closing = new AbortController();
  #closed = false;

  constructor(
    name: string,
    client: MongoClient,
    db: Db,
    { transactions, log }: { transactions: Transactions; log: Log },
  ) {
    this.client = name;
    this.#client = client;
    this.#db = db;
    this.#log = log;
    this.#transactions = transactions;
    this.#access = {
      read: (work) => {
        this.#refuseClosed();
        return mapped(() => work(undefined));
      },
      writeOne: async (work) => {
        this.#refuseWrites();
        await mapped(() => work(undefined));
      },
      writeAll: async (work) => {
        this.#refuseWrites();
        await this.#transactions.run(this, work);
      },
    };
  }

  async collection<T extends Document>(spec: CollectionSpec<T>): Promise<Collection<T>> {
    this.#refuseClosed();
    const declared = checkSpec(spec);
    await mapped(() => makeCollection(this.#db, declared));
    this.#known.add(JSON.stringify(spec));
    return new MongoCollection<T>(declared, this.#db.collection<Document>(declared.name), this.#access);
  }

  reading<T extends Document>(spec: CollectionSpec<T>): Reading<T> {
    const declared = checkSpec(spec);
    return new MongoCollection<T>(declared, this.#db.collection<Document>(declared.name), this.#access);
  }

  async transaction<R>(fn: (inside: Inside) => Promise<R>): Promise<R> {
    this.#refuseWrites();
    return this.#transactions.run(this, (session, scope) =>
      fn(new InsideTransaction(this.#db, session, scope, this.#known)),
    );
  }

  async drop(name: string): Promise<void> {
    this.#refuseWrites();
    this.#known.clear();
    await mapped(() => this.#db.dropCollection(name));
  }

  async names(): Promise<string[]> {
    return [...(await this.identities()).keys()].sort();
  }

  async identities(): Promise<ReadonlyMap<string, string>> {
    this.#refuseClosed();
    return mapped(() => collectionUuids(this.#db));
  }

  watch(name: string, changed: () => void): void {
    this.#refuseClosed();
    void watchCollection(this.#db.collection(name), changed, { signal: this.#closing.signal, log: this.#log });
  }

  async endTransactionsOf(client: string): Promise<void> {
    this.#refuseClosed();
    await mapped(() => endTransactionsOf(this.#client, client));
  }

  async close(): Promise<void> {
    TransactionScope.refuseWithin(this);
    this.#closed = true;
    this.#closing.abort();
    await this.#client.close();
  }

  /** Without this check the driver would reconnect. */
  #refuseClosed(): void {
    if (this.#closed) throw new Error('the documents are closed');
  }

  #refuseWrites(): void {
    this.#refuseClosed();
    TransactionScope.refuseWithin(this);
  }
}

async function mapped<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw portError(error);
  }
}

async function collectionUuids(db: Db): Promise<ReadonlyMap<string, string>> {
  const collections = (await db.listCollections({}, { nameOnly: false }).toArray()) as CollectionInfo[];
  const own = collections.filter(({ name }) => !name.startsWith('system.'));
  return new Map(own.map(({ name, info }) => [name, String(info?.uuid)]));
}

/** The same collections over the session of the transaction, which takes one call at a time. */
class InsideTransaction implements Inside {
  readonly #db: Db;
  readonly #scope: TransactionScope;
  readonly #access: Access;
  readonly #known: Set<string>;

  constructor(db: Db, session: ClientSession, scope: TransactionScope, known: Set<string>) {
    this.#db = db;
    this.#scope = scope;
    this.#known = known;
    let last: Promise<unknown> = Promise.resolve();
    const inTurn = <R>(work: (session: ClientSession) => Promise<R>): Promise<R> => {
      const turn = last.then(async () => {
        scope.check();
        try {
          return await work(session);
        } catch (error) {
          // The server has aborted the transaction.
          const failure = portError(error);
          scope.fail(failure);
          throw failure;
        }
      });
      last = turn.catch(() => {}); // the caller gets the error from `turn`
      return turn;
    };
    this.#access = {
      read: inTurn,
      writeOne: async (work) => void (await inTurn(work)),
      writeAll: async (work) => void (await inTurn(work)),
    };
  }

  async collection<T extends Document>(spec: CollectionSpec<T>): Promise<Collection<T>> {
    this.#scope.check();
    const declared = checkSpec(spec);
    // MongoDB makes collections and indexes outside of transactions, so missing ones are made beside this one.
    if (!this.#known.has(JSON.stringify(spec))) await mapped(() => makeCollection(this.#db, declared));
    this.#known.add(JSON.stringify(spec));
    return new MongoCollection<T>(declared, this.#db.collection<Document>(declared.name), this.#access);
  }
}
