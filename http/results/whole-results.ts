// The results of a job to the last one, and those with given indexes.
import type { Collection, Filter } from '../../readmodels/documents.ts';
import type { LiveCollection } from '../../readmodels/read-models.ts';
import { type ResultDocument, type StoredResult, toResult } from '../../readmodels/results/results.ts';
import { HttpError } from '../frame/errors.ts';

const PAGE_RESULTS = 200;

/**
 * Yields the results in order of submission. Throws when fewer come than `expected`, because the job was deleted, or its results expired, meanwhile: the cut
 * connection tells the client that its file is incomplete.
 */
export async function* wholly(
  results: Pick<LiveCollection<StoredResult>, 'stream'>,
  where: Filter,
  expected: number,
  signal: AbortSignal,
): AsyncGenerator<ResultDocument[]> {
  let count = 0;
  let page: ResultDocument[] = [];
  for await (const result of results.stream(where, { sort: { index: 1 }, signal })) {
    count++;
    page.push(toResult(result));
    if (page.length < PAGE_RESULTS) continue;
    yield page;
    page = [];
  }
  if (count < expected) throw removedMeanwhile();
  if (page.length > 0) yield page;
}

export const removedMeanwhile = () =>
  new HttpError(404, 'job_not_found', 'The job was deleted, or its results expired, meanwhile.');

const MAX_INDEXES = 1000;

/** The results with these indexes that pass the filter. */
export async function resultsAt(
  results: Pick<Collection<StoredResult>, 'slice'>,
  where: Filter,
  indexes: readonly number[],
  signal: AbortSignal,
): Promise<Map<number, ResultDocument>> {
  const found = new Map<number, ResultDocument>();
  const unique = [...new Set(indexes)].sort((a, b) => a - b);
  for (let from = 0; from < unique.length; ) {
    const some = unique.slice(from, from + MAX_INDEXES);
    const wanted: Filter = { $and: [where, { index: { $in: some } }] };
    const { documents, is_cut } = await results.slice(wanted, { sort: { index: 1 }, limit: MAX_INDEXES, signal });
    for (const result of documents) found.set(result.index, toResult(result));
    if (!is_cut) from += some.length;
    else from = unique.indexOf(documents.at(-1)!.index) + 1;
  }
  return found;
}
