// Streams a job's results as a file to its owner, or to any holder of a signed link.
import { type Static, type TObject, Type } from '../../events/schema.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { totalOf } from '../../readmodels/results/result-pages.ts';
import { results } from '../../readmodels/results/results.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { PUBLIC } from '../apis/public.ts';
import { assertResultsKept, jobNotFound } from '../frame/errors.ts';
import { routeOf } from '../frame/route.ts';
import { Count, Time } from '../frame/schemas.ts';
import { assertValid, linkErrors, linkParameters, openSignedLinks } from '../frame/signed-links.ts';
import { groupOf, type Parts } from '../group.ts';
import { openLinkedJobs } from '../shares/linked-jobs.ts';
import { exportFilename } from './export/file-name.ts';
import { EXPORT_FORMATS, jobExport, NO_TABLE, nameOf, TOO_WIDE, UPLOAD_MISSING } from './export/job-export.ts';
import { filterOf, NON_2XX, resultFilters, statusGroup } from './result-view.ts';

const wire = ({ read, log, blobs, config, keys, public_url, now, jobs: job_commands, accounts }: Parts) => ({
  opensJob: openLinkedJobs(job_commands, accounts),
  ...{ log, blobs, max_inflated_bytes: config.max_inflated_bytes },
  read: read({ jobs, results, jobStats }),
  links: openSignedLinks({ secret: keys.links, base_url: public_url, now }),
});
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'exports');

/** What an export holds: the filters of results, and which table is exported, without defaults. */
const contents = {
  ...resultFilters,
  non_2xx: Type.Optional(Type.Boolean(NON_2XX)),
  status_group: statusGroup,
  original: Type.Optional(
    Type.Boolean({
      description:
        'Export the uploaded table: every row with all its columns, duplicates and rejected rows too, and beside them what was found. ' +
        'With filters, only the rows whose results pass. For a CSV or text file with one entry a line, XLSX or ODS; else 409.',
    }),
  ),
  redirects: Type.Optional(
    Type.Boolean({
      description:
        'Export a table of old and new addresses, one row for each URL that was redirected to a page. `redirect_kind=permanent` ' +
        'leaves the links to mend. Not with `original`, which wins.',
    }),
  ),
};
const REDIRECTS =
  'With `redirects`, the columns are `old_url`, `new_url`, `redirect_kind`, `redirect_changes`, `status_code`, `row` and `cell`.';
const ORIGINAL =
  'With `original`, these columns follow those of the table: `row`; `checked_url`; `verdict`, which is also `rejected` or ' +
  '`not_checked`; `reason` (`duplicate`, or why the text was rejected); `duplicate_of_row`; then the fields of the result. A row whose ' +
  'cell holds several URLs is there once for each of them. The names get a number where the table has them already. Dates of a ' +
  'workbook become ISO 8601, formulas their results.';
const errors = {
  409: {
    description:
      'With `original`: the job has no table, or one with too many columns for a workbook, or its file is lost.',
    examples: {
      no_table: { message: NO_TABLE },
      too_wide: { message: TOO_WIDE },
      upload_missing: { message: UPLOAD_MISSING },
    },
  },
};
const format = Type.Enum(EXPORT_FORMATS, {
  type: 'string',
  default: 'csv',
  description: 'CSV in UTF-8 with a byte order mark, or an Excel workbook.',
});

const file = {
  description:
    'All results that pass the filters, in order of submission, after a header row. With `xlsx`, a workbook.',
  content_type: 'text/csv; charset=utf-8',
  other_content_types: ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  schema: Type.String(),
  example: 'url,status_code,verdict,…\r\nhttps://example.com/old,404,broken,…\r\n',
  headers: { 'Content-Disposition': 'The name of the file, derived from the name of the uploaded one.' },
};
const DEFUSED =
  'The file has an apostrophe before text that a spreadsheet would run as a formula. When the connection breaks off, the file is ' +
  'incomplete, for instance because the job was deleted meanwhile.';

/** What both APIs say of the route. */
const exporting = {
  id: 'exportJob',
  method: 'GET',
  access: 'owner',
  heavy: true,
  of_results: true,
  summary: 'Export the results of a job as a CSV or XLSX file',
  description: `${ORIGINAL} ${REDIRECTS} ${DEFUSED}`,
  query: Type.Object({ format, ...contents }),
  responses: { 200: file },
  errors,
  handler({ job, query, signal }: Asked, parts: Deps) {
    const { format: of, original = false, redirects = false } = query;
    return jobExport(parts, { job, filter: filterOf(query), format: of, original, redirects, signal });
  },
} as const;
type Contents = Static<TObject<typeof contents & { format: typeof format }>>;
type Asked = { job: JobDocument; query: Contents; signal: AbortSignal };

export const exportFile = route({ ...exporting, path: '/jobs/{job_id}/export' });
const exportByKey = routeOf<Deps>(PUBLIC, 'jobs')({ ...exporting, path: '/jobs/{id}/export', job: 'id' });

export const download = route({
  id: 'createDownloadLink',
  method: 'GET',
  path: '/jobs/{job_id}/download',
  access: 'owner',
  heavy: true,
  of_results: true,
  summary: 'Create a link to the results of a job as a CSV file',
  description:
    'The link works for an hour without credentials. It returns the results that the job has when somebody opens it.',
  query: Type.Object(contents),
  responses: {
    200: {
      description: 'The link.',
      schema: Type.Object({
        url: Type.String({ format: 'uri' }),
        expires_at: Time(),
        filename: Type.String(),
        row_count: Count('Results that pass the filters now.'),
      }),
      example: {
        url: 'http://127.0.0.1:8080/downloads/2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11?format=csv&expires=1769853600&signature=sgQtxHzWenOlm7n0Yc2mXw',
        expires_at: '2026-01-31T10:00:00.000Z',
        filename: 'urls-results.csv',
        row_count: 1000,
      },
    },
  },
  async handler({ job, query, signal }, { read, links }) {
    const row_count = await totalOf(read, job, filterOf(query), signal);
    const link = links.sign(`/downloads/${job._id}`, { format: 'csv', ...query });
    return { body: { ...link, filename: exportFilename(job.filename, 'csv', nameOf(query)), row_count } };
  },
});

export const signedDownload = route({
  id: 'downloadJob',
  method: 'GET',
  path: '/downloads/{job_id}',
  access: 'none',
  heavy: true,
  of_results: true,
  summary: 'Download by a signed link',
  description: `The service refuses a link with any changed parameter. ${DEFUSED}`,
  query: Type.Object({
    format,
    ...contents,
    ...linkParameters,
  }),
  responses: { 200: file },
  errors: {
    ...linkErrors,
    404: 'The job was deleted, or its owner erased.',
    ...errors,
  },
  async handler(request, parts) {
    const { params, query, signal } = request;
    const { read, links, opensJob } = parts;
    assertValid(links, request);
    const job = await read.jobs.get(params.job_id);
    if (!job || !(await opensJob(params.job_id))) throw jobNotFound();
    assertResultsKept(job);
    const { format: of, original = false, redirects = false } = query;
    return await jobExport(parts, { job, filter: filterOf(query), format: of, original, redirects, signal });
  },
});

export const group = groupOf(wire, [exportFile, exportByKey, download, signedDownload]);
