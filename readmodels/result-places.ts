// Where results of a filtered list stand in an ended job, as pages that were read have shown it: a page far down begins at the last known place
// before it, instead of leaving out all results from the first. The results of an ended job never change, except by a rebuild that mends them.
import { LRUCache } from 'lru-cache';
import type { Collection } from './documents.ts';
import type { JobDocument } from './jobs.ts';
import { type ResultsFilter, resultsFilter, type StoredResult } from './results.ts';

/** One place is kept of so many results. */
const APART = 5000;
/** Of jobs and filters whose places are kept: up to 200 places each. */
const MAX_KEPT = 1000;

export interface ResultPlaces {
  /** The number of results that pass, counted once. */
  total(job: OfJob, filter: ResultsFilter, signal?: AbortSignal): Promise<number>;
  /** From which index to read, and how many results to leave out there, to come to the `offset`th that passes. */
  placeOf(job: OfJob, filter: ResultsFilter, offset: number): { from_index: number; skip: number };
  /** The `offset`th result that passes has this index. */
  learn(job: OfJob, filter: ResultsFilter, offset: number, index: number): void;
}

type OfJob = Pick<JobDocument, '_id'>;
interface Known {
  total: number | null;
  /** By their offset in units of `APART`. */
  places: Map<number, { offset: number; index: number }>;
}

/** `flips`: how many times rebuilt read models took the place of earlier ones; what is known of these is forgotten. */
export function openResultPlaces(results: Pick<Collection<StoredResult>, 'count'>, flips: () => number): ResultPlaces {
  const kept = new LRUCache<string, Known>({ max: MAX_KEPT });
  let seen = flips();
  function knownOf({ _id }: OfJob, filter: ResultsFilter): Known {
    if (seen !== flips()) kept.clear();
    seen = flips();
    const key = JSON.stringify([_id, filter]);
    const known = kept.get(key) ?? { total: null, places: new Map() };
    kept.set(key, known);
    return known;
  }
  return {
    async total(job, filter, signal) {
      const known = knownOf(job, filter);
      known.total ??= await results.count(resultsFilter(job._id, filter), { signal });
      return known.total;
    },
    placeOf(job, filter, offset) {
      let last = { offset: 0, index: 0 };
      for (const place of knownOf(job, filter).places.values()) {
        if (place.offset <= offset && place.offset > last.offset) last = place;
      }
      return { from_index: last.index, skip: offset - last.offset };
    },
    learn(job, filter, offset, index) {
      const { places } = knownOf(job, filter);
      const unit = Math.floor(offset / APART);
      if (!places.has(unit)) places.set(unit, { offset, index });
    },
  };
}
