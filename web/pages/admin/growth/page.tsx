// How users, their jobs and what they check grow, day by day, with what administrators noted about the days.
import type { AnswerOf } from '../../../api/ask.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { Failure } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';
import { counted, grouped, money, percent } from '../../../ui/numbers.ts';
import { Areas } from '../areas.tsx';
import { Periods, usePeriod } from '../period.tsx';
import { Notes } from './notes.tsx';

type Growth = AnswerOf<'GET /admin/growth-dashboard'>;

export function Page() {
  const growth = useAnswer('GET /admin/growth-dashboard', { period: usePeriod() });
  return (
    <>
      <h1>Administration</h1>
      <Areas />
      <Periods />
      <Failure of={growth} />
      {growth.value && (
        <>
          <Totals growth={growth.value} />
          <Charts growth={growth.value} />
          <Notes notes={growth.value.notes} today={growth.value.to} onChange={growth.again} />
        </>
      )}
    </>
  );
}

function Totals({ growth: { totals, active, revenue, currency } }: { growth: Growth }) {
  return (
    <section class="card" aria-label="These days in numbers">
      <Figures>
        <Figure label="Users" note={`${grouped(totals.signups)} signed up`}>
          {grouped(totals.users)}
        </Figure>
        <Figure label="Active users" note={`${grouped(active.dau)} of them today`}>
          {grouped(totals.active_users)}
        </Figure>
        <Figure label="Jobs">{grouped(totals.jobs)}</Figure>
        <Figure label="URLs checked" note={`${percent(totals.broken_urls, totals.urls_checked)} broken`}>
          {grouped(totals.urls_checked)}
        </Figure>
        <Figure label="MRR" note={`of ${counted(revenue.customers_end, 'customer')}`}>
          {money(revenue.mrr_end_cents, currency)}
        </Figure>
      </Figures>
    </section>
  );
}

function Charts({ growth: { series, notes, currency } }: { growth: Growth }) {
  const days = series.map(({ day }) => day);
  const values = (name: Exclude<keyof Growth['series'][number], 'day' | 'note_ids'>) =>
    series.map((point) => point[name]);
  const shared = { times: days, marked: notes.map(({ date }) => date) };
  return (
    <div class="charts">
      <LineChart {...shared} title="Users" lines={[{ label: 'Users', color: 'accent', values: values('users') }]} />
      <LineChart
        {...shared}
        title="Active users"
        lines={[
          { label: 'in 30 days', color: 'redirected', values: values('mau') },
          { label: 'in 7 days', color: 'unreachable', values: values('wau') },
          { label: 'on the day', color: 'ok', values: values('dau') },
        ]}
      />
      <LineChart
        {...shared}
        title="New users and jobs"
        lines={[
          { label: 'Jobs', color: 'redirected', values: values('jobs') },
          { label: 'Signups', color: 'ok', values: values('signups') },
        ]}
      />
      <LineChart
        {...shared}
        title="URLs"
        lines={[
          { label: 'Checked', color: 'accent', values: values('urls_checked') },
          { label: 'Broken', color: 'broken', values: values('broken_urls') },
          { label: 'Soft 404', color: 'soft_404', values: values('soft_404_urls') },
        ]}
      />
      <LineChart
        {...shared}
        title="Paying customers"
        lines={[{ label: 'Customers', color: 'ok', values: values('paying_customers') }]}
      />
      <LineChart
        {...shared}
        title="Monthly recurring revenue"
        show={(cents) => money(cents, currency)}
        lines={[{ label: 'MRR', color: 'ok', values: values('mrr_cents') }]}
      />
    </div>
  );
}
