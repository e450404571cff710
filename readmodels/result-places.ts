// How many results of an ended job pass a filter, in steps of its URLs: a page far down a filtered list then leaves out a step's results at the
// most, instead of all before it. The steps are counted as pages ask for them, once: the results of an ended job never change.
import { LRUCache } from 'lru-cache';
import type { Collection, Filter } from './documents.ts';
import type { JobDocument } from './jobs.ts';
import { type ResultsFilter, resultsFilter, type StoredResult } from './results.ts';

const STEP_URLS = 20_000;
/** Of jobs and filters whose counts are kept: a few kB each at most. */
const MAX_KEPT = 1000;

export interface ResultPlaces {
  /** The number of results that pass. */
  total(job: OfJob, filter: ResultsFilter, signal?: AbortSignal): Promise<number>;
  /** From which index to read, and how many results to leave out there, to come to the `offset`th that passes. */
  placeOf(
    job: OfJob,
    filter: ResultsFilter,
    offset: number,
    signal?: AbortSignal,
  ): Promise<{ from_index: number; skip: number }>;
}

type OfJob = Pick<JobDocument, '_id' | 'total_urls'>;

export function openResultPlaces(
  results: Pick<Collection<StoredResult>, 'count'>,
  { step_urls = STEP_URLS } = {},
): ResultPlaces {
  const kept = new LRUCache<string, number[]>({ max: MAX_KEPT });

  /** Counts step by step until `offset` is in one. */
  async function placeOf({ _id, total_urls }: OfJob, filter: ResultsFilter, offset: number, signal?: AbortSignal) {
    const key = JSON.stringify([_id, filter]);
    const counts = kept.get(key) ?? [];
    kept.set(key, counts);
    const where = resultsFilter(_id, filter);
    let before = 0;
    let from_index = 0;
    for (; from_index < total_urls; from_index += step_urls) {
      const step: Filter = { $and: [where, { index: { $gte: from_index, $lt: from_index + step_urls } }] };
      const count = (counts[from_index / step_urls] ??= await results.count(step, { signal }));
      if (before + count > offset) break;
      before += count;
    }
    return { from_index, skip: offset - before, before };
  }
  return {
    placeOf,
    total: async (job, filter, signal) => (await placeOf(job, filter, Number.POSITIVE_INFINITY, signal)).before,
  };
}
