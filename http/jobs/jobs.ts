// The gateway's jobs: upload a file, list jobs, read a job and its results.

import { hash } from 'node:crypto';
import { TOOK_TOO_LONG } from '../../commands/jobs/job.ts';
import { hasEnded, JOB_STATUSES } from '../../events/job.ts';
import { Type } from '../../events/schema.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import { NEWEST_FIRST, pageOf } from '../../readmodels/pages.ts';
import { resultsPage } from '../../readmodels/results/result-pages.ts';
import { openResultPlaces } from '../../readmodels/results/result-places.ts';
import { results as jobResults } from '../../readmodels/results/results.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { users as userDocuments } from '../../readmodels/users/users.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError, NO_SUCH_JOB } from '../frame/errors.ts';
import { IN_PROGRESS, KEY, MADE, MISMATCH, RETRY_AFTER, submissionKey } from '../frame/idempotency-key.ts';
import { fileBody, type UploadedFile } from '../frame/request-bodies.ts';
import { type Reply, routeOf } from '../frame/route.ts';
import { listOf, listReply } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import {
  filterOf,
  isShortPage,
  paging,
  ResultView,
  resultExample,
  resultFilters,
  resultViews,
  statusGroup,
} from '../results/result-view.ts';
import { JobStatusView, JobView, jobExample, jobStatusExample, jobStatusReply, jobView } from './job-view.ts';
import { columnOption, encodingOption, LIST_FILE, readingExample, readingFields, sheetOption } from './list-reading.ts';
import { submit } from './submit.ts';

function wire({ submissions, inFlight, read, flips, kept }: Parts) {
  const documents = read({ jobs, results: jobResults, jobStats, users: userDocuments });
  return { submissions, inFlight, kept, read: { ...documents, places: openResultPlaces(documents.results, flips) } };
}
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'jobs');

const upload = route({
  id: 'createJob',
  method: 'POST',
  path: '/jobs',
  access: 'user',
  heavy: true,
  summary: 'Create a job from an uploaded CSV or XLSX file',
  description:
    'Finds the column with the URLs, drops duplicates, and reserves one credit for each URL. With fewer credits than URLs the job ' +
    'checks as many URLs as there are credits, then pauses; without credits it pauses at once.',
  query: Type.Object({
    auto_add_prefix: Type.Boolean({ default: true, description: 'Add https:// to URLs that lack a scheme.' }),
    skip_blocked: Type.Boolean({ default: true, description: 'Leave out URLs of domains on the blocklist.' }),
    skip_invalid: Type.Boolean({
      default: true,
      description: 'Leave out malformed URLs; otherwise they are an error.',
    }),
    column: columnOption,
    sheet: sheetOption,
    encoding: encodingOption,
    accept_names: Type.Boolean({
      default: false,
      description:
        'Check a file without any http:// or https://, whose texts are written like domain names: `warnings` of `POST /analyze-csv` then has ' +
        '`names_only`. Columns with a header such as `Website`, and a column that you name, need no such confirmation.',
    }),
  }),
  headers: submissionKey('the same file, with the same name and parameters,'),
  body: fileBody(LIST_FILE),
  responses: {
    201: {
      description: 'The job, and how the file was read.',
      schema: Type.Object({ ...JobView.properties, list: Type.Object(readingFields) }),
      example: { ...jobExample, completed_urls: 0, list: readingExample },
      headers: MADE,
    },
  },
  errors: {
    409: {
      description:
        'You sent the idempotency key with another file, name or parameter before, or the service still works on its first request; or the ' +
        'upload took so long that the service released its credits: send it again.',
      headers: RETRY_AFTER,
      examples: {
        ...MISMATCH,
        ...IN_PROGRESS,
        reservation_voided: { message: TOOK_TOO_LONG },
      },
    },
    413: 'The file is too large, or holds too many URLs.',
    415: 'The file is not a table.',
    422: 'The file holds no URL that the service can check.',
  },
  async handler(request, services) {
    const { body: file, query, headers } = request;
    const given = { kind: 'file' as const, path: file.path, filename: file.filename ?? 'upload' };
    const wanted = { source: 'upload' as const, given, options: query, needs_credits: false };
    const { size_bytes } = file;
    const sent = { key: headers[KEY], field: 'file', size_bytes, fingerprint: () => fingerprintOf(file, query) };
    const { reply, reading } = await submit(wanted, sent, request, services);
    // The log keeps no reading with the answer, because the names of columns may be personal. The same file is read in the same way.
    return { ...reply, body: { ...reply.body, list: reading ?? (await services.submissions.readingOf(wanted)) } };
  },
});

/** Equal for the same file with the same name and parameters, whatever the form around it. */
function fingerprintOf({ sha256, filename }: UploadedFile, query: object): string {
  const parameters = Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify([sha256, filename, parameters]), 'hex');
}

/** Longer lists are streamed. */
const MOST_KEPT = 100;

const list = route({
  id: 'listJobs',
  method: 'GET',
  path: '/jobs',
  access: 'user',
  made_of: 'read models',
  summary: 'List the jobs of a user, the newest first',
  description:
    'A new job shifts the pages by one, so whoever reads page after page may meet a job twice: `job_id` tells them apart. ' +
    '`GET /api/v2/jobs` pages by cursor and repeats none.',
  query: Type.Object({
    email: Type.String({
      minLength: 1,
      maxLength: 320,
      description:
        "Your own address, or your user id; administrators may give anyone's. The list has all jobs of the user who has the address now.",
      examples: ['alice@example.com'],
    }),
    status: Type.Optional(Type.Enum(JOB_STATUSES, { type: 'string', description: 'Only jobs with this status.' })),
    ...paging(20),
  }),
  responses: {
    200: listOf('A page of jobs.', JobView, jobExample, 20),
  },
  errors: { 403: 'The address is not your own.' },
  async handler({ query, caller }, { read, kept }) {
    const { status } = query;
    const email = query.email.toLowerCase();
    // A user without an address has an id.
    const own = email === caller.email?.toLowerCase() || query.email === caller.user_id;
    if (!own && !caller.is_admin) throw new HttpError(403, 'forbidden', 'You may list only your own jobs.');
    const owner_id = own ? caller.user_id : await ownerOf(query.email, read.users);
    if (owner_id === null) return listReply({ items: [], total: 0 }, jobView, query);
    const filter = { owner_id, ...(status ? { status } : {}) };
    const page = async () => listReply(await pageOf(read.jobs, filter, NEWEST_FIRST, query), jobView, query);
    if (query.limit > MOST_KEPT) return await page();
    const { limit, offset } = query;
    return await kept.ofJobs(`jobs ${JSON.stringify([filter, limit, offset])}`, page);
  },
});

/** The user who has this address now, whatever it was when the jobs were made, or this id; null for nobody. */
async function ownerOf(given: string, users: Deps['read']['users']): Promise<string | null> {
  const [named] = await users.find({ email: given.toLowerCase() }, { limit: 1 });
  return (named ?? (await users.get(given)))?._id ?? null;
}

const get = route({
  id: 'getJob',
  method: 'GET',
  path: '/jobs/{job_id}',
  access: 'owner',
  made_of: 'job',
  summary: 'Show the status and progress of a job',
  responses: { 200: { description: 'The job.', schema: JobStatusView, example: jobStatusExample } },
  handler: ({ job }, { inFlight }) => jobStatusReply(job, inFlight),
});

const results = route({
  id: 'listJobResults',
  method: 'GET',
  path: '/jobs/{job_id}/results',
  access: 'none',
  job: 'job_id',
  heavy: true,
  of_results: true,
  made_of: 'job',
  summary: 'List the results of a job, in order of submission',
  query: Type.Object({ ...paging(50), ...resultFilters, status_group: statusGroup }),
  responses: {
    200: listOf('A page of the results that pass all filters.', ResultView, resultExample, 50),
  },
  errors: { 404: NO_SUCH_JOB },
  async handler({ job, query, signal }, { read, kept }) {
    const { limit, offset } = query;
    const page = async (of_client?: AbortSignal): Promise<Reply> => {
      const within = { limit, offset, ...(of_client && { signal: of_client }) };
      const { items, total } = await resultsPage(read, job, filterOf(query), within);
      return { body: { items: resultViews(job, items), total, limit, offset } };
    };
    if (!hasEnded(job.status) || !isShortPage(query)) return await page(signal);
    return await kept.of(job, `results ${JSON.stringify(query)}`, page);
  },
});

export const group = groupOf(wire, [upload, list, get, results]);
