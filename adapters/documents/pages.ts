// Keyset paging: the conditions of the page after a document, and streaming a whole collection page by page.
import { setImmediate } from 'node:timers/promises';
import type { Document, Filter, FindOptions, Scalar, Slice, Sort } from '../../readmodels/documents.ts';
import { sortKeys } from './query.ts';
import { type Declared, type SortKey, valueAt } from './spec.ts';

const STREAM_PAGE = 1_000;

/** The documents that equal the given one in the `equal` keys and come after it in the key `beyond`. */
export interface Segment {
  equal: readonly { path: string; value: Scalar }[];
  beyond: SortKey & { value: Scalar };
}

/**
 * Splits the documents after the one with these values into segments, in the sort's order. Each segment is a seek in an
 * index, whereas the usual disjunction scans all documents that are equal in the first key.
 */
export function segmentsAfter(keys: readonly SortKey[], after: readonly Scalar[]): Segment[] {
  const segments = keys.map((key, place): Segment => {
    const equal = keys.slice(0, place).map(({ path }, earlier) => ({ path, value: after[earlier]! }));
    return { equal, beyond: { ...key, value: after[place]! } };
  });
  return segments.reverse();
}

/** The document's values of the sort's keys: `after` takes them to continue behind the document. */
export function keysetOf(spec: Declared, keys: readonly SortKey[], document: Document): Scalar[] {
  return keys.map(({ path }) => (valueAt(document, spec.fields.get(path)!.segments) ?? null) as Scalar);
}

/** Yields every matching document, with one slice of them in memory at a time. */
export async function* streamPages<T extends Document>(
  spec: Declared,
  slice: (filter: Filter, options: FindOptions) => Promise<Slice<T>>,
  filter: Filter,
  { sort, signal }: { sort?: Sort; signal?: AbortSignal } = {},
): AsyncGenerator<T> {
  const keys = sortKeys(spec, sort);
  let after: Scalar[] | undefined;
  for (;;) {
    const { documents, is_cut } = await slice(filter, { sort, after, limit: STREAM_PAGE, signal });
    yield* documents;
    if (!is_cut && documents.length < STREAM_PAGE) return;
    after = keysetOf(spec, keys, documents.at(-1)!);
    // An embedded store never yields to the event loop, so other work gets its turn here, between pages.
    await setImmediate();
  }
}
