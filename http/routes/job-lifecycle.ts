// What is done to a job: pause, resume, cancel, delete one or many. What may follow what is decided in commands/job.ts.

import type { Refusal } from '../../commands/aggregate.ts';
import { openDeleteJob } from '../../commands/delete-job.ts';
import { openResumeJob } from '../../commands/resume-job.ts';
import type { Position } from '../../events/event-store.ts';
import { Type } from '../../events/schema.ts';
import { jobStream } from '../../events/streams.ts';
import { endedJob, type JobDocument, jobs as jobDocuments } from '../../readmodels/jobs.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { jobWhen } from '../await-job.ts';
import { HttpError, jobNotFound, notYours, retryLater } from '../errors.ts';
import { groupOf, type Parts } from '../group.ts';
import { JobView, jobExample, jobView } from '../job-view.ts';
import { anError, type Caller, jsonBody, type OwnedJob, type Reply, type RouteRequest, routeOf } from '../route.ts';

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
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY);

const tags = ['jobs'];
const ILLEGAL = anError(
  'The job does not stand where this is possible; `details` says where it stands and what is legal there.',
  'illegal_transition',
  'A completed job cannot be paused. Legal now: delete.',
  { status: 'completed', legal: ['delete'] },
);

export const CANCELLED = {
  description: 'The job.',
  schema: JobView,
  example: { ...jobExample, status: 'cancelled', credits_refunded: 580, completed_at: '2026-01-31T09:00:21.000Z' },
};

/** How long the answer to a cancellation waits for the credits to be back. */
const SETTLED_MS = 5000;
const MAX_DELETED = 1000;
/** All of them, however their JSON is spaced. */
const MAX_DELETE_BYTES = 256 * 1024;
/** Deletions of one request that run at once: their appends share what is slow. */
const DELETED_AT_ONCE = 50;

type Asking = Pick<RouteRequest, 'command'> & { caller: Caller };

export const pause = route({
  method: 'POST',
  path: '/jobs/{job_id}/pause',
  access: 'owner',
  summary: 'Pause a job',
  description: 'What is being checked is finished and counted; what waits is not begun.',
  tags,
  responses: {
    200: {
      description: 'The job.',
      schema: JobView,
      example: { ...jobExample, status: 'paused', pause_reason: 'owner' },
    },
  },
  errors: { 409: ILLEGAL },
  async handler(request, services) {
    const { _id: job_id } = request.job;
    const paused = await services.jobs.run(job_id, { type: 'pause' }, request.command());
    if (!paused.ok) throw refusal(paused.refused);
    return changed(job_id, paused.position, services);
  },
});

export const resume = route({
  method: 'POST',
  path: '/jobs/{job_id}/resume',
  access: 'owner',
  summary: 'Resume a paused job',
  description:
    'Reserves what the balance affords of the credits that the job lacks, and checks the URLs that are missing. Of two ' +
    'requests at once one may be refused with 409; the credits are taken once.',
  tags,
  responses: { 200: { description: 'The job.', schema: JobView, example: jobExample } },
  errors: { 402: 'The job has used its credits, and there are none left.', 409: ILLEGAL },
  async handler(request, services) {
    const { _id: job_id } = request.job;
    const resumed = await services.resumeJob(job_id, request.command());
    if (!resumed.ok) throw refusal(resumed.refused);
    return changed(job_id, resumed.position, services);
  },
});

export const cancel = route({
  method: 'POST',
  path: '/jobs/{job_id}/cancel',
  access: 'owner',
  summary: 'Cancel a job',
  description:
    'Checking stops within a second. Results stay; credits that were not used are given back before the answer, or ' +
    'after it where that takes longer than 5 s.',
  tags,
  responses: { 200: CANCELLED },
  errors: { 409: ILLEGAL },
  handler: cancelJob,
});

/** Cancels a job of the caller, and waits until it is settled. `or_is_cancelled`: that it was done before is no error. */
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
  await jobWhen(services.jobWatch, job_id, isSettled, {
    timeout_ms: SETTLED_MS,
    signals: [request.signal],
    is_soon: true,
  });
  return changed(job_id, position, services);
}

export const remove = route({
  method: 'DELETE',
  path: '/jobs/{job_id}',
  access: 'owner-or-admin',
  foreign: 403,
  summary: 'Delete a job that has ended',
  description:
    'The job, its URLs, its results and its file are gone for good. Of a failed job the credits that it did not use are ' +
    'given back; the entries of the ledger stay.',
  tags,
  responses: {
    200: {
      description: 'It is deleted.',
      schema: Type.Object({ job_id: Type.String(), deleted: Type.Literal(true) }),
      example: { job_id: jobExample.job_id, deleted: true },
    },
  },
  errors: {
    409: anError(
      'The job has not ended: cancel it first.',
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
  status: Type.Integer({ description: 'What deleting this job alone would have been answered with.' }),
  detail: Type.String(),
});

export const removeMany = route({
  method: 'POST',
  path: '/jobs/bulk-delete',
  access: 'user',
  heavy: true,
  summary: 'Delete many jobs that have ended',
  description: 'Each as if it were deleted alone: one that cannot be deleted does not keep the others.',
  tags,
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
      description: 'What was deleted, and what was not.',
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

/** The position of its deletion, or why it was not deleted. */
async function removeOne(job_id: string, request: Asking, services: Deps): Promise<Position | HttpError> {
  const { caller } = request;
  const job = await services.jobFinder.owned(job_id);
  if (!job) return jobNotFound();
  if (job.owner_id !== caller.user_id && !caller.is_admin) return notYours();
  const deleted = await services.deleteJob(job_id, request.command());
  return deleted.ok ? deleted.position : refusal(deleted.refused);
}

/** The job as it is once the change is seen. */
async function changed(
  job_id: string,
  position: Position,
  { passed, read }: Pick<Deps, 'passed' | 'read'>,
): Promise<Reply> {
  const job = (await passed(position)) ? await read.jobs.get(job_id) : null;
  if (!job) throw retryLater(503, 'unavailable', 'It is done, but cannot be shown yet. Look again.', 1);
  return { body: jobView(job), position };
}

const STATUSES: Readonly<Record<string, number>> = { job_not_found: 404, no_credits: 402, unavailable: 503 };

function refusal({ code, message, details }: Refusal & { details?: object | undefined }): HttpError {
  return new HttpError(STATUSES[code] ?? 409, code, message, details);
}

export const group = groupOf(wire, [pause, resume, cancel, remove, removeMany]);
