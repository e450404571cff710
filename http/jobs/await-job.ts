// Waits until a condition on a job holds. All waiting requests share one watch.
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import type { JobWatch } from './job-watch.ts';

/**
 * Resolves when `holds` returns true, when the job is deleted, after `timeout_ms`, or when a signal aborts. It never rejects.
 * `is_soon`: the caller expects the change within milliseconds, so the watch looks every 10 ms.
 * @example await jobWhen(watch, job_id, ({ status }) => status === 'paused', { timeout_ms: 2000, signals: [request.signal] });
 */
export function jobWhen(
  watch: JobWatch,
  job_id: string,
  holds: (job: JobDocument) => boolean,
  options: { timeout_ms: number; signals: readonly AbortSignal[]; is_soon?: boolean },
): Promise<void> {
  const aborted = AbortSignal.any([...options.signals]);
  return new Promise((resolve) => {
    if (aborted.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      aborted.removeEventListener('abort', done);
      unfollow();
      resolve();
    };
    const timer = setTimeout(done, options.timeout_ms);
    aborted.addEventListener('abort', done);
    const follower = (job: JobDocument | null) => {
      if (job === null || holds(job)) done();
    };
    const unfollow = watch.follow(job_id, follower, options);
  });
}
