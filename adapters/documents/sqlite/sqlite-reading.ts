// Reads a collection that may not exist: each call looks for the table, and none makes it.
import type {
  CollectionSpec,
  Document,
  Filter,
  FindOptions,
  Reading,
  Slice,
  Sort,
} from '../../../readmodels/documents.ts';
import { streamPages } from '../pages.ts';
import { checkFilter, checkQuery } from '../query.ts';
import { checkSpec, type Declared } from '../spec.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type { KnownCollections } from './known-collections.ts';
import { type Access, SqliteCollection } from './sqlite-collection.ts';

export class SqliteReading<T extends Document> implements Reading<T> {
  readonly #spec: CollectionSpec<T>;
  readonly #declared: Declared;
  readonly #known: () => KnownCollections;
  readonly #access: Access;
  readonly #collection: SqliteCollection<T>;

  constructor(spec: CollectionSpec<T>, known: () => KnownCollections, access: Access) {
    this.#spec = spec;
    this.#declared = checkSpec(spec);
    this.#known = known;
    this.#access = access;
    this.#collection = new SqliteCollection<T>(this.#declared, access);
  }

  get(id: string): Promise<T | null> {
    return this.#read(
      () => this.#collection.get(id),
      () => null,
    );
  }

  getMany(ids: readonly string[]): Promise<T[]> {
    return this.#read(
      () => this.#collection.getMany(ids),
      () => [],
    );
  }

  async find(filter: Filter, options?: FindOptions): Promise<T[]> {
    checkQuery(this.#declared, filter, options);
    return this.#read(
      () => this.#collection.find(filter, options),
      () => [],
    );
  }

  async slice(filter: Filter, options?: FindOptions): Promise<Slice<T>> {
    checkQuery(this.#declared, filter, options);
    return this.#read(
      () => this.#collection.slice(filter, options),
      () => ({ documents: [], is_cut: false }),
    );
  }

  stream(filter: Filter, options?: { sort?: Sort; signal?: AbortSignal }): AsyncIterable<T> {
    return streamPages(this.#declared, (where, page) => this.slice(where, page), filter, options);
  }

  async count(filter: Filter, options?: { signal?: AbortSignal }): Promise<number> {
    checkFilter(this.#declared, filter);
    return this.#read(
      () => this.#collection.count(filter, options),
      () => 0,
    );
  }

  /** A collection that was found is read without another look; a read that fails for want of its table looks again. */
  async #read<R>(read: () => Promise<R>, nothing: () => R): Promise<R> {
    if (!(await this.#isThere())) return nothing();
    try {
      return await read();
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.#access.read(() => this.#known().refresh());
      return (await this.#isThere()) ? await read() : nothing();
    }
  }

  #isThere(): Promise<boolean> {
    const known = this.#known();
    return this.#access.read(() => {
      if (known.look(this.#spec).is_there) return true;
      if (!known.hasTable(this.#spec.name)) return false;
      throw new StoreUnavailable(`${this.#spec.name} lacks a field or an index of its declaration`);
    });
  }
}

/** SQLite knows the table, a column or the index no more. */
const isMissing = (error: unknown): boolean => error instanceof Error && error.message.startsWith('no such ');
