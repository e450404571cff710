// A domain: what the checks of its URLs found, over all jobs, and whether the blocklist has it.
import { useState } from 'preact/hooks';
import { type AnswerOf, useAnswer } from '../../../api/ask.ts';
import { type PageProps, to } from '../../../app/address.ts';
import { Failure } from '../../../ui/failure.tsx';
import { Figure, Figures, ShareBar } from '../../../ui/figures.tsx';
import { type Column, TableSection } from '../../../ui/table.tsx';
import { grouped, percent, shareOf, span, Time } from '../../../ui/values.tsx';
import { VERDICTS } from '../../../ui/verdicts.ts';
import { Areas } from '../areas.tsx';
import { DomainBadges } from '../badges.tsx';
import { BlockDialog } from '../block-dialog.tsx';

type Breakdown = AnswerOf<'GET /domains/breakdown'>;
type Status = Breakdown['status_codes'][number];
type ErrorCode = Breakdown['error_codes'][number];

export function Page({ params }: PageProps) {
  const breakdown = useAnswer('GET /domains/breakdown', { domain: params.domain! });
  return (
    <>
      <Areas />
      <a href={to('/admin/domains')}>All domains</a>
      <Failure of={breakdown} title="Domain" />
      {breakdown.value && <Shown breakdown={breakdown.value} onChange={breakdown.again} />}
    </>
  );
}

function Shown({ breakdown, onChange }: { breakdown: Breakdown; onChange(): void }) {
  const { domain, is_blocked, checks, failures, failure_rate, status_codes, error_codes } = breakdown;
  const [is_blocking, setBlocking] = useState(false);
  const counts = new Map(breakdown.verdicts.map(({ verdict, count }) => [verdict, count]));
  return (
    <>
      <header class="title">
        <h1>
          <bdi>{domain}</bdi>
        </h1>
        <DomainBadges domain={breakdown} />
        {is_blocked ? (
          <a class="button" href={to('/admin/blocklist', { search: domain })}>
            To the blocklist
          </a>
        ) : (
          <button type="button" onClick={() => setBlocking(true)}>
            Block this domain
          </button>
        )}
      </header>
      <section class="card" aria-label="All checks">
        <Figures>
          <Figure label="Checks">{grouped(checks)}</Figure>
          <Figure label="Broken" note={shareOf(failure_rate)}>
            {grouped(failures)}
          </Figure>
          <Figure label="Answers after">{span(breakdown.avg_response_time_ms)}</Figure>
          <Figure label="Last check">
            <Time at={breakdown.last_checked_at} />
          </Figure>
        </Figures>
        <ShareBar shares={VERDICTS.map(({ name, label }) => ({ name, label, count: counts.get(name) ?? 0 }))} />
        <a href={to('/admin/logs', { domain })}>Attempts in the worker log</a>
      </section>
      <TableSection
        title="Status codes"
        none="There is no check."
        columns={countsOf('Status code', checks, ({ status_code }: Status) => status_code ?? 'no answer')}
        items={status_codes}
        keyOf={({ status_code }) => String(status_code)}
      />
      <TableSection
        title="Errors"
        none="No check ended with an error."
        columns={countsOf('Error', checks, ({ error_code }: ErrorCode) => error_code.replaceAll('_', ' '))}
        items={error_codes}
        keyOf={({ error_code }) => error_code}
      />
      {is_blocking && <BlockDialog domain={domain} onClose={() => setBlocking(false)} onDone={onChange} />}
    </>
  );
}

const countsOf = <Item extends { count: number }>(
  label: string,
  checks: number,
  cell: Column<Item>['cell'],
): readonly Column<Item>[] => [
  { label, cell },
  { label: 'Checks', is_number: true, cell: ({ count }) => grouped(count) },
  { label: 'Share', is_number: true, cell: ({ count }) => percent(count, checks) },
];
