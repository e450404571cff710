// Checks writes, and applies an update to a document by MongoDB's rules.
import { type Document, UnsupportedQuery, type Update, type Write } from '../../readmodels/documents.ts';
import { checkFilter, type Expression } from './query.ts';
import {
  checkDocument,
  checkHeld,
  checkId,
  checkJson,
  type Declared,
  isPlainObject,
  pathSegments,
  valueAt,
} from './spec.ts';

/** Limit of operations in one `write`. A transaction may hold several writes. */
const MAX_WRITES = 10_000;
/** The most nulls that an update may append to an array: MongoDB's own limit. */
const MAX_ARRAY_PADDING = 1_500_000;

export type CheckedWrite<T extends Document> =
  | { kind: 'insert'; document: T }
  | { kind: 'replace'; document: T }
  | { kind: 'update'; id: string; update: Update; upsert: boolean }
  | { kind: 'delete'; id: string }
  | { kind: 'deleteMany'; where: Expression };

export function checkWrites<T extends Document>(spec: Declared, ops: readonly Write<T>[]): CheckedWrite<T>[] {
  if (ops.length > MAX_WRITES) throw new UnsupportedQuery(`${ops.length} writes at once: at most ${MAX_WRITES}`);
  return ops.map((op) => checkWrite(spec, op));
}

function checkWrite<T extends Document>(spec: Declared, op: Write<T>): CheckedWrite<T> {
  const names = Object.keys(op);
  if ('update' in op) {
    if (names.some((name) => !['update', 'set', 'upsert'].includes(name))) {
      throw new UnsupportedQuery(`an update with ${names.join(', ')}`);
    }
    checkId(op.update);
    checkUpdate(spec, op.set);
    return { kind: 'update', id: op.update, update: op.set, upsert: op.upsert === true };
  }
  if (names.length !== 1) throw new UnsupportedQuery(`a write of ${names.join(', ') || 'nothing'}`);
  if ('insert' in op) {
    checkDocument(spec, op.insert);
    return { kind: 'insert', document: op.insert };
  }
  if ('replace' in op) {
    checkDocument(spec, op.replace);
    return { kind: 'replace', document: op.replace };
  }
  if ('delete' in op) {
    checkId(op.delete);
    return { kind: 'delete', id: op.delete };
  }
  if ('deleteMany' in op) return { kind: 'deleteMany', where: checkFilter(spec, op.deleteMany) };
  throw new UnsupportedQuery(`${names[0]} is not a write`);
}

const UPDATE_OPERATORS = ['$set', '$inc', '$setOnInsert'];

function checkUpdate(spec: Declared, update: Update): void {
  if (!isPlainObject(update)) throw new UnsupportedQuery('an update is an object');
  const paths: string[] = [];
  for (const [operator, changes] of Object.entries(update)) {
    if (!UPDATE_OPERATORS.includes(operator)) throw new UnsupportedQuery(`${operator} is not an update`);
    if (!isPlainObject(changes)) throw new UnsupportedQuery(`${operator} takes an object`);
    for (const [path, value] of Object.entries(changes)) {
      pathSegments(path);
      paths.push(path);
      checkChange(operator, path, value);
      checkDeclaredFields(spec, path, value);
    }
  }
  paths.sort();
  for (const [place, path] of paths.entries()) {
    const clash = paths.find((other, at) => at !== place && (other === path || other.startsWith(`${path}.`)));
    if (clash) throw new UnsupportedQuery(`an update that changes ${path} and ${clash}`);
  }
}

function checkChange(operator: string, path: string, value: unknown): void {
  if (path === '_id' || path.startsWith('_id.')) throw new UnsupportedQuery('an update of _id');
  if (operator !== '$inc') checkJson(value, pathSegments(path).length);
  else if (!Number.isFinite(value)) throw new UnsupportedQuery(`$inc ${path}: a number`);
}

/** Throws when the change could give a declared field a kind of value that it is not declared to hold. */
function checkDeclaredFields(spec: Declared, path: string, value: unknown): void {
  for (const field of spec.fields.values()) {
    if (path.startsWith(`${field.path}.`)) {
      throw new UnsupportedQuery(`${field.path} is filtered by as a whole: an update of ${path} would change its kind`);
    }
    if (path === field.path) checkHeld(field, value);
    if (field.path.startsWith(`${path}.`)) {
      checkHeld(field, valueAt(value, field.segments.slice(pathSegments(path).length)));
    }
  }
}

/** Applies the update to the document in place. */
export function applyUpdate(document: Document, update: Update, inserting: boolean): void {
  for (const [path, value] of Object.entries(update.$set ?? {})) setAt(document, path, () => value);
  if (inserting) {
    for (const [path, value] of Object.entries(update.$setOnInsert ?? {})) setAt(document, path, () => value);
  }
  for (const [path, by] of Object.entries(update.$inc ?? {})) {
    setAt(document, path, (there) => {
      if (there !== undefined && typeof there !== 'number') throw new UnsupportedQuery(`$inc ${path}: not a number`);
      return (there ?? 0) + by;
    });
  }
}

type Container = Record<string, unknown>;

function setAt(document: Document, path: string, change: (there: unknown) => unknown): void {
  const segments = path.split('.');
  const last = segments.pop()!;
  let container = document as unknown as Container;
  for (const name of segments) {
    if (!Object.hasOwn(container, name)) place(container, name, {});
    const next = container[name];
    if (typeof next !== 'object' || next === null) {
      throw new UnsupportedQuery(`${path} cannot be set: ${name} is ${JSON.stringify(next)}`);
    }
    container = next as Container;
  }
  place(container, last, change(Object.hasOwn(container, last) ? container[last] : undefined));
}

/** Sets a name of an object, or an index of an array after filling the array up with nulls. */
function place(container: Container, name: string, value: unknown): void {
  if (Array.isArray(container)) {
    const index = /^(0|[1-9]\d*)$/.test(name) ? Number(name) : Number.NaN;
    if (!(index <= container.length + MAX_ARRAY_PADDING)) throw new UnsupportedQuery(`${name} is not an index`);
    while (container.length < index) container.push(null);
  }
  container[name] = value;
}
