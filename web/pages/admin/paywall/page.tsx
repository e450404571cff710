// Who met the paywall, and who paid afterwards.
import type { AnswerOf } from '../../../api/ask.ts';
import { Empty, Failure } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';
import { type Column, Pager, Table, useList } from '../../../ui/table.tsx';
import { counted, grouped, shareOf, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { UserLink } from '../badges.tsx';
import { Periods, usePeriod } from '../period.tsx';

type Paywall = AnswerOf<'GET /admin/paywall-users'>;

export function Page() {
  const paywall = useList('GET /admin/paywall-users', { period: usePeriod() });
  return (
    <AdminPage>
      <Periods />
      <Failure of={paywall} />
      {paywall.value && <Shown paywall={paywall.value} />}
    </AdminPage>
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
    cell: ({ user_id, email }) => <UserLink user_id={user_id} email={email} />,
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
