// Checks filters, sorts and pages against a collection's declaration, and parses them into the form that both adapters
// translate. A query outside of the port's subset throws `UnsupportedQuery` and never reaches a database.
import {
  type Filter,
  type FindOptions,
  type IndexSpec,
  type Scalar,
  UnsupportedQuery,
} from '../../readmodels/documents.ts';
import { type Declared, type DeclaredIndex, isPlainObject, type SortKey } from './spec.ts';

export const MAX_LIMIT = 20_000;
const DEFAULT_LIMIT = 1_000;
const MAX_FILTER_DEPTH = 8;
const MAX_CONDITIONS = 500;
const MAX_LISTED_VALUES = 10_000;
const MAX_TEXT_LENGTH = 1_000;
const MAX_PATTERN_LENGTH = 1_000;
const MAX_SORT_KEYS = 8;

export type Comparison =
  | { op: 'eq'; value: Scalar }
  | { op: 'ne'; value: Scalar }
  | { op: 'gt' | 'gte' | 'lt' | 'lte'; value: string | number }
  | { op: 'in'; values: readonly Scalar[] }
  | { op: 'nin'; values: readonly Scalar[] }
  | { op: 'contains'; text: string }
  | { op: 'regex'; pattern: string };

/** A filter: a condition on one field, or several expressions of which all, or any, must hold. */
export type Expression =
  | { all: readonly Expression[] }
  | { any: readonly Expression[] }
  | { path: string; test: Comparison };

export interface Query {
  where: Expression;
  /** A total order: it ends with `_id`, or with the last field of an identity. */
  keys: readonly SortKey[];
  skip: number;
  limit: number;
  /** A value for each key, or null to begin with the first document. */
  after: readonly Scalar[] | null;
  /** The index that the caller chose; null leaves the choice to the adapter. */
  index: DeclaredIndex | null;
}

export function checkFilter(spec: Declared, filter: Filter): Expression {
  const budget = { conditions: 0 };
  return conjunction(spec, filter, 0, budget);
}

export function checkQuery(spec: Declared, filter: Filter, options: FindOptions = {}): Query {
  for (const name of Object.keys(options)) {
    if (!['sort', 'skip', 'limit', 'after', 'index', 'signal'].includes(name))
      throw new UnsupportedQuery(`the option ${name}`);
  }
  const { skip = 0, limit = DEFAULT_LIMIT, after, index } = options;
  if (!Number.isSafeInteger(skip) || skip < 0) throw new UnsupportedQuery(`skip ${skip} is not a whole number`);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new UnsupportedQuery(`limit ${limit} is not from 1 to ${MAX_LIMIT}`);
  }
  if (after && skip > 0) throw new UnsupportedQuery('skip and after exclude each other');
  const where = checkFilter(spec, filter);
  const all = sortKeys(spec, options.sort);
  if (after && after.length !== all.length) {
    throw new UnsupportedQuery(`after has ${after.length} values for ${all.map((key) => key.path).join(', ')}`);
  }
  after?.forEach((value, place) => {
    const scalar = checkScalar('after', value);
    if (all[place]!.path === '_id' && typeof scalar !== 'string') throw new UnsupportedQuery('an _id is a string');
  });
  const keys = all.slice(0, lengthOfTotalOrder(spec, where, all));
  const chosen = index === undefined ? null : indexOf(spec, index);
  return { where, keys, skip, limit, after: after?.slice(0, keys.length) ?? null, index: chosen };
}

function indexOf(spec: Declared, { fields }: IndexSpec): DeclaredIndex {
  const wanted = JSON.stringify(Object.entries(fields));
  const found = spec.indexes.find((index) => {
    return JSON.stringify(index.fields.map(({ path, direction }) => [path, direction])) === wanted;
  });
  if (!found) throw new UnsupportedQuery(`${spec.name}: an index of ${Object.keys(fields)}, which is not declared`);
  return found;
}

/** The sort's keys, then `_id` in the direction of the last key, so that reversing every direction reverses the order. */
export function sortKeys(spec: Declared, sort: FindOptions['sort'] = {}): SortKey[] {
  const keys = Object.entries(sort).map(([path, direction]) => {
    checkPath(spec, path);
    if (direction !== 1 && direction !== -1) throw new UnsupportedQuery(`${spec.name}: the direction of ${path}`);
    return { path, direction };
  });
  if (keys.length > MAX_SORT_KEYS) throw new UnsupportedQuery(`a sort by more than ${MAX_SORT_KEYS} fields`);
  if (!keys.some((key) => key.path === '_id')) keys.push({ path: '_id', direction: keys.at(-1)?.direction ?? 1 });
  return keys;
}

/** How many of the first keys already order all documents. Further keys would only cost a sort. */
function lengthOfTotalOrder(spec: Declared, where: Expression, keys: readonly SortKey[]): number {
  const fixed = new Set(fixedPaths(where));
  for (const [place, key] of keys.entries()) {
    fixed.add(key.path);
    if (key.path === '_id' || spec.identity?.every((path) => fixed.has(path))) return place + 1;
  }
  return keys.length;
}

/** The fields that have the same value in all matching documents. */
export function fixedPaths(where: Expression): string[] {
  if ('all' in where) return where.all.flatMap(fixedPaths);
  if ('any' in where) return [];
  return where.test.op === 'eq' ? [where.path] : [];
}

function conjunction(spec: Declared, filter: Filter, depth: number, budget: { conditions: number }): Expression {
  if (!isPlainObject(filter)) throw new UnsupportedQuery('a filter is an object');
  spend(budget);
  if (depth > MAX_FILTER_DEPTH) throw new UnsupportedQuery(`a filter deeper than ${MAX_FILTER_DEPTH}`);
  const all: Expression[] = [];
  for (const [path, condition] of Object.entries(filter)) {
    if (path === '$and' || path === '$or') {
      if (condition === undefined) continue;
      if (!Array.isArray(condition) || condition.length === 0) {
        throw new UnsupportedQuery(`${path} takes a list that is not empty`);
      }
      const parts = condition.map((part: Filter) => conjunction(spec, part, depth + 1, budget));
      all.push(path === '$and' ? { all: parts } : { any: parts });
    } else {
      checkPath(spec, path);
      for (const test of comparisons(path, condition)) {
        spend(budget);
        all.push({ path, test });
      }
    }
  }
  return all.length === 1 ? all[0]! : { all };
}

/** Counts a condition, or a filter that holds conditions, towards the limit. */
function spend(budget: { conditions: number }): void {
  budget.conditions += 1;
  if (budget.conditions > MAX_CONDITIONS)
    throw new UnsupportedQuery(`a filter of more than ${MAX_CONDITIONS} conditions`);
}

function checkPath(spec: Declared, path: string): void {
  if (!spec.fields.has(path))
    throw new UnsupportedQuery(`${spec.name}: ${JSON.stringify(path)} is not a declared field or an operator`);
}

function comparisons(path: string, condition: unknown): Comparison[] {
  if (!isPlainObject(condition)) return [{ op: 'eq', value: checkScalar(path, condition) }];
  const tests: Comparison[] = [];
  for (const [operator, operand] of Object.entries(condition)) {
    switch (operator) {
      case '$ne':
        tests.push({ op: 'ne', value: checkScalar(path, operand) });
        break;
      case '$gt':
      case '$gte':
      case '$lt':
      case '$lte':
        tests.push({ op: operator.slice(1) as 'gt' | 'gte' | 'lt' | 'lte', value: checkBound(path, operand) });
        break;
      case '$in':
      case '$nin':
        tests.push({ op: operator === '$in' ? 'in' : 'nin', values: checkList(path, operand) });
        break;
      case '$contains':
        tests.push({ op: 'contains', text: checkText(path, operand, MAX_TEXT_LENGTH) });
        break;
      case '$regex':
        tests.push({ op: 'regex', pattern: checkPattern(path, operand) });
        break;
      default:
        throw new UnsupportedQuery(`${path}: ${JSON.stringify(operator)} is not an operator`);
    }
  }
  if (tests.length === 0) throw new UnsupportedQuery(`${path}: an object is not a value to compare with`);
  return tests;
}

/** Refuses undefined too: a forgotten value must not turn a filter into one that matches every document. */
function checkScalar(path: string, value: unknown): Scalar {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new UnsupportedQuery(`${path}: ${describe(value)} is not a value to compare with`);
}

function checkBound(path: string, value: unknown): string | number {
  const scalar = checkScalar(path, value);
  if (typeof scalar === 'string' || typeof scalar === 'number') return scalar;
  throw new UnsupportedQuery(`${path}: ${describe(value)} is not a bound`);
}

function checkList(path: string, values: unknown): Scalar[] {
  if (!Array.isArray(values) || values.length > MAX_LISTED_VALUES) {
    throw new UnsupportedQuery(`${path}: $in and $nin take a list of at most ${MAX_LISTED_VALUES} values`);
  }
  return values.map((value) => checkScalar(path, value));
}

function checkText(path: string, text: unknown, max_length: number): string {
  if (typeof text === 'string' && text.length <= max_length && !text.includes('\0')) return text;
  throw new UnsupportedQuery(`${path}: ${describe(text)} is not a text of at most ${max_length} characters`);
}

function checkPattern(path: string, operand: unknown): string {
  const pattern = checkText(path, operand, MAX_PATTERN_LENGTH);
  // Refuses classes that are empty in ECMAScript only, PCRE's own classes, and ECMAScript's own escapes.
  if (/\[\^?\]|\[\[[:.=]|\\u/.test(pattern)) throw new UnsupportedQuery(`${path}: PCRE reads /${pattern}/ differently`);
  try {
    new RegExp(pattern, 'u');
  } catch (cause) {
    throw new UnsupportedQuery(`${path}: /${pattern}/ is not a regular expression`, { cause });
  }
  return pattern;
}

const describe = (value: unknown): string => (typeof value === 'string' ? 'the text' : `a ${typeof value}`);
