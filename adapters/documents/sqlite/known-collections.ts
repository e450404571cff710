// Caches which collections a connection has found complete, so that not every use reads the catalogue. A change of the
// file's schema version, by any connection, empties the cache.
import type { CollectionSpec, Document } from '../../../readmodels/documents.ts';
import { checkSpec, type Declared } from '../spec.ts';
import { isTable, isThere } from './catalogue.ts';
import type { Connection } from './connection.ts';

interface Known {
  fields: object;
  indexes: object;
  declared: Declared;
}

export class KnownCollections {
  readonly #connection: Connection;
  readonly #known = new Map<string, Known>();
  #schema_version: unknown;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Forgets what a change of the schema may have made untrue. Inside a transaction the schema changes by it alone. */
  refresh(): void {
    const [[schema_version] = []] = this.#connection.all('PRAGMA schema_version');
    if (schema_version !== this.#schema_version) this.#known.clear();
    this.#schema_version = schema_version;
  }

  /** The checked declaration, and whether the collection has all its fields and indexes, as of the last refresh. Reads only. */
  look<T extends Document>(spec: CollectionSpec<T>): { declared: Declared; is_there: boolean } {
    if (this.#isKnown(spec)) return { declared: this.#known.get(spec.name)!.declared, is_there: true };
    const declared = checkSpec(spec);
    const is_there = isThere(this.#connection, declared);
    if (is_there) this.#known.set(spec.name, { fields: spec.fields, indexes: spec.indexes, declared });
    return { declared, is_there };
  }

  /**
   * Whether the collection is there, missing, or there with other fields or indexes. Another connection may be making it meanwhile, so
   * the whole question is asked of one snapshot. Reads only, outside of a transaction.
   */
  find<T extends Document>(spec: CollectionSpec<T>): 'there' | 'missing' | 'other' {
    if (this.#isKnown(spec)) return 'there';
    return this.#connection.snapshot(() => {
      if (this.look(spec).is_there) return 'there';
      return isTable(this.#connection, spec.name) ? 'other' : 'missing';
    });
  }

  #isKnown<T extends Document>(spec: CollectionSpec<T>): boolean {
    const known = this.#known.get(spec.name);
    return known?.fields === spec.fields && known.indexes === spec.indexes;
  }
}
