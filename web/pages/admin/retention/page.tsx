// Who comes back: the users of each month as a heat map, the average of the last year, and how far users go.
import { type AnswerOf, useAnswer } from '../../../api/ask.ts';
import { Empty, Failure } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { grouped, shareOf } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';

type Stats = AnswerOf<'GET /admin/retention-stats'>;
type Cohort = AnswerOf<'GET /admin/cohort-table'>['items'][number];

export function Page() {
  const stats = useAnswer('GET /admin/retention-stats', {});
  const cohorts = useAnswer('GET /admin/cohort-table', {});
  return (
    <AdminPage>
      <Failure of={stats} />
      {stats.value && <Active active={stats.value.active} />}
      <Failure of={cohorts} />
      {cohorts.value && <Cohorts cohorts={cohorts.value.items} average={stats.value?.average_retention ?? []} />}
      {stats.value && <Funnel funnel={stats.value.funnel} />}
    </AdminPage>
  );
}

function Active({ active: { dau, wau, mau, stickiness } }: Pick<Stats, 'active'>) {
  return (
    <section class="card" aria-label="Active users">
      <Figures>
        <Figure label="Active today">{grouped(dau)}</Figure>
        <Figure label="Active in 7 days">{grouped(wau)}</Figure>
        <Figure label="Active in 30 days">{grouped(mau)}</Figure>
        <Figure label="Stickiness" note="of a month's users come on a day">
          {shareOf(stickiness)}
        </Figure>
      </Figures>
    </section>
  );
}

function Cohorts({ cohorts, average }: { cohorts: readonly Cohort[]; average: Stats['average_retention'] }) {
  if (cohorts.every(({ users }) => users === 0)) return <Empty title="Nobody has signed up yet" />;
  const months = Math.max(...cohorts.map(({ retention }) => retention.length));
  const columns: Column<Cohort>[] = [
    { label: 'Signed up in', cell: ({ month }) => month },
    { label: 'Users', is_number: true, cell: ({ users }) => grouped(users) },
    ...Array.from({ length: months }, (_, n) => ({
      label: n === 0 ? 'same month' : `+${n}`,
      is_number: true,
      cell: ({ retention }: Cohort) => <Heat of={retention[n]} />,
    })),
  ];
  return (
    <section class="section">
      <h2>Users who created a job, by the months after their signup</h2>
      <Table caption="Cohorts" columns={columns} items={[...cohorts].reverse()} keyOf={({ month }) => month} />
      <Average average={average} />
    </section>
  );
}

/** The deeper the colour, the larger the share. */
function Heat({ of }: { of: Cohort['retention'][number] | undefined }) {
  if (!of || of.share === null) return null;
  return (
    <span
      class="heat"
      style={{ '--share': `${Math.round(of.share * 60)}%` }}
      title={`${grouped(of.active_users)} in ${of.month}`}
    >
      {shareOf(of.share)}
    </span>
  );
}

function Average({ average }: { average: Stats['average_retention'] }) {
  const known = average.filter(({ share }) => share !== null);
  if (known.length === 0) return null;
  return (
    <p class="facts">
      <span>Average of the last year:</span>
      {known.map(({ months_after, share }) => (
        <span key={months_after}>
          {months_after === 0 ? 'same month' : `+${months_after}`} <b>{shareOf(share)}</b>
        </span>
      ))}
    </p>
  );
}

const STEPS: Readonly<Record<Stats['funnel'][number]['step'], string>> = {
  signup: 'Signed up',
  fingerprint: 'Used the console',
  first_job: 'Created a job',
  api_key: 'Made an API key',
  purchase: 'Bought a package',
  subscription: 'Subscribed to a plan',
};

const FUNNEL: readonly Column<Stats['funnel'][number]>[] = [
  { label: 'Step', cell: ({ step }) => STEPS[step] },
  { label: 'Users', is_number: true, cell: ({ users }) => grouped(users) },
  {
    label: 'Share',
    cell: ({ step, share }) => (
      <span class="progress">
        <progress value={share ?? 0} max={1} aria-label={STEPS[step]} />
        {shareOf(share)}
      </span>
    ),
  },
];

function Funnel({ funnel }: Pick<Stats, 'funnel'>) {
  return (
    <section class="section">
      <h2>How far all users went</h2>
      <Table caption="How far all users went" columns={FUNNEL} items={funnel} keyOf={({ step }) => step} />
    </section>
  );
}
