// Checks a collection's declaration, and that documents are JSON that every adapter stores alike.
import { type CollectionSpec, type Document, UnsupportedQuery } from '../../readmodels/documents.ts';

/** MongoDB's limit; SQLite allows ten times as many levels. */
const MAX_DEPTH = 100;
const MAX_FIELDS = 64;
const MAX_INDEXES = 32;
const MAX_PATH_LENGTH = 200;
/** Largest document, as JSON. MongoDB refuses larger BSON, which is about as long. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

export interface Field {
  path: string;
  segments: readonly string[];
  /** Declared to hold booleans; other fields may hold one all the same. */
  boolean: boolean;
}

/** A checked declaration. Its fields include `_id`. */
export interface Declared {
  name: string;
  fields: ReadonlyMap<string, Field>;
  indexes: readonly DeclaredIndex[];
  /** Fields of which no two documents have the same values, besides `_id`. */
  identity: readonly string[] | null;
}

export interface DeclaredIndex {
  /** As declared. */
  fields: readonly SortKey[];
  /**
   * The indexed keys. An index in which documents can be equal gets `_id` as its last key, so that a page after any
   * document is one seek in the index, however many documents are equal in the other keys.
   */
  keys: readonly SortKey[];
}

export interface SortKey {
  path: string;
  direction: 1 | -1;
}

/** The last declaration of these fields: collections are opened again and again, in each transaction. */
const checked = new WeakMap<object, Pick<CollectionSpec<Document>, 'indexes' | 'identity'> & { declared: Declared }>();

/** Checks a declaration once, as long as nobody opens another one of the same fields. */
export function checkSpec<T extends Document>(spec: CollectionSpec<T>): Declared {
  const { name, fields, indexes, identity } = spec;
  const last = checked.get(fields);
  if (last?.declared.name === name && last.indexes === indexes && last.identity === identity) return last.declared;
  const declared = declaredBy(spec);
  checked.set(fields, { indexes, ...(identity && { identity }), declared });
  return declared;
}

function declaredBy<T extends Document>(spec: CollectionSpec<T>): Declared {
  if (!/^[a-z][a-z0-9_.:@-]{0,99}$/.test(spec.name) || /^(sqlite_|system\.)/.test(spec.name)) {
    throw new UnsupportedQuery(`${JSON.stringify(spec.name)} cannot be the name of a collection`);
  }
  const declared = Object.entries(spec.fields);
  if (declared.length > MAX_FIELDS) throw new UnsupportedQuery(`${spec.name}: more than ${MAX_FIELDS} fields`);
  const fields = new Map<string, Field>([['_id', { path: '_id', segments: ['_id'], boolean: false }]]);
  for (const [path, holds] of declared) {
    if (!['string', 'number', 'boolean'].includes(holds)) {
      throw new UnsupportedQuery(`${spec.name}: ${path} cannot hold ${JSON.stringify(holds)}`);
    }
    if (path === '_id') continue;
    fields.set(path, { path, segments: pathSegments(path), boolean: holds === 'boolean' });
  }
  for (const path of fields.keys()) {
    const above = fields.keys().find((other) => other.startsWith(`${path}.`));
    if (above) throw new UnsupportedQuery(`${spec.name}: ${path} cannot be a field and hold the field ${above}`);
  }
  if (spec.indexes.length > MAX_INDEXES) throw new UnsupportedQuery(`${spec.name}: more than ${MAX_INDEXES} indexes`);
  const indexes = spec.indexes.map((index): DeclaredIndex => {
    const named = Object.entries(index.fields).map(([path, direction]): SortKey => {
      if (!fields.has(path)) throw new UnsupportedQuery(`${spec.name}: an index of ${path}, which is not declared`);
      if (direction !== 1 && direction !== -1) throw new UnsupportedQuery(`${spec.name}: the direction of ${path}`);
      return { path, direction };
    });
    const last = named.at(-1);
    if (!last || named[0]?.path === '_id') {
      throw new UnsupportedQuery(`${spec.name}: an index begins with a field other than _id`);
    }
    const whole = '_id' in index.fields || (spec.identity?.every((path) => path in index.fields) ?? false);
    return { fields: named, keys: whole ? named : [...named, { path: '_id', direction: last.direction }] };
  });
  return { name: spec.name, fields, indexes, identity: spec.identity ?? null };
}

/** Splits a dotted path into names. Throws when one of them is not safe as a field's name. */
export function pathSegments(path: string): string[] {
  const segments = path.split('.');
  const odd = segments.some(
    (name) => name === '' || name.startsWith('$') || name === '__proto__' || name.includes('\0'),
  );
  if (odd || path.length > MAX_PATH_LENGTH) throw new UnsupportedQuery(`${JSON.stringify(path)} is not a path`);
  return segments;
}

/** The document's value at the path, or undefined. Throws when the path leads through an array. */
export function valueAt(document: unknown, segments: readonly string[]): unknown {
  let value = document;
  for (const name of segments) {
    if (Array.isArray(value)) {
      throw new UnsupportedQuery(`the path ${segments.join('.')} leads through an array`);
    }
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

export function checkDocument(spec: Declared, document: Document): void {
  checkJson(document, 0);
  checkId(document._id);
  let is_flat = true;
  for (const name in document) {
    if (name.startsWith('$')) throw new UnsupportedQuery(`${spec.name}: a document cannot have the field ${name}`);
    is_flat &&= typeof document[name as keyof Document] !== 'object';
  }
  // What a field cannot hold is an object or an array.
  if (is_flat) return;
  for (const field of spec.fields.values()) checkHeld(field, valueAt(document, field.segments));
}

export function checkId(id: unknown): asserts id is string {
  if (typeof id !== 'string' || id === '') throw new UnsupportedQuery('an _id is a string that is not empty');
}

/** Throws when a declared field holds an object or an array: neither can be filtered or sorted by. */
export function checkHeld(field: Field, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const kind = Array.isArray(value) ? 'an array' : 'an object';
  throw new UnsupportedQuery(`${field.path} is filtered or sorted by, and cannot hold ${kind}`);
}

/** Throws for values that `JSON.stringify` would silently change or drop, except properties that are undefined. */
export function checkJson(value: unknown, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw new UnsupportedQuery(`${value} is not a JSON number`);
      return;
    case 'object':
      break;
    default:
      throw new UnsupportedQuery(`a ${typeof value} is not JSON`);
  }
  if (value === null) return;
  if (depth === MAX_DEPTH) throw new UnsupportedQuery(`a document is at most ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    for (const element of value) checkJson(element, depth + 1);
    return;
  }
  if (!isPlainObject(value)) throw new UnsupportedQuery(`${Object.prototype.toString.call(value)} is not JSON`);
  for (const name in value) {
    if (name.includes('\0')) throw new UnsupportedQuery('a name in a document cannot hold NUL');
    const held = value[name];
    if (held !== undefined) checkJson(held, depth + 1);
  }
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
