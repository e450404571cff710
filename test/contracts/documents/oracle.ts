// The filters of MongoDB over arrays in memory, in the plainest code. Tests compare the adapters with it on random data;
// the same tests, run against MongoDB, compare it with MongoDB.
import type { Filter, Scalar, Sort } from '../../../readmodels/documents.ts';
import type { Thing } from './fixture.ts';

export function matching(documents: readonly Thing[], filter: Filter): Thing[] {
  return documents.filter((document) => matches(document, filter));
}

export function sorted(documents: readonly Thing[], sort: Sort): Thing[] {
  const keys = Object.entries(sort);
  if (!('_id' in sort)) keys.push(['_id', keys.at(-1)?.[1] ?? 1]);
  return documents.toSorted((a, b) => {
    for (const [path, direction] of keys) {
      const order = compare(scalarAt(a, path), scalarAt(b, path));
      if (order !== 0) return order * direction;
    }
    return 0;
  });
}

/** The values that `after` takes to go on after the document. */
export function keyset(document: Thing, sort: Sort): Scalar[] {
  const paths = Object.keys(sort);
  if (!paths.includes('_id')) paths.push('_id');
  return paths.map((path) => scalarAt(document, path));
}

const at = (document: Thing, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Thing | null | undefined)?.[name], document);

const scalarAt = (document: Thing, path: string): Scalar => (at(document, path) ?? null) as Scalar;

const rank = (value: Scalar): number =>
  value === null ? 0 : ['number', 'string', 'boolean'].indexOf(typeof value) + 1;

export function compare(a: Scalar, b: Scalar): number {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return Number(a) - Number(b);
}

function matches(document: Thing, filter: Filter): boolean {
  return Object.entries(filter).every(([path, condition]) => {
    if (path === '$and') return (condition as Filter[]).every((part) => matches(document, part));
    if (path === '$or') return (condition as Filter[]).some((part) => matches(document, part));
    const value = scalarAt(document, path);
    if (condition === null || typeof condition !== 'object') return value === condition;
    return Object.entries(condition).every(([operator, operand]) => holds(value, operator, operand));
  });
}

function holds(value: Scalar, operator: string, operand: unknown): boolean {
  if (operator === '$ne') return value !== operand;
  if (operator === '$nin') return !(operand as Scalar[]).includes(value);
  if (operator === '$in') return (operand as Scalar[]).includes(value);
  if (operator === '$contains') return typeof value === 'string' && contains(value, operand as string);
  if (operator === '$regex') return typeof value === 'string' && new RegExp(operand as string, 'u').test(value);
  if (typeof value !== typeof operand) return false;
  const order = compare(value, operand as Scalar);
  return { $gt: order > 0, $gte: order >= 0, $lt: order < 0, $lte: order <= 0 }[operator]!;
}

function contains(text: string, part: string): boolean {
  const [all, wanted] = [[...text], [...part]];
  return all.concat('').some((_, from) => wanted.every((letter, n) => isSame(all[from + n], letter)));
}
function isSame(letter: string | undefined, wanted: string): boolean {
  if (letter === undefined || letter === wanted) return letter === wanted;
  return letter < '\x80' === wanted < '\x80' && [wanted.toLowerCase(), wanted.toUpperCase()].includes(letter);
}
