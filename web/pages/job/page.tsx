// A job: how far it is, what was found, and every result. It follows the job while it works.

import { type AnswerOf, useAnswer } from '../../api/ask.ts';
import { type PageProps, to, useAddress } from '../../app/address.ts';
import { SELLS } from '../../app/selling.ts';
import { Empty, Failure } from '../../ui/failure.tsx';
import { Histogram, ShareBar } from '../../ui/figures.tsx';
import { JobStatus } from '../../ui/job-status.tsx';
import { counted, grouped, percent, span, Time } from '../../ui/values.tsx';
import { VERDICTS } from '../../ui/verdicts.ts';
import { Actions } from './actions.tsx';
import { Results } from './results.tsx';
import { type Job, type Speed, useJob } from './use-job.ts';

export function Page({ params }: PageProps) {
  const job_id = params.job_id!;
  const { job, is_deleted, is_lost, speed } = useJob(job_id);
  // The figures follow the job, not each of its events.
  const stats = useAnswer('GET /jobs/{job_id}/stats', { job_id }, speed.seen);
  if (is_deleted) return <Empty title="This job was deleted" is_page />;
  if (!job.value) return <Failure of={job} title="Job" />;
  const { value } = job;
  return (
    <>
      <header class="title">
        <h1>
          <bdi>{value.filename ?? 'Job'}</bdi>
        </h1>
        <JobStatus job={value} />
        <small>
          <Time at={value.created_at} />
        </small>
        <Actions job={value} onChange={job.again} />
      </header>
      <Failure of={job} />
      {is_lost && !job.error && (
        <p class="notice" role="status">
          The connection to the service is lost: what you see is not current. Trying again …
        </p>
      )}
      <Progress job={value} speed={speed} />
      <Failure of={stats} />
      {stats.value && <Figures stats={stats.value} />}
      {value.results_expired_at === null ? (
        <Results job={value} version={speed.seen} />
      ) : (
        <Empty title="The results are no longer there">
          <p>
            The service keeps results for a limited time. It removed these, with the list of URLs and the uploaded file,
            on <Time at={value.results_expired_at} />. The figures above stay. Check the list again for new results.
          </p>
        </Empty>
      )}
    </>
  );
}

// What was found, at a glance: the verdicts, the response times, and the domains with the most failures.
type Stats = AnswerOf<'GET /jobs/{job_id}/stats'>;

const WORST = 6;

function Figures({ stats }: { stats: Stats }) {
  const { path } = useAddress();
  if (stats.completed_urls === 0) return null;
  const shares = VERDICTS.map(({ name, label }) => ({
    name,
    label,
    count: stats.verdicts[name] ?? 0,
    href: to(path, { verdict: name }),
  }));
  return (
    <div class="figures-grid">
      <section class="card wide">
        <h2>Verdicts</h2>
        <ShareBar shares={shares} />
      </section>
      <ResponseTimes times={stats.response_times_ms} />
      <WorstDomains stats={stats} />
    </div>
  );
}

function ResponseTimes({ times }: { times: Stats['response_times_ms'] }) {
  if (times.measured === 0) return null;
  const { histogram, p50, p95, max } = times;
  const first = histogram.findIndex(({ count }) => count > 0);
  return (
    <section class="card">
      <h2>Response times</h2>
      <Histogram
        label="URLs by response time"
        buckets={histogram.slice(first).map(({ below_ms, count }) => ({ label: `< ${short(below_ms)}`, count }))}
      />
      <p class="facts">
        <span>median {span(p50 ?? 0)}</span>
        <span>95% within {span(p95 ?? 0)}</span>
        <span>slowest {span(max ?? 0)}</span>
      </p>
    </section>
  );
}

/** @example short(4096) // '4.1 s' */
const short = (ms: number) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`);

function WorstDomains({ stats: { domains } }: { stats: Stats }) {
  const { path } = useAddress();
  const worst = domains
    .filter(({ broken }) => broken > 0)
    .toSorted((a, b) => b.broken - a.broken)
    .slice(0, WORST);
  return (
    <section class="card">
      <h2>Domains with the most failures</h2>
      {worst.length === 0 && <p>No domain has unreachable URLs, or answers with 4xx or 5xx.</p>}
      <ol class="rows">
        {worst.map(({ domain, broken, count }) => (
          <li key={domain}>
            <a href={to(path, { url_contains: domain, status_group: 'broken' })}>
              <bdi>{domain}</bdi>
            </a>
            <span class="number">
              <b>{grouped(broken)}</b>{' '}
              <small>
                of {grouped(count)}, {percent(broken, count)}
              </small>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

// How far a job is, and what holds it up.
function Progress({ job, speed: { per_s } }: { job: Job; speed: Speed }) {
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
    { count: job.blocked_urls_skipped, what: 'blocklisted' },
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
