// Streams a job's results as a file, for an export and for a signed link: the results alone, or the uploaded table with the results
// beside its columns.
import { Readable } from 'node:stream';
import type { Blobs } from '../../../commands/blobs.ts';
import { leftOutLines, leftOutOf } from '../../../commands/jobs/left-out.ts';
import { RERUN_REFUSALS } from '../../../commands/jobs/rerun-job.ts';
import type { EventStore } from '../../../events/event-store.ts';
import type { JobTable, UrlsListed } from '../../../events/job.ts';
import { unfoldRows } from '../../../events/listed-rows.ts';
import { urlsStream } from '../../../events/streams.ts';
import { DEFAULT_LIMITS } from '../../../intake/limits.ts';
import type { Filter } from '../../../readmodels/documents.ts';
import type { JobDocument } from '../../../readmodels/jobs/jobs.ts';
import type { LiveCollection } from '../../../readmodels/read-models.ts';
import { type ResultsRead, totalOf } from '../../../readmodels/results/result-pages.ts';
import {
  type ResultDocument,
  type ResultsFilter,
  resultsFilter,
  type StoredResult,
} from '../../../readmodels/results/results.ts';
import { HttpError } from '../../frame/errors.ts';
import type { Reply } from '../../frame/route.ts';
import { type Place, placesOf } from '../result-place.ts';
import { removedMeanwhile, resultsAt, wholly } from '../whole-results.ts';
import { type Exported, type Line, type Lines, REDIRECT_COLUMNS, resultsTable } from './columns.ts';
import { csvOf } from './csv.ts';
import { attachment, exportFilename } from './file-name.ts';
import { ADDED_COLUMNS, addedWidths, type ListedUrl, originalLines } from './original-lines.ts';
import { xlsxOf } from './xlsx.ts';

export const EXPORT_FORMATS = ['csv', 'xlsx'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const FILES = {
  csv: { content_type: 'text/csv; charset=utf-8', of: csvOf },
  xlsx: { content_type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', of: xlsxOf },
};

export interface ExportParts {
  read: ResultsRead & { results: Pick<LiveCollection<StoredResult>, 'stream' | 'count' | 'slice'> };
  log: Pick<EventStore, 'readStream'>;
  blobs: Pick<Blobs, 'get' | 'file'>;
  /** The most bytes that an uploaded file may inflate to. */
  max_inflated_bytes: number;
}

export interface ExportRequest {
  job: JobDocument;
  filter: ResultsFilter;
  format: ExportFormat;
  /** Whether the uploaded table is exported, with the results beside its columns. */
  original: boolean;
  /** Whether only old and new addresses are exported, of URLs that were redirected to a page. */
  redirects: boolean;
  signal: AbortSignal;
}

/**
 * The reply reads what it sends as its client takes it, so it holds little of it in memory. Throws HttpError 409 for a job without
 * the table that is asked for, and what `totalOf` throws.
 */
export async function jobExport(parts: ExportParts, request: ExportRequest): Promise<Reply> {
  const { job, filter, format, signal, original, redirects } = request;
  const { content_type, of } = FILES[format];
  const where = resultsFilter(job._id, filter);
  const expected = await totalOf(parts.read, job, filter, signal);
  const results = wholly(parts.read.results, where, expected, signal);
  const lines = original
    ? await originalTable(parts, request, where, results)
    : redirects
      ? resultsTable(redirected(placed(job, results)), REDIRECT_COLUMNS)
      : resultsTable(placed(job, results));
  return {
    stream: Readable.from(of(lines)),
    headers: {
      'content-type': content_type,
      'content-disposition': attachment(exportFilename(job.filename, format, nameOf(request))),
    },
  };
}

/** What the name of an exported file says that it holds. */
export const nameOf = ({
  original = false,
  redirects = false,
}: Partial<Pick<ExportRequest, 'original' | 'redirects'>>) =>
  original ? 'with-results' : redirects ? 'redirects' : 'results';

/** The results with the places of their URLs. */
async function* placed(
  job: JobDocument,
  results: AsyncIterable<readonly ResultDocument[]>,
): AsyncGenerator<(Exported & Place)[]> {
  const placeOf = placesOf(job);
  for await (const page of results) yield page.map((result) => ({ ...result, ...placeOf(result) }));
}

/** The results whose redirects led to a page. */
async function* redirected<Of extends Exported>(pages: AsyncIterable<readonly Of[]>): AsyncGenerator<Of[]> {
  for await (const page of pages) yield page.filter(({ verdict }) => verdict === 'redirected');
}

export const { upload_missing: UPLOAD_MISSING } = RERUN_REFUSALS;
export const NO_TABLE =
  'The list of this job has no rows and columns to put the results beside. Export it without `original`.';
export const TOO_WIDE = 'The table has too many columns for a workbook. Export it as CSV.';
/** Excel's limit. */
const MAX_COLUMNS = 16_384;

async function originalTable(
  { read, log, blobs, max_inflated_bytes }: ExportParts,
  { job, format, signal }: ExportRequest,
  where: Filter,
  results: AsyncIterable<readonly ResultDocument[]>,
): Promise<Lines> {
  const { _id: job_id, table, blob_key, total_urls } = job;
  if (!table || blob_key === null) throw new HttpError(409, 'no_table', NO_TABLE);
  if (format === 'xlsx' && table.width + ADDED_COLUMNS > MAX_COLUMNS) throw new HttpError(409, 'too_wide', TOO_WIDE);
  const file = await blobs.file(blob_key);
  if (file === null) throw new HttpError(409, 'upload_missing', UPLOAD_MISSING);
  async function* pages(): AsyncGenerator<Line[]> {
    try {
      const { readTable } = await import('../../../intake/read-table.ts');
      yield* originalLines(
        {
          rows: readTable(file!.path, table!, { ...DEFAULT_LIMITS, max_inflated_bytes }),
          listed: listedUrls(log, job_id, total_urls),
          results,
          left_out: leftOut(blobs, job_id),
          resultsAt: (indexes) => resultsAt(read.results, where, indexes, signal),
        },
        { table: table!, is_workbook: format === 'xlsx', only_results: '$and' in where },
      );
    } finally {
      await file!.release();
    }
  }
  return { pages: pages(), widths: addedWidths(table), delimiter: delimiterOf(table) };
}

/** A spreadsheet that writes semicolons or tabs reads them back as such. */
const delimiterOf = ({ delimiter }: JobTable) => (delimiter === ';' || delimiter === '\t' ? delimiter : ',');

async function* listedUrls(log: ExportParts['log'], job_id: string, total_urls: number): AsyncGenerator<ListedUrl[]> {
  let count = 0;
  for await (const { data } of log.readStream(urlsStream(job_id))) {
    const { from_index, urls, rows = [] } = data as UrlsListed;
    const row_of = unfoldRows(rows, 0, urls.length);
    count += urls.length;
    yield urls.map((url, at) => ({ index: from_index + at, url, row: row_of[at]! }));
  }
  if (count < total_urls) throw removedMeanwhile();
}

async function* leftOut(blobs: ExportParts['blobs'], job_id: string) {
  for await (const page of leftOutLines(blobs, job_id)) yield page.map(leftOutOf);
}
