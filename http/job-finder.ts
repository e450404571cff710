// Finds jobs for the access rules: in the read models, or in the log when the read models do not have the job yet.
import type { Jobs } from '../commands/job.ts';
import { jobStream } from '../events/streams.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import type { JobFinder } from './access.ts';

const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function openJobFinder(documents: Pick<LiveCollection<JobDocument>, 'get'>, jobs: Jobs): JobFinder {
  return {
    shown: (job_id) => documents.get(job_id),
    async owned(job_id) {
      const job = await documents.get(job_id);
      if (job || !JOB_ID.test(job_id)) return job;
      const { status, owner_id } = (await jobs.aggregate.read(jobStream(job_id))).state;
      return status === 'none' || status === 'deleted' ? null : { _id: job_id, owner_id };
    },
  };
}
