// The port of the read models' store: collections of JSON documents in a documented subset of MongoDB's language.
// Adapters: `adapters/documents/{sqlite,mongodb}`; their promises are the contract suite in `test/contracts/documents.ts`.

export interface Document {
  _id: string;
}

/** What a collection is. Only declared fields may be filtered and sorted by; an undeclared one is an error. */
export interface CollectionSpec<T extends Document> {
  readonly name: string;
  /**
   * The paths (dotted) that filters and sorts may name, with what they hold. A path of an array matches as in
   * MongoDB when any element matches.
   */
  readonly fields: { readonly [path: string]: 'string' | 'number' | 'boolean' | 'array' };
  readonly indexes: readonly IndexSpec[];
  /** Never set: carries the type. */
  readonly type?: T;
}

export interface IndexSpec {
  /** In order; 1 ascending, -1 descending. */
  readonly fields: { readonly [path: string]: 1 | -1 };
  readonly unique?: boolean;
}

export type Scalar = string | number | boolean | null;

/** Values equal as in MongoDB: `null` matches a null and a missing field. */
export type Condition =
  | Scalar
  | {
      $eq?: Scalar;
      $ne?: Scalar;
      $gt?: string | number;
      $gte?: string | number;
      $lt?: string | number;
      $lte?: string | number;
      $in?: readonly Scalar[];
      $nin?: readonly Scalar[];
      $exists?: boolean;
      /** A literal text, case-insensitive in ASCII, anywhere in the value. Not MongoDB's own: adapters write it as a regex or LIKE. */
      $contains?: string;
      /** A regular expression in the part of the syntax that PCRE and ECMAScript share; `i` is the only option. */
      $regex?: string;
      $options?: 'i';
    };

/** Several fields are a conjunction. Any other operator is an error, never ignored. */
export type Filter = {
  [path: string]: Condition | readonly Filter[] | undefined;
  $and?: readonly Filter[];
  $or?: readonly Filter[];
};

/** In order; `_id` is added last when it is not named, so that every order is total. */
export type Sort = { [path: string]: 1 | -1 };

export interface FindOptions {
  sort?: Sort;
  skip?: number;
  /** 1 to 10,000; 1,000 unless told. */
  limit?: number;
  /** Keyset paging: the values of the sort's fields (with `_id` last) of the document after which to go on. */
  after?: readonly Scalar[];
  /** Aborts when nobody waits for the answer any more: the read is given up, and throws the signal's reason. */
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
  $unset?: { [path: string]: true };
  $inc?: { [path: string]: number };
  /** Only when the update inserts. */
  $setOnInsert?: { [path: string]: unknown };
}

export type Write<T extends Document> =
  /** Fails with `DuplicateKey` when the id, or a unique index's value, is there. */
  | { insert: T }
  /** Puts the document whether or not one is there. */
  | { replace: T }
  | { update: string; set: Update; upsert?: boolean }
  | { delete: string }
  | { deleteMany: Filter };

export interface Collection<T extends Document> {
  get(id: string): Promise<T | null>;
  /** In the order of the ids, without those that are not there. At most 10,000 ids. */
  getMany(ids: readonly string[]): Promise<T[]>;
  find(filter: Filter, options?: FindOptions): Promise<T[]>;
  /** As `find`, but it stops after some megabytes of documents, 16 MiB at most. */
  slice(filter: Filter, options?: FindOptions): Promise<Slice<T>>;
  /** All that match in the sort's order, read by slices: memory grows neither with their number nor with their length. */
  stream(filter: Filter, options?: { sort?: Sort; signal?: AbortSignal }): AsyncIterable<T>;
  count(filter: Filter, options?: { signal?: AbortSignal }): Promise<number>;
  /** In order, all or none. */
  write(ops: readonly Write<T>[]): Promise<void>;
}

/** The reads of a collection. */
export type Reading<T extends Document> = Omit<Collection<T>, 'write'>;

export interface Documents {
  /** Makes the collection, its declared fields and indexes when they are not there yet. */
  collection<T extends Document>(spec: CollectionSpec<T>): Promise<Collection<T>>;
  /**
   * The reads of a collection that somebody else makes. Nothing is made, and nothing but the documents is asked for. A
   * collection that is not there answers as an empty one, at every call anew; one that lacks a declared field or index
   * may fail with the code `unavailable`.
   */
  reading<T extends Document>(spec: CollectionSpec<T>): Reading<T>;
  /**
   * Runs `fn` with the same collections inside one transaction: all its writes or none, and its reads see them.
   * Throws `WriteConflict` (after the adapter's own few retries, which call `fn` again) when another writer was first.
   */
  transaction<R>(fn: (inside: Documents) => Promise<R>): Promise<R>;
  /** Gone with all its documents; not an error when there is none. */
  drop(name: string): Promise<void>;
  /** The names of the collections that are there. */
  names(): Promise<string[]>;
  close(): Promise<void>;
}

/** An operator, a field or a value outside the subset: a defect of the caller. */
export class UnsupportedQuery extends Error {
  readonly code = 'unsupported_query';
}
/** An id or a unique index's value that is there already. */
export class DuplicateKey extends Error {
  readonly code = 'duplicate_key';
}
/** Another transaction wrote the same documents first. */
export class WriteConflict extends Error {
  readonly code = 'write_conflict';
}
/** A read that took longer than a read may. */
export class ReadTooSlow extends Error {
  readonly code = 'read_too_slow';
}
