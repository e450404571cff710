// Keyset paging: where the documents after a given one are, and a whole collection read page by page.
import { setImmediate } from 'node:timers/promises';
import type { Document, Filter, FindOptions, Scalar, Sort } from '../../readmodels/documents.ts';
import { type SortKey, sortKeys } from './query.ts';
import { type Declared, valueAt } from './spec.ts';

const STREAM_PAGE = 1_000;

/** The documents that equal the given one in some first keys and come after it in the next. */
export interface Segment {
  equal: readonly { path: string; value: Scalar }[];
  beyond: SortKey & { value: Scalar };
}

/**
 * All documents after the one with these values, in segments that follow each other in the order: each is a seek in
 * an index, where the usual disjunction is a scan of all that is equal in the first key.
 */
export function segmentsAfter(keys: readonly SortKey[], after: readonly Scalar[]): Segment[] {
  const segments = keys.map((key, place): Segment => {
    const equal = keys.slice(0, place).map(({ path }, earlier) => ({ path, value: after[earlier]! }));
    return { equal, beyond: { ...key, value: after[place]! } };
  });
  return segments.reverse();
}

/** The values of the sort's fields that `after` takes to go on after the document. */
export function keysetOf(spec: Declared, keys: readonly SortKey[], document: Document): Scalar[] {
  return keys.map(({ path }) => (valueAt(document, spec.fields.get(path)!.segments) ?? null) as Scalar);
}

/** Every document that matches, a page in memory at a time. */
export async function* streamPages<T extends Document>(
  spec: Declared,
  find: (filter: Filter, options: FindOptions) => Promise<T[]>,
  filter: Filter,
  { sort, signal }: { sort?: Sort; signal?: AbortSignal } = {},
): AsyncGenerator<T> {
  const keys = sortKeys(spec, sort);
  let after: Scalar[] | undefined;
  for (;;) {
    const page = await find(filter, { sort, after, limit: STREAM_PAGE, signal });
    yield* page;
    if (page.length < STREAM_PAGE) return;
    after = keysetOf(spec, keys, page.at(-1)!);
    // An embedded store answers without ever giving way: whatever else waits has its turn between pages.
    await setImmediate();
  }
}
