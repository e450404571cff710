// How many URLs of a job are handed out and have no results yet, by the last heartbeat of the process that hands them out.
// Decision 107 says why.
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { MAX_HANDED_OUT_JOBS, type RoleWatch, workOf } from '../../roles/role-signs.ts';

/** Null where nobody knows. */
export type InFlight = (
  job: Pick<JobDocument, '_id' | 'status' | 'completed_urls' | 'credits_allocated'>,
) => number | null;

export function openInFlight(roles: Pick<RoleWatch, 'alive'>): InFlight {
  return ({ _id, status, completed_urls, credits_allocated }) => {
    if (status !== 'processing') return 0;
    const urls_by_job = workOf(roles)?.urls_by_job;
    if (!urls_by_job) return null;
    const urls = urls_by_job[_id] ?? (Object.keys(urls_by_job).length < MAX_HANDED_OUT_JOBS ? 0 : null);
    // The heartbeat may be older than the newest results.
    return urls && Math.min(urls, credits_allocated - completed_urls);
  };
}
