// Waits for something to be true of a job, by the watch that all who wait share.
import type { JobDocument } from '../readmodels/jobs.ts';
import type { JobWatch } from './job-watch.ts';

/** Resolves when `holds`, when the job was deleted, when the time is up, or when one of the signals aborts.
 * `is_soon`: it is a matter of milliseconds, and looked for so often. */
export function jobWhen(
  watch: JobWatch,
  job_id: string,
  holds: (job: JobDocument) => boolean,
  options: { timeout_ms: number; signals: readonly AbortSignal[]; is_soon?: boolean },
): Promise<void> {
  const given_up = AbortSignal.any([...options.signals]);
  return new Promise((resolve) => {
    if (given_up.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      given_up.removeEventListener('abort', done);
      unfollow();
      resolve();
    };
    const timer = setTimeout(done, options.timeout_ms);
    given_up.addEventListener('abort', done);
    const follower = (job: JobDocument | null) => {
      if (job === null || holds(job)) done();
    };
    const unfollow = watch.follow(job_id, follower, options);
  });
}
