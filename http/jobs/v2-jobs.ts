// The public API's jobs: submit a list, wait for the results, list jobs, read a job, cancel it.

import { NO_CREDITS } from '../../commands/jobs/submit-job.ts';
import { JOB_STATUSES, MAX_REF_CHARS } from '../../events/job.ts';
import { JobOptions } from '../../events/job-options.ts';
import { Nullable, type Static, type TObject, Type } from '../../events/schema.ts';
import { type JobDocument, jobs as jobDocuments } from '../../readmodels/jobs/jobs.ts';
import { NEWEST_FIRST } from '../../readmodels/pages.ts';
import { results as resultDocuments } from '../../readmodels/results/results.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { PUBLIC } from '../apis/public.ts';
import { openCursors, openListCursors } from '../frame/cursors.ts';
import { HttpError } from '../frame/errors.ts';
import { IN_PROGRESS, KEY, MADE, MISMATCH, RETRY_AFTER, submissionKey } from '../frame/idempotency-key.ts';
import { listBody, type StringList } from '../frame/request-bodies.ts';
import { anError, asThrown, type Caller, type RouteRequest, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { MAX_PAGE, ResultView, resultExample } from '../results/result-view.ts';
import { resultsSoFar } from '../results/v2-results.ts';
import { jobWhen } from './await-job.ts';
import { CANCELLED, cancelJob } from './job-lifecycle.ts';
import {
  JobStatusView,
  JobView,
  jobExample,
  jobStatusExample,
  jobStatusReply,
  jobView,
  MAX_LABEL_CHARS,
  Metadata,
} from './job-view.ts';
import { submit } from './submit.ts';

const wire = ({ jobs, submissions, jobFinder, jobWatch, inFlight, read, keys, passed, closing }: Parts) => ({
  ...{ jobs, submissions, jobFinder, jobWatch, inFlight, passed, closing },
  cursors: openCursors(keys.links),
  listCursors: openListCursors(keys.links),
  read: read({ jobs: jobDocuments, results: resultDocuments, jobStats }),
});
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(PUBLIC, 'jobs');

const MAX_BODY_BYTES = 128 * 1024 * 1024;
const MAX_WAIT_S = 900;

const body = listBody('urls', {
  limit_bytes: MAX_BODY_BYTES,
  with_refs: { field: 'items', max_ref_chars: MAX_REF_CHARS },
  name: 'NewJob',
  others: {
    label: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_LABEL_CHARS,
        description: 'Your own words for the job. Lists of jobs can be filtered by it.',
        examples: ['nightly'],
      }),
    ),
    metadata: Type.Optional(Metadata),
    options: Type.Optional(JobOptions),
  },
  example: { urls: ['https://example.com/', 'https://example.com/about'], label: 'nightly' },
});
const headers = submissionKey('the same URLs');
const submissionErrors = {
  402: asThrown(
    'You have no credits left, or the limit of your account is used up (`usage_limit` in `details.reason`), or the job needs more credits ' +
      'than the limit of the API key leaves (`key_limit`; `details.credits_left` says how many). The service created no job, so you can ' +
      'use the idempotency key again.',
    NO_CREDITS,
  ),
  409: {
    description:
      'You sent the idempotency key with other URLs before (`idempotency_key_mismatch`), or the service still works on its first ' +
      'request (`idempotency_in_progress`: the header Retry-After says when to send it again).',
    headers: RETRY_AFTER,
    examples: { ...MISMATCH, ...IN_PROGRESS },
  },
  413: 'The body is too large, or holds too many URLs.',
  422: {
    description: 'The list holds no valid URL, or the request is not valid. You can use the idempotency key again.',
    examples: {
      no_valid_urls: {
        message: '',
        problem: {
          loc: ['body', 'urls', 3],
          msg: '"see below" holds several words',
          type: 'several_words',
          value: 'see below',
        },
      },
    },
  },
};

const create = route({
  id: 'createJob',
  method: 'POST',
  path: '/jobs',
  access: 'user',
  heavy: 'large body',
  summary: 'Submit a list of URLs',
  description:
    'Reserves one credit for each URL. With fewer credits than URLs the job checks as many URLs as there are credits, then pauses.',
  headers,
  body,
  responses: {
    201: {
      description: 'The job.',
      schema: JobView,
      example: { ...jobExample, source: 'api' },
      headers: MADE,
    },
  },
  errors: submissionErrors,
  handler: async (request, services) => (await submitted(request, services)).reply,
});

const wait = route({
  id: 'createJobAndWait',
  method: 'POST',
  path: '/jobs/wait',
  access: 'user',
  heavy: 'large body',
  summary: 'Submit a list of URLs and wait for the results',
  description:
    'Answers when the job has completed, failed, paused or been cancelled, or when the time is up. Then the job goes on: follow it with ' +
    '`GET /api/v2/jobs/{id}`. It takes as many URLs as `POST /api/v2/jobs`, and `results` holds all results that the job has by then, in ' +
    'order of submission. While the job goes on, `GET /api/v2/jobs/{id}/results` has those after them with `next_cursor`. A client that ' +
    'leaves does not cancel the job, and waits for it again with the same idempotency key. When the connection breaks off, the answer is ' +
    'incomplete, for instance because the job was deleted meanwhile.',
  headers,
  query: Type.Object({
    wait_seconds: Type.Integer({ minimum: 0, maximum: MAX_WAIT_S, default: 60, description: 'How long to wait.' }),
    poll_interval: Type.Number({
      minimum: 0,
      maximum: MAX_WAIT_S,
      default: 2,
      description: 'A hint, in seconds. The service needs none: it sees the end of a job as it comes.',
    }),
  }),
  body,
  responses: {
    201: {
      description: 'The job at the end of the wait.',
      schema: Type.Object(
        {
          ...JobView.properties,
          timed_out: Type.Boolean({ description: 'Whether the time was up before the job stopped.' }),
          results: Type.Array(ResultView),
          next_cursor: Nullable(
            Type.String({ description: 'The cursor of the results to come; null when the job has stopped.' }),
          ),
        },
        { $id: 'JobWithResults' },
      ),
      example: {
        ...jobExample,
        source: 'api',
        status: 'completed',
        total_urls: 1,
        completed_urls: 1,
        credits_allocated: 1,
        ...{ completed_at: '2026-01-31T09:00:01.000Z', timed_out: false, results: [resultExample], next_cursor: null },
      },
      headers: MADE,
    },
  },
  errors: submissionErrors,
  async handler(request, services) {
    const { read, jobWatch, passed, closing } = services;
    const made = await submitted(request, services);
    await request.body.release();
    request.rest();
    const { job_id } = made.reply.body;
    await passed(made.position);
    const timeout_ms = request.query.wait_seconds * 1000;
    const signals = [request.signal, closing];
    let job = await read.jobs.get(job_id);
    if (!job || !hasStopped(job)) {
      await jobWhen(jobWatch, job_id, hasStopped, { timeout_ms, signals });
      request.signal.throwIfAborted();
      job = await read.jobs.get(job_id);
    }
    if (!job) {
      if (!(await services.jobFinder.owned(job_id))) throw new HttpError(404, 'not_found', 'The job has been deleted.');
      // The read models lag behind, so the answer shows the job as it was created.
      const next_cursor = services.cursors.after(-1, { job_id, filter: {} });
      return { ...made.reply, body: { ...made.reply.body, timed_out: true, results: [], next_cursor } };
    }
    const { results, next_cursor } = resultsSoFar(job, request.signal, services);
    return { ...made.reply, body: { ...jobView(job), timed_out: !hasStopped(job), results, next_cursor } };
  },
});

/** Whether the job is paused, or has ended with its credits settled. */
const hasStopped = ({ status, due }: JobDocument) => status !== 'processing' && due !== 'settlement';

type Others = Static<TObject<(typeof body)['others']>>;
type Submitting = RouteRequest<unknown, unknown, { [KEY]?: string }, StringList<Others>, Caller>;

const describedBy = ({ label, metadata, options }: Others) => ({
  ...(label !== undefined && { label }),
  ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
  ...(options !== undefined && { options: JSON.stringify(options) }),
});

async function submitted(request: Submitting, services: Deps) {
  const { body, headers } = request;
  const given = { kind: 'list' as const, pages: body.pages() };
  const wanted = { source: 'api' as const, given, needs_credits: true, described: describedBy(body.others) };
  const { size_bytes, field } = body;
  const sent = { key: headers[KEY], size_bytes, field, fingerprint: () => body.fingerprint };
  return await submit(wanted, sent, request, services);
}

export const list = route({
  id: 'listJobs',
  method: 'GET',
  path: '/jobs',
  access: 'user',
  summary: 'List your jobs, the newest first',
  description:
    'Go on with `next_cursor` and the same filters until it is null. No job is repeated or missed while others are created or deleted; ' +
    'a job whose status changes meanwhile enters or leaves a list by `status`.',
  query: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 50, description: 'The most jobs in the page.' }),
    cursor: Type.String({
      maxLength: 200,
      default: '',
      description: '`next_cursor` of the page before; empty to begin.',
    }),
    status: Type.Optional(
      Type.Enum(JOB_STATUSES, { $id: 'JobStatus', type: 'string', description: 'Only jobs with this status.' }),
    ),
    label: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_LABEL_CHARS,
        description: 'Only jobs with this label.',
        examples: ['nightly'],
      }),
    ),
    created_after: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Only jobs from this time on.',
        examples: ['2026-01-31T00:00:00Z'],
      }),
    ),
    created_before: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Only jobs before this time.',
        examples: ['2026-02-01T00:00:00Z'],
      }),
    ),
  }),
  responses: {
    200: {
      description: 'A page of jobs.',
      schema: Type.Object(
        {
          items: Type.Array(JobView),
          next_cursor: Nullable(Type.String({ description: 'The cursor of the next page; null on the last page.' })),
        },
        { $id: 'JobList' },
      ),
      example: { items: [jobExample], next_cursor: null },
    },
  },
  async handler({ caller: { user_id }, query, signal }, { read, listCursors }) {
    const { limit, cursor, status = null, label, created_after, created_before } = query;
    // A filter that is not given is left out: a cursor of an earlier version stays good.
    const scope = { user_id, status, label, created_after, created_before };
    const after = listCursors.valuesOf(cursor, scope);
    const inUtc = (time: string) => new Date(time).toISOString();
    const filter = {
      owner_id: user_id,
      ...(status !== null && { status }),
      ...(label !== undefined && { label }),
      ...((created_after ?? created_before) !== undefined && {
        created_at: {
          ...(created_after !== undefined && { $gte: inUtc(created_after) }),
          ...(created_before !== undefined && { $lt: inUtc(created_before) }),
        },
      }),
    };
    const options = { sort: NEWEST_FIRST, limit: limit + 1, signal, ...(after && { after }) };
    const found = await read.jobs.find(filter, options);
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    const next_cursor = last === undefined ? null : listCursors.after([last.created_at, last._id], scope);
    return { body: { items: items.map(jobView), next_cursor } };
  },
});

const get = route({
  id: 'getJob',
  method: 'GET',
  path: '/jobs/{id}',
  access: 'owner',
  job: 'id',
  made_of: 'job',
  summary: 'Show the status and progress of a job',
  responses: { 200: { description: 'The job.', schema: JobStatusView, example: jobStatusExample } },
  handler: ({ job }, { inFlight }) => jobStatusReply(job, inFlight),
});

const cancel = route({
  id: 'cancelJob',
  method: 'DELETE',
  path: '/jobs/{id}',
  access: 'owner',
  job: 'id',
  summary: 'Cancel a job',
  description:
    'Checking stops within a second, and the ledger refunds the credits of unchecked URLs. Results stay. Cancelling a cancelled job ' +
    'again changes nothing.',
  responses: { 200: CANCELLED },
  errors: {
    409: anError(
      'The job has completed or failed, so there is nothing to cancel.',
      'illegal_transition',
      'A completed job cannot be cancelled. Legal now: delete.',
      { status: 'completed', legal: ['delete'] },
    ),
  },
  handler: (request, services) => cancelJob(request, services, { or_is_cancelled: true }),
});

export const group = groupOf(wire, [create, list, wait, get, cancel]);
