// What was found, at a glance: the verdicts, the response times, and the domains with the most broken URLs.
import type { AnswerOf } from '../../api/ask.ts';
import { to, useAddress } from '../../app/address.ts';
import { Histogram, ShareBar } from '../../ui/bars.tsx';
import { grouped, percent, span } from '../../ui/numbers.ts';
import { VERDICTS } from '../../ui/verdicts.ts';

type Stats = AnswerOf<'GET /jobs/{job_id}/stats'>;

const WORST = 6;

export function Figures({ stats }: { stats: Stats }) {
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
        <span>95 % within {span(p95 ?? 0)}</span>
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
      <h2>Domains with the most broken URLs</h2>
      {worst.length === 0 && <p>No domain has broken URLs.</p>}
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
