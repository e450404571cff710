// The port of the read models' store: collections of JSON documents, in a documented subset of MongoDB's language.
// Adapters: `adapters/documents/{sqlite,mongodb}`. The contract suite in `test/contracts/documents.ts` holds for each.

export interface Document {
  _id: string;
}

/** Describes a collection. Filters and sorts may name declared fields only; any other is an error. */
export interface CollectionSpec<T extends Document> {
  readonly name: string;
  /** The dotted paths that filters and sorts may name, with the types of their values. */
  readonly fields: { readonly [path: string]: 'string' | 'number' | 'boolean' };
  readonly indexes: readonly IndexSpec[];
  /** Fields that tell any two documents apart because the ids are made of them. The store does not check it. */
  readonly identity?: readonly string[];
  /** Whether it has few documents, however long the service runs: a read of all of them is not worth a thread. */
  readonly is_small?: true;
  /** Never set: it only carries the document's type. */
  readonly type?: T;
}

/** What a read model has of single persons, and why the file of a person's data may leave it out. */
export const PERSONAL = {
  none: 'nothing of a single person',
  in_file: 'the file has it',
  of_results: 'results of a job, which its own export has',
  derived: 'made of the same events as what is in the file',
  unfinished: 'steps that are not done yet',
  administration: 'what administrators did, and have to decide',
} as const;

type Personal = keyof typeof PERSONAL;

/**
 * What a document takes on the embedded stores and when it goes, as the table for operators says it, and what it has of a person.
 * @example kept('380 a domain', 'never', 'none') // { kept: { bytes: '380 a domain', until: 'never' }, personal: 'none' }
 */
export const kept = (bytes: string, until: string, personal: Personal) => ({ kept: { bytes, until }, personal });

/** A collection that a projection makes of the log. Decision 199 says why it has all of this. */
export interface ReadModelSpec<T extends Document> extends CollectionSpec<T>, Readonly<ReturnType<typeof kept>> {}

/** A read model whose documents are read by their ids. */
export const readById = <T extends Document>(name: string, of: ReturnType<typeof kept>): ReadModelSpec<T> => ({
  ...{ name, fields: {}, indexes: [] },
  ...of,
});

export interface IndexSpec {
  /** In order; 1 ascending, -1 descending. */
  readonly fields: { readonly [path: string]: 1 | -1 };
}

export type Scalar = string | number | boolean | null;

/** Values compare as in MongoDB: `null` matches a null and a missing field. */
export type Condition =
  | Scalar
  | {
      $ne?: Scalar;
      $gt?: string | number;
      $gte?: string | number;
      $lt?: string | number;
      $lte?: string | number;
      $in?: readonly Scalar[];
      $nin?: readonly Scalar[];
      /** A literal text anywhere in the value, in any case. MongoDB has no such operator: adapters use a regex, LIKE or GLOB. */
      $contains?: string;
      /** A regular expression in the part of the syntax that PCRE and ECMAScript share. */
      $regex?: string;
    };

/** All fields must match. An unknown operator is an error. */
export type Filter = {
  [path: string]: Condition | readonly Filter[] | undefined;
  $and?: readonly Filter[];
  $or?: readonly Filter[];
};

/** Fields in order of precedence. Adapters add `_id` last unless it is named, so that every order is total. */
export type Sort = { [path: string]: 1 | -1 };

export interface FindOptions {
  sort?: Sort;
  skip?: number;
  /** 1 to 10,000. Default 1,000. */
  limit?: number;
  /** Keyset paging: the values of the sort's fields (`_id` last) in the document before the page. */
  after?: readonly Scalar[];
  /**
   * A declared index, by which the store reads whatever it would choose. For a caller who knows how many documents match: a store that
   * does not tries every index that may serve, or reads all of the longest.
   */
  index?: IndexSpec;
  /** An abort gives the read up, which then throws the signal's reason. */
  signal?: AbortSignal;
}

/** The first documents of a page. */
export interface Slice<T extends Document> {
  documents: T[];
  /** The page has more documents after these, which are together too long for one read. At least one document came. */
  is_cut: boolean;
}

export interface Update {
  $set?: { [path: string]: unknown };
  $inc?: { [path: string]: number };
  /** Applied only when the update inserts. */
  $setOnInsert?: { [path: string]: unknown };
}

export type Write<T extends Document> =
  /** Fails with `DuplicateKey` when another document has the id. */
  | { insert: T }
  /** Inserts the document, or replaces the one with its id. */
  | { replace: T }
  | { update: string; set: Update; upsert?: boolean }
  | { delete: string }
  | { deleteMany: Filter };

export interface Collection<T extends Document> {
  get(id: string): Promise<T | null>;
  /** Returns the documents that exist, in the order of the ids. At most 10,000 ids. */
  getMany(ids: readonly string[]): Promise<T[]>;
  find(filter: Filter, options?: FindOptions): Promise<T[]>;
  /** Finds like `find`, but stops after some megabytes of documents, 16 MiB at most. */
  slice(filter: Filter, options?: FindOptions): Promise<Slice<T>>;
  /** Yields all matching documents in the sort's order. It reads slices, so its memory grows neither with their number nor their size. */
  stream(filter: Filter, options?: { sort?: Sort; signal?: AbortSignal }): AsyncIterable<T>;
  count(filter: Filter, options?: { signal?: AbortSignal }): Promise<number>;
  /** Applies the writes in order, all or none. Throws `DuplicateKey`, `WriteConflict` and the store's errors. */
  write(ops: readonly Write<T>[]): Promise<void>;
}

export interface Reading<T extends Document> extends Omit<Collection<T>, 'write'> {
  /**
   * The document as the store has it now, as text, without a wait; null where there is none, undefined where the store cannot tell at once.
   * Missing where the store is a server.
   */
  textNow?(id: string): string | null | undefined;
}

/** The room on a disk, in bytes. */
export interface Room {
  free_bytes: number;
  total_bytes: number;
}

/** The disk of a store that is a file of this machine. */
export interface StoreDisk {
  /** The room on the disk, and what the store's file uses and has free within itself. */
  room(): Promise<Room & { used_bytes: number; reusable_bytes: number }>;
  /** What collections take, with their indexes. It reads all of their pages. */
  bytesOf(names: readonly string[]): Promise<number>;
}

export interface Documents {
  /** Missing where the store is a server. */
  readonly disk?: StoreDisk;
  /**
   * Opens a collection; makes it, its fields and its indexes when they are missing.
   * @example await (await documents.collection(jobs)).write([{ update: id, set: { $set: { status: 'paused' } } }]);
   */
  collection<T extends Document>(spec: CollectionSpec<T>): Promise<Collection<T>>;
  /**
   * Opens a collection for reading and makes nothing. A missing collection reads as an empty one until the projector makes it;
   * a collection that lacks a declared field or index may fail with the code `unavailable`.
   */
  reading<T extends Document>(spec: CollectionSpec<T>): Reading<T>;
  /**
   * Runs `fn` inside one transaction: all its writes are stored or none, and its reads see them. When another writer was first,
   * the adapter calls `fn` again a few times, then throws `WriteConflict`.
   */
  transaction<R>(fn: (inside: Inside) => Promise<R>): Promise<R>;
  /** Drops the collection with its documents; does nothing when it does not exist. */
  drop(name: string): Promise<void>;
  /** Returns the names of all collections. */
  names(): Promise<string[]>;
  /** Returns the identity of each collection, by name: one that was dropped and made again has another. */
  identities(): Promise<ReadonlyMap<string, string>>;
  /**
   * Calls `changed` soon after each commit that wrote the collection, by any thread or process, until `close`. It may call it
   * without a change, once for several, and not at all while the store is away: callers also look for themselves, seldom.
   */
  watch(name: string, changed: () => void): void;
  /** Whether this client's transactions run side by side. Where they do not, one that waits for another inside itself never ends. */
  readonly is_concurrent: boolean;
  /** Names this client to the others; null where the store itself ends the transactions of a process that has ended. */
  readonly client: string | null;
  /** Ends the transactions of another client, which its process or machine may have left open: their locks keep others waiting. */
  endTransactionsOf(client: string): Promise<void>;
  close(): Promise<void>;
}

/** The documents inside a transaction. */
export type Inside = Pick<Documents, 'collection'>;

/** The caller used an operator, a field or a value outside the subset: a defect. */
export class UnsupportedQuery extends Error {
  readonly code = 'unsupported_query';
}
/** Another document has the id. */
export class DuplicateKey extends Error {
  readonly code = 'duplicate_key';
}
/** Another transaction wrote the same documents first. */
export class WriteConflict extends Error {
  readonly code = 'write_conflict';
}
/** A transaction wrote more than the store holds in memory, or took too long, and was rolled back; a smaller one may succeed. */
export class TransactionTooLarge extends Error {
  readonly code = 'transaction_too_large';
}
/** A read took longer than the store's time limit. */
export class ReadTooSlow extends Error {
  readonly code = 'read_too_slow';
}
