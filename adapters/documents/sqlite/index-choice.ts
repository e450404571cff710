// Chooses a query's index from the declaration. SQLite's planner has no useful statistics (those of a small collection
// mislead it when it has grown), and prefers reading a million documents to reading a longer index.
import { type Expression, fixedPaths, type Query } from '../query.ts';
import type { Declared, DeclaredIndex, SortKey } from '../spec.ts';

/**
 * The index that yields documents in the query's order and contains every field of the filter, so that SQLite reads only
 * matching documents; null leaves the choice to SQLite.
 */
export function indexForPage(spec: Declared, { where, keys }: Pick<Query, 'where' | 'keys'>): DeclaredIndex | null {
  const fixed = new Set(fixedPaths(where));
  const paths = pathsOf(where);
  const rest = keys.filter((key) => !fixed.has(key.path));
  const usable = spec.indexes.filter((index) => {
    const seek = seekLength(index, fixed);
    return seek > 0 && inOrder(index, seek, rest) && covers(index, paths);
  });
  return best(usable, (index) => seekLength(index, fixed));
}

/** The index from which SQLite can count the matching documents without reading them. */
export function indexForCount(spec: Declared, where: Expression): DeclaredIndex | null {
  const fixed = new Set(fixedPaths(where));
  const narrowed = new Set([...fixed, ...narrowedPaths(where)]);
  const paths = pathsOf(where);
  const usable = spec.indexes.filter((index) => seekLength(index, fixed) > 0 && covers(index, paths));
  return best(usable, (index) => {
    const seek = seekLength(index, fixed);
    return seek + (narrowed.has(index.keys[seek]?.path ?? '') ? 1 : 0);
  });
}

/**
 * Whether every index entry read is a match: the filter fixes the index's first keys to one value each, may put the next
 * key in a range, and tests no other field.
 */
export function isSeek(index: DeclaredIndex | null, where: Expression): boolean {
  if (index === null) return 'all' in where && where.all.length === 0;
  const fixed = new Set(fixedPaths(where));
  const sought = new Set(index.keys.slice(0, seekLength(index, fixed) + 1).map((key) => key.path));
  const ranges = new Set([...fixed, ...narrowedPaths(where)]);
  return pathsOf(where).isSubsetOf(sought.intersection(ranges));
}

/** How many of the index's first keys are fixed to one value each. */
function seekLength(index: DeclaredIndex, fixed: ReadonlySet<string>): number {
  const end = index.keys.findIndex((key) => !fixed.has(key.path));
  return end === -1 ? index.keys.length : end;
}

function inOrder(index: DeclaredIndex, seek: number, keys: readonly SortKey[]): boolean {
  const following = index.keys.slice(seek, seek + keys.length);
  const turned = following[0]?.direction !== keys[0]?.direction;
  return (
    following.length === keys.length &&
    keys.every(({ path, direction }, place) => {
      const key = following[place]!;
      return key.path === path && (key.direction !== direction) === turned;
    })
  );
}

function covers(index: DeclaredIndex, paths: ReadonlySet<string>): boolean {
  return paths.isSubsetOf(new Set(index.keys.map((key) => key.path)));
}

function best(indexes: readonly DeclaredIndex[], score: (index: DeclaredIndex) => number): DeclaredIndex | null {
  const ordered = indexes.toSorted((a, b) => score(b) - score(a) || a.keys.length - b.keys.length);
  return ordered[0] ?? null;
}

/** The fields that the filter tests. */
function pathsOf(where: Expression): Set<string> {
  if ('path' in where) return new Set([where.path]);
  return new Set(('all' in where ? where.all : where.any).flatMap((part) => [...pathsOf(part)]));
}

/** The fields that the filter restricts to a list or a range. */
function narrowedPaths(where: Expression): string[] {
  if ('all' in where) return where.all.flatMap(narrowedPaths);
  if ('any' in where) return [];
  return ['in', 'gt', 'gte', 'lt', 'lte'].includes(where.test.op) ? [where.path] : [];
}
