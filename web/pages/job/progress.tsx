// How far a job is, and what holds it up.
import { to } from '../../app/address.ts';
import { SELLS } from '../../app/selling.ts';
import { counted, grouped, percent, span } from '../../ui/numbers.ts';
import type { Job, Speed } from './use-job.ts';

export function Progress({ job, speed: { per_s } }: { job: Job; speed: Speed }) {
  const { status, total_urls, completed_urls } = job;
  const left = total_urls - completed_urls;
  const is_going = status === 'processing' && per_s !== null && per_s > 0;
  return (
    <section class="card">
      <p class="progress wide">
        <progress value={completed_urls} max={Math.max(total_urls, 1)} aria-label="Checked URLs" />
        <b>{percent(completed_urls, total_urls)}</b>
      </p>
      <p class="facts">
        <span>
          <b>{grouped(completed_urls)}</b> of {counted(total_urls, 'URL')} checked
        </span>
        {status === 'processing' && job.urls_in_flight !== null && (
          <span title="Handed out to be checked, and without a result yet">
            {grouped(job.urls_in_flight)} in flight
          </span>
        )}
        {is_going && <span>{grouped(Math.round(per_s))} URLs a second</span>}
        {is_going && left > 0 && <span>{span((left / per_s) * 1000)} left</span>}
        {job.completed_at && <span>took {span(Date.parse(job.completed_at) - Date.parse(job.created_at))}</span>}
        <span>
          {counted(job.credits_allocated - job.credits_refunded, 'credit')} {job.completed_at ? 'spent' : 'reserved'}
        </span>
        <LeftOut job={job} />
      </p>
      <Holdup job={job} />
    </section>
  );
}

function LeftOut({ job }: { job: Job }) {
  const left_out = [
    { count: job.duplicates_removed, what: 'duplicate' },
    { count: job.invalid_urls_rejected, what: 'invalid' },
    { count: job.blocked_urls_skipped, what: 'blocked' },
  ].filter(({ count }) => count > 0);
  if (left_out.length === 0) return null;
  return (
    <span>
      not checked:{' '}
      {left_out
        .map(({ count, what }) => (what === 'duplicate' ? counted(count, what) : `${grouped(count)} ${what}`))
        .join(', ')}
    </span>
  );
}

const HOLDUPS = {
  owner: 'You paused this job.',
  credit_ceiling: `The job has used its credits. ${SELLS ? 'Buy credits' : 'Ask an administrator for more'}, then resume it.`,
  usage_limit: 'The limit of your account is used up. The job can go on when the next period begins.',
} as const;
const FAILURES: Readonly<Record<string, string>> = {
  no_progress: 'No URL could be checked for a long time. Delete the job to get its unused credits back.',
};

function Holdup({ job: { status, pause_reason, failure_reason } }: { job: Job }) {
  if (status === 'failed') return <p class="notice">{FAILURES[failure_reason ?? ''] ?? 'The job failed.'}</p>;
  if (status !== 'paused' || pause_reason === null) return null;
  return (
    <p class="notice">
      {HOLDUPS[pause_reason as keyof typeof HOLDUPS] ?? 'The job is paused.'}{' '}
      {SELLS && pause_reason === 'credit_ceiling' && <a href={to('/account/buy')}>Buy credits</a>}
    </p>
  );
}
