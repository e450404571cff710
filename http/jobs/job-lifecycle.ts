// Pauses, resumes, cancels and deletes jobs. commands/jobs/job.ts decides which change is legal.
import type { Refusal } from '../../commands/aggregate.ts';
import { openDeleteJob } from '../../commands/jobs/delete-job.ts';
import { NO_CREDITS, openResumeJob } from '../../commands/jobs/resume-job.ts';
import { LIMIT_REACHED } from '../../commands/jobs/submit-job.ts';
import type { Position } from '../../events/event-store.ts';
import { Type } from '../../events/schema.ts';
import { jobStream } from '../../events/streams.ts';
import { endedJob, type JobDocument, jobs as jobDocuments } from '../../readmodels/jobs/jobs.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { PUBLIC } from '../apis/public.ts';
import { limitedKeyOf } from '../callers/command-context.ts';
import { HttpError, jobNotFound, notYours, retryLater } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { anError, type Caller, type OwnedJob, type Reply, type RouteRequest, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { jobWhen } from './await-job.ts';
import { JobView, jobExample, jobView } from './job-view.ts';

function wire({ jobs, credits, jobFinder, jobWatch, read, passed }: Parts) {
  const collections = read({ jobs: jobDocuments });
  const deleteJob = openDeleteJob(jobs, credits, async (job_id, position) => {
    const job = (await passed(position)) ? await collections.jobs.get(job_id) : null;
    return job && endedJob(job);
  });
  return {
    ...{ jobs, jobFinder, jobWatch, passed },
    resumeJob: openResumeJob(jobs, credits),
    deleteJob,
    read: collections,
  };
}
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'jobs');

const ILLEGAL = anError(
  'The status of the job does not allow this. `details` has the status and the legal changes.',
  'illegal_transition',
  'A completed job cannot be paused. Legal now: delete.',
  { status: 'completed', legal: ['delete'] },
);

export const CANCELLED = {
  description: 'The job.',
  schema: JobView,
  example: { ...jobExample, status: 'cancelled', credits_refunded: 580, completed_at: '2026-01-31T09:00:21.000Z' },
};

/** The longest wait of a cancellation for the refund. */
const SETTLED_MS = 5000;
const MAX_DELETED = 1000;
/** Enough for MAX_DELETED ids, however their JSON is spaced. */
const MAX_DELETE_BYTES = 256 * 1024;
/** The most concurrent deletions of one request. Their appends share a commit. */
const DELETED_AT_ONCE = 50;

type Asking = Pick<RouteRequest, 'command'> & { caller: Caller };

const pause = route({
  id: 'pauseJob',
  method: 'POST',
  path: '/jobs/{job_id}/pause',
  access: 'owner',
  summary: 'Pause a job',
  description: 'The service finishes and counts the URLs in flight, and begins no others.',
  responses: {
    200: {
      description: 'The job.',
      schema: JobView,
      example: { ...jobExample, status: 'paused', pause_reason: 'owner' },
    },
  },
  errors: { 409: ILLEGAL },
  async handler({ job: { _id }, command }, services) {
    return changed(_id, await services.jobs.run(_id, { type: 'pause' }, command()), services);
  },
});

/** What both APIs say of the route. */
const resuming = {
  id: 'resumeJob',
  method: 'POST',
  access: 'owner',
  summary: 'Resume a paused job',
  description:
    'Reserves credits for the unchecked URLs, as many as the balance allows, and checks those URLs. When two requests resume a job at ' +
    'once, one of them may get 409; the ledger reserves the credits once.',
  responses: { 200: { description: 'The job.', schema: JobView, example: jobExample } },
  errors: {
    402: {
      description:
        'The job has used its credits, and you have none left, or the limit of your account or of the API key is used up (`usage_limit`, `key_limit`).',
      examples: {
        no_credits: { message: NO_CREDITS.message },
        usage_limit: { message: LIMIT_REACHED.message },
      },
    },
    409: ILLEGAL,
  },
  async handler(
    { job: { _id }, caller, command }: Pick<RouteRequest, 'command'> & { job: OwnedJob; caller: Caller },
    services: Deps,
  ) {
    return changed(_id, await services.resumeJob(_id, command(), limitedKeyOf(caller)), services);
  },
} as const;
const resume = route({ ...resuming, path: '/jobs/{job_id}/resume' });
const resumeByKey = routeOf<Deps>(PUBLIC, 'jobs')({ ...resuming, path: '/jobs/{id}/resume', job: 'id' });

const cancel = route({
  id: 'cancelJob',
  method: 'POST',
  path: '/jobs/{job_id}/cancel',
  access: 'owner',
  summary: 'Cancel a job',
  description:
    'Checking stops within a second. Results stay. The answer waits up to 5 s for the refund of unused credits.',
  responses: { 200: CANCELLED },
  errors: { 409: ILLEGAL },
  handler: cancelJob,
});

/** Cancels a job of the caller, and waits up to 5 s for the refund. With `or_is_cancelled`, a cancelled job is no error. */
export async function cancelJob(
  request: Asking & Pick<RouteRequest, 'signal'> & { job: OwnedJob },
  services: Pick<Deps, 'jobs' | 'jobWatch' | 'passed' | 'read'>,
  { or_is_cancelled = false } = {},
): Promise<Reply> {
  const { _id: job_id } = request.job;
  const asked = await services.jobs.run(job_id, { type: 'cancel' }, request.command());
  const is_done = !asked.ok && or_is_cancelled && asked.refused.details?.status === 'cancelled';
  if (!asked.ok && !is_done) throw refusal(asked.refused);
  const { position } = asked.ok ? asked : await services.jobs.aggregate.read(jobStream(job_id));
  const isSettled = ({ status, due }: JobDocument) => status === 'cancelled' && due !== 'settlement';
  const { jobWatch } = services;
  await jobWhen(jobWatch, job_id, isSettled, { timeout_ms: SETTLED_MS, signals: [request.signal], is_soon: true });
  return changed(job_id, { ok: true, position }, services);
}

const remove = route({
  id: 'deleteJob',
  method: 'DELETE',
  path: '/jobs/{job_id}',
  access: 'owner-or-admin',
  foreign: 403,
  summary: 'Delete a job that has ended',
  description:
    'Erases the job, its URLs, its results and its file for good. The ledger refunds the unused credits of a failed job, and keeps its ' +
    'entries.',
  responses: {
    200: {
      description: 'The job is deleted.',
      schema: Type.Object({ job_id: Type.String(), deleted: Type.Literal(true) }),
      example: { job_id: jobExample.job_id, deleted: true },
    },
  },
  errors: {
    409: anError(
      'The job has not ended. Cancel it first.',
      'illegal_transition',
      'A paused job cannot be deleted: cancel it first. Legal now: resume, cancel.',
      { status: 'paused', legal: ['resume', 'cancel'] },
    ),
  },
  async handler(request, services) {
    const { _id: job_id } = request.job;
    const deleted = await services.deleteJob(job_id, request.command());
    if (!deleted.ok) throw refusal(deleted.refused);
    return { body: { job_id, deleted: true }, position: deleted.position };
  },
});

const Undeleted = Type.Object({
  job_id: Type.String(),
  status: Type.Integer({ description: 'The status that `DELETE /jobs/{job_id}` would have.' }),
  detail: Type.String(),
});

const removeMany = route({
  id: 'deleteJobs',
  method: 'POST',
  path: '/jobs/bulk-delete',
  access: 'user',
  heavy: true,
  summary: 'Delete many jobs that have ended',
  description: 'Deletes each job on its own: a refusal of one does not keep the others.',
  body: jsonBody(
    Type.Object({
      job_ids: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: MAX_DELETED }),
    }),
    {
      limit_bytes: MAX_DELETE_BYTES,
      example: { job_ids: [jobExample.job_id, '7d4d1f57-2f0a-4a53-9c5e-0d9f6f3f5a10'] },
    },
  ),
  responses: {
    200: {
      description: 'The ids of deleted jobs, and an error for each of the others.',
      schema: Type.Object({ deleted: Type.Array(Type.String()), errors: Type.Array(Undeleted) }),
      example: {
        deleted: [jobExample.job_id],
        errors: [
          {
            job_id: '7d4d1f57-2f0a-4a53-9c5e-0d9f6f3f5a10',
            status: 409,
            detail: 'A processing job cannot be deleted: cancel it first. Legal now: pause, cancel.',
          },
        ],
      },
    },
  },
  async handler(request, services) {
    const job_ids = [...new Set(request.body.job_ids)];
    // What is left waits for the log.
    request.rest();
    const deleted: string[] = [];
    const errors: { job_id: string; status: number; detail: string }[] = [];
    let last: Position = '';
    for (let n = 0; n < job_ids.length; n += DELETED_AT_ONCE) {
      const some = job_ids.slice(n, n + DELETED_AT_ONCE);
      const outcomes = await Promise.all(some.map((job_id) => removeOne(job_id, request, services)));
      for (const [i, outcome] of outcomes.entries()) {
        const job_id = some[i]!;
        if (outcome instanceof HttpError) errors.push({ job_id, status: outcome.status, detail: outcome.message });
        else {
          deleted.push(job_id);
          if (outcome > last) last = outcome;
        }
      }
    }
    return { body: { deleted, errors }, ...(last === '' ? {} : { position: last }) };
  },
});

/** Returns the position of the deletion, or the error of its refusal. */
async function removeOne(job_id: string, request: Asking, services: Deps): Promise<Position | HttpError> {
  const { caller } = request;
  const job = await services.jobFinder.owned(job_id);
  if (!job) return jobNotFound();
  if (job.owner_id !== caller.user_id && !caller.is_admin) return notYours();
  const deleted = await services.deleteJob(job_id, request.command());
  return deleted.ok ? deleted.position : refusal(deleted.refused);
}

type Refused = Refusal & { details?: object | undefined };

/** Answers with the job once reads see its change. Throws the error of a refusal. */
async function changed(
  job_id: string,
  outcome: { ok: true; position: Position } | { ok: false; refused: Refused },
  { passed, read }: Pick<Deps, 'passed' | 'read'>,
): Promise<Reply> {
  if (!outcome.ok) throw refusal(outcome.refused);
  const { position } = outcome;
  const job = (await passed(position)) ? await read.jobs.get(job_id) : null;
  if (!job)
    throw retryLater(503, 'unavailable', 'The job has changed, but the service cannot show it yet. Read it again.', 1);
  return { body: jobView(job), position };
}

const STATUSES: Readonly<Record<string, number>> = {
  job_not_found: 404,
  no_credits: 402,
  usage_limit: 402,
  key_limit: 402,
};
/** A job's results are counted within seconds, unless the projector is away. */
const COUNTED_S = 5;

function refusal({ code, message, details }: Refused): HttpError {
  if (code === 'unavailable') return retryLater(503, code, message, COUNTED_S);
  return new HttpError(STATUSES[code] ?? 409, code, message, details);
}

export const group = groupOf(wire, [pause, resume, resumeByKey, cancel, remove, removeMany]);
