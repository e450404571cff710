// Streams a job's results as a file, for an export and for a signed link.
import { Readable } from 'node:stream';
import type { Filter } from '../../readmodels/documents.ts';
import type { JobDocument } from '../../readmodels/jobs.ts';
import type { LiveCollection } from '../../readmodels/read-models.ts';
import { type ResultsRead, totalOf } from '../../readmodels/result-pages.ts';
import {
  type ResultDocument,
  type ResultsFilter,
  resultsFilter,
  type StoredResult,
  toResult,
} from '../../readmodels/results.ts';
import { HttpError } from '../errors.ts';
import type { Reply } from '../route.ts';
import { csvOf } from './csv.ts';
import { attachment, exportFilename } from './file-name.ts';
import { xlsxOf } from './xlsx.ts';

export const EXPORT_FORMATS = ['csv', 'xlsx'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const FILES = {
  csv: { content_type: 'text/csv; charset=utf-8', of: csvOf },
  xlsx: { content_type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', of: xlsxOf },
};

type Results = Pick<LiveCollection<StoredResult>, 'stream' | 'find' | 'count'>;
type Read = ResultsRead & { results: Results };

/** The reply reads the results as its client takes them, so it holds one page of them in memory. Throws what `totalOf` throws. */
export async function jobExport(
  read: Read,
  job: JobDocument,
  filter: ResultsFilter,
  format: ExportFormat,
  signal: AbortSignal,
): Promise<Reply> {
  const { content_type, of } = FILES[format];
  const where = resultsFilter(job._id, filter);
  const expected = await totalOf(read, job, filter, signal);
  return {
    stream: Readable.from(of(wholly(read.results, where, expected, signal))),
    headers: {
      'content-type': content_type,
      'content-disposition': attachment(exportFilename(job.filename, format)),
    },
  };
}

/**
 * Yields the results in order of submission. Throws when fewer come than `expected`, because the job was deleted meanwhile: the cut
 * connection tells the client that its file is incomplete.
 */
async function* wholly(
  results: Results,
  where: Filter,
  expected: number,
  signal: AbortSignal,
): AsyncGenerator<ResultDocument> {
  let count = 0;
  for await (const result of results.stream(where, { sort: { index: 1 }, signal })) {
    count++;
    yield toResult(result);
  }
  if (count < expected) throw new HttpError(404, 'job_not_found', 'The job was deleted during its export.');
}
