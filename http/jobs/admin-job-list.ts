// The administrators' list of the jobs of all users, and one of them.
import { FAILURE_REASONS, JOB_STATUSES } from '../../events/job.ts';
import { Nullable, Type } from '../../events/schema.ts';
import type { Collection, Filter } from '../../readmodels/documents.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { NEWEST_FIRST, pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { jobNotFound, NO_SUCH_JOB } from '../frame/errors.ts';
import { anError, routeOf } from '../frame/route.ts';
import { listOf, listReply } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';
import { JobStatusView, JobView, jobExample, jobStatusExample, jobStatusView, jobView } from './job-view.ts';

const wire = ({ read, inFlight }: Parts) => ({ inFlight, read: read({ jobs }) });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

const owner = {
  owner_id: Type.String({ description: 'The user who made the job.' }),
  owner_email: Nullable(Type.String({ description: 'The address of the user when the job was made.' })),
};
const ownerOf = ({ owner_id, owner_email }: JobDocument) => ({ owner_id, owner_email });
const ownerExample = { owner_id: 'alice', owner_email: 'alice@example.com' };
const OwnedJob = Type.Object({ ...JobView.properties, ...owner }, { $id: 'OwnedJob' });

/** A label is looked for in so many of the newest jobs: no index has labels without their owners. */
export const LABELS_SEARCHED = 10_000;

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
        description: `The whole id of a job, or the whole id or address of a user, or the label of one of the newest ${LABELS_SEARCHED.toLocaleString('en')} jobs.`,
        examples: ['alice@example.com'],
      }),
    ),
  }),
  responses: { 200: listOf('A page of jobs.', OwnedJob, { ...jobExample, ...ownerExample }, 20) },
  async handler({ query }, { read }) {
    const page = await pageOf(read.jobs, await filterOf(query, read.jobs), NEWEST_FIRST, query);
    return listReply(page, (job) => ({ ...jobView(job), ...ownerOf(job) }), query);
  },
});

export async function filterOf(
  { status, failure_reason, search }: { status?: string; failure_reason?: string; search?: string },
  documents: Pick<Collection<JobDocument>, 'find'>,
): Promise<Filter> {
  const found = search?.trim();
  const wanted = failure_reason === undefined ? status : 'failed';
  const all: Filter[] = failure_reason === undefined ? [] : [{ failure_reason }];
  if (status !== undefined && wanted !== status) return { _id: { $in: [] } };
  if (!found) return wanted === undefined ? {} : { $and: [{ status: wanted }, ...all] };
  // Written so that it leads to no index: by that of statuses, SQLite would look through all jobs of this one.
  if (wanted !== undefined) all.push({ status: { $nin: JOB_STATUSES.filter((each) => each !== wanted) } });
  const [oldest] = await documents.find({}, { sort: NEWEST_FIRST, skip: LABELS_SEARCHED - 1, limit: 1 });
  const by_label = { label: found, ...(oldest && { created_at: { $gte: oldest.created_at } }) };
  return {
    $and: [...all, { $or: [{ _id: found }, { owner_id: found }, { owner_email: found.toLowerCase() }, by_label] }],
  };
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
