// The port's `Collection` on a collection of MongoDB.

import {
  type AnyBulkWriteOperation,
  type ClientSession,
  type FindCursor,
  MongoBulkWriteError,
  MongoError,
  type Collection as MongoNative,
} from 'mongodb';
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
import { TIME_LIMITS } from '../../../time/time-limits.ts';
import { streamPages } from '../pages.ts';
import { checkFilter, checkQuery, MAX_LIMIT } from '../query.ts';
import { type Declared, MAX_DOCUMENT_BYTES, type SortKey } from '../spec.ts';
import { type CheckedWrite, checkWrites } from '../writes.ts';
import { mongoFilter, pageFilters } from './mongo-filter.ts';

/** How a collection reaches the server: outside or inside a transaction. Both throw the port's errors. */
export interface Access {
  read<R>(work: (session: ClientSession | undefined) => Promise<R>): Promise<R>;
  /** For a write of one document, which the server makes atomic. */
  writeOne(work: (session: ClientSession | undefined) => Promise<unknown>): Promise<void>;
  /** Commits all writes of `work`, or none. */
  writeAll(work: (session: ClientSession) => Promise<unknown>): Promise<void>;
}

export class MongoCollection<T extends Document> implements Collection<T> {
  readonly #spec: Declared;
  readonly #native: MongoNative<Document>;
  readonly #access: Access;

  constructor(spec: Declared, native: MongoNative<Document>, access: Access) {
    this.#spec = spec;
    this.#native = native;
    this.#access = access;
  }

  async get(id: string): Promise<T | null> {
    const found = await this.#access.read((session) => this.#native.findOne({ _id: id }, { session }));
    return found as T | null;
  }

  async getMany(ids: readonly string[]): Promise<T[]> {
    if (ids.length > MAX_LIMIT) throw new UnsupportedQuery(`${ids.length} ids: at most ${MAX_LIMIT}`);
    const found = await this.#access.read((session) =>
      this.#native.find({ _id: { $in: [...ids] } }, { session, batchSize: MAX_LIMIT }).toArray(),
    );
    const byId = new Map(found.map((document) => [document._id, document as T]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  }

  async find(filter: Filter, options?: FindOptions): Promise<T[]> {
    const all = async (cursor: FindCursor<Document>) => ({ documents: await cursor.toArray(), is_cut: false });
    return (await this.#read(filter, options, all)).documents;
  }

  slice(filter: Filter, options?: FindOptions): Promise<Slice<T>> {
    return this.#read(filter, options, firstBatch);
  }

  async #read(
    filter: Filter,
    options: FindOptions | undefined,
    take: (cursor: FindCursor<Document>) => Promise<Slice<Document>>,
  ): Promise<Slice<T>> {
    const query = checkQuery(this.#spec, filter, options);
    const sort = keyPattern(query.keys);
    const hint = query.index ? { hint: keyPattern(query.index.keys) } : {};
    const { signal } = options ?? {};
    const documents: Document[] = [];
    let is_cut = false;
    for (const part of pageFilters(query)) {
      signal?.throwIfAborted();
      const limit = query.limit - documents.length;
      if (limit === 0 || is_cut) break;
      const taken = await this.#access.read((session) =>
        take(
          this.#native.find(part, {
            sort,
            ...hint,
            skip: query.skip,
            limit,
            batchSize: limit,
            signal,
            ...within(session),
          }),
        ),
      );
      documents.push(...taken.documents);
      is_cut = taken.is_cut && documents.length < query.limit;
    }
    return { documents: documents as T[], is_cut };
  }

  stream(filter: Filter, options?: { sort?: Sort; signal?: AbortSignal }): AsyncIterable<T> {
    return streamPages(this.#spec, (where, page) => this.slice(where, page), filter, options);
  }

  async count(filter: Filter, { signal }: { signal?: AbortSignal } = {}): Promise<number> {
    signal?.throwIfAborted();
    const where = mongoFilter(checkFilter(this.#spec, filter));
    return this.#access.read((session) => this.#native.countDocuments(where, { signal, ...within(session) }));
  }

  async write(ops: readonly Write<T>[]): Promise<void> {
    if (ops.length === 0) return;
    const checked = checkWrites(this.#spec, ops);
    const bulk = (session: ClientSession | undefined) =>
      this.#native.bulkWrite(checked.map(operation), { ordered: true, session }).catch(rethrow);
    // The driver retries a write of one document exactly once; every other write needs a transaction.
    if (checked.length === 1 && checked[0]!.kind !== 'deleteMany') await this.#access.writeOne(bulk);
    else await this.#access.writeAll(bulk);
  }
}

const keyPattern = (keys: readonly SortKey[]) =>
  Object.fromEntries(keys.map(({ path, direction }) => [path, direction]));

/** The server ends a batch at 16 MiB. */
async function firstBatch(cursor: FindCursor<Document>): Promise<Slice<Document>> {
  try {
    await cursor.hasNext();
    const documents = cursor.readBufferedDocuments();
    return { documents, is_cut: cursor.id !== undefined && !cursor.id.isZero() };
  } finally {
    await cursor.close();
  }
}

/** Adds the session, or else the time limit: a transaction has a limit of its own. */
const within = (session: ClientSession | undefined) => (session ? { session } : { maxTimeMS: READ_MS });
/** Time limit of a query: a longer one reads too many documents. */
const READ_MS = TIME_LIMITS.MongoDB.unavailable_after_ms;

function operation<T extends Document>(op: CheckedWrite<T>): AnyBulkWriteOperation<Document> {
  switch (op.kind) {
    case 'insert':
      return { insertOne: { document: op.document } };
    case 'replace':
      return { replaceOne: { filter: { _id: op.document._id }, replacement: op.document, upsert: true } };
    case 'update': {
      // MongoDB takes an empty operator but no empty update.
      const update = Object.keys(op.update).length === 0 ? { $set: {} } : op.update;
      return { updateOne: { filter: { _id: op.id }, update: update as object, upsert: op.upsert } };
    }
    case 'delete':
      return { deleteOne: { filter: { _id: op.id } } };
    case 'deleteMany':
      return { deleteMany: { filter: mongoFilter(op.where) } };
  }
}

/**
 * Unwraps errors of the driver's `bulkWrite`: it wraps connection errors in write errors, as their response, and reports a
 * document that is too large by its message alone.
 */
function rethrow(error: unknown): never {
  if (error instanceof MongoBulkWriteError && error.errorResponse instanceof MongoError) throw error.errorResponse;
  const large =
    error instanceof RangeError || (error instanceof Error && /larger than the maximum/.test(error.message));
  if (!large) throw error;
  throw new UnsupportedQuery(`a document of more than ${MAX_DOCUMENT_BYTES} bytes`, { cause: error });
}
