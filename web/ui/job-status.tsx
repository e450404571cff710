// The status of a job and how far it is, as lists and the job's own page show them.
import type { AnswerOf } from '../api/ask.ts';
import { grouped, percent } from './values.tsx';

type Job = Pick<
  AnswerOf<'GET /jobs/{job_id}'>,
  'status' | 'total_urls' | 'completed_urls' | 'pause_reason' | 'failure_reason'
>;

const PAUSES: Readonly<Record<string, string>> = {
  credit_ceiling: 'waits for credits',
  usage_limit: 'usage limit reached',
};

export function JobStatus({ job: { status, pause_reason } }: { job: Job }) {
  const reason = pause_reason && PAUSES[pause_reason];
  return (
    <span class={`badge is-${status}`}>
      {status}
      {reason && `: ${reason}`}
    </span>
  );
}

export function JobProgress({ job: { completed_urls, total_urls } }: { job: Job }) {
  return (
    <span class="progress">
      <progress
        value={completed_urls}
        max={Math.max(total_urls, 1)}
        aria-label={`${grouped(completed_urls)} of ${grouped(total_urls)} URLs`}
      />
      {percent(completed_urls, total_urls)}
    </span>
  );
}
