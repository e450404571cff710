// Where results of a filtered list stand in an ended job, as pages that were read have shown it: a page far down begins at the last known place
// before it, instead of leaving out all results from the first. The results of an ended job never change, except by a rebuild that mends them.
// Decision 98 says why.
import { LRUCache } from 'lru-cache';
import type { Collection } from '../documents.ts';
import type { JobDocument } from '../jobs/jobs.ts';
import { type ResultsFilter, resultsFilter, type StoredResult } from './results.ts';

/** One place is kept of so many results. */
const APART = 5000;
/** Of jobs and filters whose places are kept: up to 200 places each. */
const MAX_KEPT = 1000;

export type ResultPlaces = ReturnType<typeof openResultPlaces>;

export type PlacesOfList = ReturnType<typeof openList>;

/** `flips`: how many times rebuilt read models took the place of earlier ones; what is known of these is forgotten. */
export function openResultPlaces(results: Pick<Collection<StoredResult>, 'count'>, flips: () => number) {
  const kept = new LRUCache<string, PlacesOfList>({ max: MAX_KEPT });
  let seen = flips();
  return {
    /** What is known of a list. A page keeps it to its end, so that what it learns from results of before a flip is forgotten with them. */
    of({ _id }: Pick<JobDocument, '_id'>, filter: ResultsFilter): PlacesOfList {
      if (seen !== flips()) kept.clear();
      seen = flips();
      const key = JSON.stringify([_id, filter]);
      const list = kept.get(key) ?? openList((signal) => results.count(resultsFilter(_id, filter), { signal }));
      kept.set(key, list);
      return list;
    },
  };
}

function openList(count: (signal?: AbortSignal) => Promise<number>) {
  let total: number | null = null;
  /** By their offset in units of `APART`. */
  const places = new Map<number, { offset: number; index: number }>();
  return {
    /** The number of results that pass, counted once. */
    async total(signal?: AbortSignal): Promise<number> {
      total ??= await count(signal);
      return total;
    },
    /** From which index to read, and how many results to leave out there, to come to the `offset`th that passes. */
    placeOf(offset: number): { from_index: number; skip: number } {
      let last = { offset: 0, index: 0 };
      for (const place of places.values()) {
        if (place.offset <= offset && place.offset > last.offset) last = place;
      }
      return { from_index: last.index, skip: offset - last.offset };
    },
    /** The `offset`th result that passes has this index. */
    learn(offset: number, index: number): void {
      const unit = Math.floor(offset / APART);
      if (!places.has(unit)) places.set(unit, { offset, index });
    },
  };
}
