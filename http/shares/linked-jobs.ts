// Whether a link, which opens a job without credentials, still opens it.

import type { Jobs } from '../../commands/jobs/job.ts';
import type { Accounts } from '../../commands/users/accounts.ts';
import { jobStream } from '../../events/streams.ts';
import { accountOf } from '../../events/test-user.ts';

/** Asks the log: the read models may lack that the job was deleted, or its owner erased. */
export const openLinkedJobs =
  (jobs: Jobs, accounts: Pick<Accounts, 'find'>) =>
  async (job_id: string): Promise<boolean> => {
    const { owner_id, status } = (await jobs.aggregate.read(jobStream(job_id))).state;
    return status !== 'none' && status !== 'deleted' && !(await accounts.find(accountOf(owner_id))).is_erased;
  };
