// Who met the paywall, and who paid afterwards.
import type { AnswerOf } from '../../../api/ask.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { to, useAddress } from '../../../app/address.ts';
import { Empty } from '../../../ui/empty.tsx';
import { Failure } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';
import { counted, grouped, shareOf } from '../../../ui/numbers.ts';
import { offsetIn, Pager } from '../../../ui/pager.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { Time } from '../../../ui/time.tsx';
import { Areas } from '../areas.tsx';
import { Periods, usePeriod } from '../period.tsx';
import { userPath } from '../user-badges.tsx';

type Paywall = AnswerOf<'GET /admin/paywall-users'>;

const LIMIT = 25;

export function Page() {
  const { query } = useAddress();
  const offset = offsetIn(query);
  const paywall = useAnswer('GET /admin/paywall-users', { period: usePeriod(), limit: LIMIT, offset });
  return (
    <>
      <h1>Administration</h1>
      <Areas />
      <Periods />
      <Failure of={paywall} />
      {paywall.value && <Shown paywall={paywall.value} />}
    </>
  );
}

function Shown({ paywall }: { paywall: Paywall }) {
  const { views, users, converted_users, conversion_rate, series, items, total } = paywall;
  if (users === 0) {
    return (
      <Empty title="Nobody met the paywall in these days">
        <p>Whoever shows users a paywall tells the service by POST /paywall-events.</p>
      </Empty>
    );
  }
  return (
    <>
      <section class="card" aria-label="These days in numbers">
        <Figures>
          <Figure label="Users who met it" note={`shown ${counted(views, 'time')}`}>
            {grouped(users)}
          </Figure>
          <Figure label="Paid afterwards">{grouped(converted_users)}</Figure>
          <Figure label="Their share">{shareOf(conversion_rate)}</Figure>
        </Figures>
      </section>
      <LineChart
        title="The paywall, day by day"
        times={series.map(({ day }) => day)}
        lines={[
          { label: 'Shown', color: 'soft_404', values: series.map((day) => day.views) },
          { label: 'Payments', color: 'ok', values: series.map((day) => day.payments) },
        ]}
      />
      {total > 0 && <Table caption="Users who met the paywall" columns={USERS} items={items} keyOf={keyOf} />}
      <Pager {...paywall} />
    </>
  );
}

const keyOf = ({ user_id }: Paywall['items'][number]) => user_id;

const USERS: readonly Column<Paywall['items'][number]>[] = [
  {
    label: 'User',
    cell: ({ user_id, email }) => (
      <a href={to(userPath(user_id))}>
        <bdi>{email ?? user_id}</bdi>
      </a>
    ),
  },
  { label: 'Shown', is_number: true, cell: ({ views }) => grouped(views) },
  { label: 'First met', cell: ({ first_seen_at }) => <Time at={first_seen_at} /> },
  { label: 'Last met', cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
  {
    label: 'Paid',
    cell: ({ converted_at, is_converted }) => (
      <>
        <Time at={converted_at} /> {converted_at && !is_converted && <small>before these days</small>}
      </>
    ),
  },
];
