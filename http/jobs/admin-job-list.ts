// The administrators' list of the jobs of all users, and one of them.
import { FAILURE_REASONS, JOB_STATUSES } from '../../events/job.ts';
import { Nullable } from '../../events/nullable.ts';
import { Type } from '../../events/schema.ts';
import type { Filter } from '../../readmodels/documents.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { NEWEST_FIRST, pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { jobNotFound, NO_SUCH_JOB } from '../frame/errors.ts';
import { listOf, listReply } from '../frame/list-replies.ts';
import { anError, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';
import { JobStatusView, JobView, jobExample, jobStatusExample, jobStatusView, jobView } from './job-view.ts';

const wire = ({ read, inFlight }: Parts) => ({ inFlight, read: read({ jobs }) });
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'administration');

const owner = {
  owner_id: Type.String({ description: 'The user who made the job.' }),
  owner_email: Nullable(Type.String({ description: 'The address of the user when the job was made.' })),
};
const ownerOf = ({ owner_id, owner_email }: JobDocument) => ({ owner_id, owner_email });
const ownerExample = { owner_id: 'alice', owner_email: 'alice@example.com' };
const OwnedJob = Type.Object({ ...JobView.properties, ...owner }, { $id: 'OwnedJob' });

const list = route({
  id: 'listAllJobs',
  method: 'GET',
  path: '/admin/jobs',
  access: 'admin',
  summary: 'List the jobs of all users, the newest first',
  query: Type.Object({
    ...paging(20),
    status: Type.Optional(Type.Enum(JOB_STATUSES, { type: 'string', description: 'Only jobs with this status.' })),
    failure_reason: Type.Optional(
      Type.Enum(FAILURE_REASONS, { type: 'string', description: 'Only jobs that failed for this reason.' }),
    ),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 320,
        description: 'The whole id of a job, or the whole id or address of a user, or the label of a job.',
        examples: ['alice@example.com'],
      }),
    ),
  }),
  responses: { 200: listOf('A page of jobs.', OwnedJob, { ...jobExample, ...ownerExample }, 20) },
  async handler({ query }, { read }) {
    const page = await pageOf(read.jobs, filterOf(query), NEWEST_FIRST, query);
    return listReply(page, (job) => ({ ...jobView(job), ...ownerOf(job) }), query);
  },
});

function filterOf({
  status,
  failure_reason,
  search,
}: {
  status?: string;
  failure_reason?: string;
  search?: string;
}): Filter {
  const found = search?.trim();
  const all: Filter[] = [];
  if (status !== undefined) all.push({ status });
  if (failure_reason !== undefined) all.push({ status: 'failed' }, { failure_reason });
  if (found) {
    all.push({ $or: [{ _id: found }, { owner_id: found }, { owner_email: found.toLowerCase() }, { label: found }] });
  }
  return all.length === 0 ? {} : { $and: all };
}

const get = route({
  id: 'getAnyJob',
  method: 'GET',
  path: '/admin/jobs/{job_id}',
  access: 'admin',
  job: 'job_id',
  summary: 'Show a job of any user',
  responses: {
    200: {
      description: 'The job.',
      schema: Type.Object({ ...JobStatusView.properties, ...owner }),
      example: { ...jobStatusExample, ...ownerExample },
    },
  },
  errors: { 404: anError('There is no such job.', jobNotFound().code, NO_SUCH_JOB) },
  handler: ({ job }, { inFlight }) => ({ body: { ...jobStatusView(job, inFlight), ...ownerOf(job) } }),
});

export const group = groupOf(wire, [list, get]);
