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

  async get(id: string): Promise<T | null> {
    return (await this.#isThere()) ? this.#collection.get(id) : null;
  }

  async getMany(ids: readonly string[]): Promise<T[]> {
    return (await this.#isThere()) ? this.#collection.getMany(ids) : [];
  }

  async find(filter: Filter, options?: FindOptions): Promise<T[]> {
    if (await this.#isThere()) return this.#collection.find(filter, options);
    checkQuery(this.#declared, filter, options);
    return [];
  }

  async slice(filter: Filter, options?: FindOptions): Promise<Slice<T>> {
    if (await this.#isThere()) return this.#collection.slice(filter, options);
    checkQuery(this.#declared, filter, options);
    return { documents: [], is_cut: false };
  }

  stream(filter: Filter, options?: { sort?: Sort; signal?: AbortSignal }): AsyncIterable<T> {
    return streamPages(this.#declared, (where, page) => this.slice(where, page), filter, options);
  }

  async count(filter: Filter, options?: { signal?: AbortSignal }): Promise<number> {
    if (await this.#isThere()) return this.#collection.count(filter, options);
    checkFilter(this.#declared, filter);
    return 0;
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
