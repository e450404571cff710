// The administrators' routes for single jobs: run a failed job again, and get the file that a job was made from.
import { openRerunJob, RERUN_REFUSALS, type RerunRefusal } from '../../commands/jobs/rerun-job.ts';
import { Type } from '../../events/schema.ts';
import { jobs as jobDocuments } from '../../readmodels/jobs/jobs.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError, jobNotFound, NO_SUCH_JOB } from '../frame/errors.ts';
import { IN_PROGRESS, MADE, RETRY_AFTER } from '../frame/idempotency-key.ts';
import { anError, routeOf } from '../frame/route.ts';
import { Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { fileName, typeOfFile } from '../results/export/file-name.ts';
import { JobView, jobExample } from './job-view.ts';
import { answerOf, type Once, onceMade, ownOf } from './submit.ts';

const wire = ({ log, jobs, credits, blobs, submissions, jobFinder, read, now }: Parts) => ({
  ...{ blobs, jobFinder, now },
  rerunJob: openRerunJob({ log, jobs, users: credits.users, blobs, submissions }),
  read: read({ jobs: jobDocuments }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

const LINK_S = 3600;

const MESSAGES = {
  not_failed: 'Only a failed job can be run again; this one is completed.',
  ...RERUN_REFUSALS,
  no_file: 'The job was posted as a list. GET /jobs/{job_id}/url-list has its URLs.',
};

const rerun = route({
  id: 'rerunJob',
  method: 'POST',
  path: '/admin/jobs/{job_id}/rerun',
  access: 'admin',
  heavy: true,
  summary: 'Run a failed job again for its owner',
  description:
    "Reads the uploaded file, or the job's URLs where it was posted as a list, as if the owner had submitted it now: with the blocklist of today, " +
    "with the owner's credits and limits, and for the owner, who gets a mail. With fewer credits than URLs the new job checks as many URLs as there " +
    'are credits, then pauses. The failed job stays; deleting it returns its unused credits. Within 24 hours a job is run again once: the ' +
    'service answers another request with the first answer.',
  responses: {
    201: {
      description: 'The new job.',
      schema: JobView,
      example: { ...jobExample, completed_urls: 0, started_at: null, source: 'rerun' },
      headers: MADE,
    },
  },
  errors: {
    402: {
      description: 'The owner has no credits left, or the limit of the account is used up. There is no new job.',
      examples: {
        no_credits: { message: MESSAGES.no_credits },
        usage_limit: { message: MESSAGES.usage_limit },
      },
    },
    404: NO_SUCH_JOB,
    409: {
      description: 'The job cannot be run again, or is being run again at this moment.',
      headers: RETRY_AFTER,
      examples: {
        not_failed: { message: MESSAGES.not_failed, details: { status: 'completed' } },
        owner_erased: { message: MESSAGES.owner_erased },
        upload_missing: { message: MESSAGES.upload_missing },
        ...IN_PROGRESS,
      },
    },
    410: anError(
      'The URLs of the job and its file are removed, because it ended long ago.',
      'results_expired',
      MESSAGES.results_expired,
    ),
    413: 'The file is larger, or holds more URLs, than the limits of today allow.',
    415: 'The file is not a table.',
    422: 'No URL is left to check, for instance because all domains are on the blocklist today.',
  },
  async handler({ params, route, signal, command }, { rerunJob, jobFinder }) {
    const { job_id } = params;
    if (!(await jobFinder.owned(job_id))) throw jobNotFound();
    const once = await rerunJob(job_id, { route, signal, answerOf }, command());
    if (!once.ok && isOfReruns(once.refused)) {
      const { code, message, details } = once.refused;
      throw new HttpError(STATUSES[code], code, message, details);
    }
    // The owner, who did not ask, finds the job at once too.
    const mine = once.ok ? { ...once, own: ownOf(once.filename, once.described) } : (once as Once);
    return { ...onceMade(mine, 'urls', { route }).reply, is_early: false };
  },
});

const STATUSES: Readonly<Record<RerunRefusal['code'], number>> = {
  job_not_found: 404,
  ...{ not_failed: 409, owner_erased: 409, upload_missing: 409 },
  results_expired: 410,
  ...{ no_credits: 402, usage_limit: 402 },
};
const isOfReruns = (refused: { code: string }): refused is RerunRefusal => Object.hasOwn(STATUSES, refused.code);

const inputFile = route({
  id: 'createInputLink',
  method: 'GET',
  path: '/admin/jobs/{job_id}/input-csv',
  access: 'admin',
  job: 'job_id',
  of_results: true,
  summary: 'Create a link to the file that a job was made from',
  description:
    'The link works for an hour without credentials. It returns the uploaded bytes, whatever format they have.',
  responses: {
    200: {
      description: 'The link.',
      schema: Type.Object({
        url: Type.String({ format: 'uri' }),
        expires_at: Time(),
        filename: Type.String({ description: 'The name of the uploaded file.' }),
      }),
      example: {
        url: 'http://127.0.0.1:8080/files?key=uploads%2F2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11&name=urls.csv&type=text%2Fcsv&expires=1769853600&signature=sgQtxHzWenOlm7n0Yc2mXw',
        expires_at: '2026-01-31T10:00:00.000Z',
        filename: 'urls.csv',
      },
    },
  },
  errors: {
    404: {
      description: 'There is no such job, or it has no file.',
      examples: {
        job_not_found: { message: NO_SUCH_JOB },
        no_file: { message: MESSAGES.no_file },
        upload_missing: { message: MESSAGES.upload_missing },
      },
    },
  },
  async handler({ job }, { blobs, now }) {
    const { blob_key } = job;
    if (blob_key === null) throw new HttpError(404, 'no_file', MESSAGES.no_file);
    const stored = await blobs.get(blob_key);
    if (stored === null) throw new HttpError(404, 'upload_missing', MESSAGES.upload_missing);
    stored.destroy();
    const filename = job.filename ?? 'upload';
    const expires_at = new Date((Math.floor(now() / 1000) + LINK_S) * 1000).toISOString();
    const link = { expires_at, file_name: fileName(filename), content_type: typeOfFile(filename) };
    return { body: { url: await blobs.link(blob_key, link), expires_at, filename } };
  },
});

export const group = groupOf(wire, [rerun, inputFile]);
