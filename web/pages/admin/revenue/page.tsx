// The money of some days: recurring revenue and what moved it, payments and refunds. Other currencies stand beside; nothing is converted.
import { type AnswerOf, useAnswer } from '../../../api/ask.ts';
import { Failure } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { counted, grouped, money, shareOf } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { Periods, usePeriod } from '../period.tsx';

type Review = AnswerOf<'GET /admin/revenue-review'>;
type Revenue = Review['other_currencies'][number];

export function Page() {
  const review = useAnswer('GET /admin/revenue-review', { period: usePeriod() });
  return (
    <AdminPage>
      <Periods />
      <Failure of={review} />
      {review.value && <Shown review={review.value} />}
    </AdminPage>
  );
}

function Shown({ review }: { review: Review }) {
  const { series, currency, other_currencies } = review;
  const values = (name: Exclude<keyof Review['series'][number], 'day'>) => series.map((point) => point[name]);
  const lost = series.map(({ contraction_cents, churn_cents }) => contraction_cents + churn_cents);
  const won = series.map((day) => day.new_cents + day.expansion_cents + day.reactivation_cents);
  const shared = { times: series.map(({ day }) => day), show: (cents: number) => money(cents, currency) };
  return (
    <>
      <Money revenue={review} />
      <div class="charts">
        <LineChart
          {...shared}
          title="Monthly recurring revenue"
          lines={[{ label: 'MRR', color: 'ok', values: values('mrr_cents') }]}
        />
        <LineChart
          {...shared}
          title="What moved it"
          lines={[
            { label: 'Won', color: 'ok', values: won },
            { label: 'Lost', color: 'broken', values: lost },
          ]}
        />
        <LineChart
          {...shared}
          title="Payments"
          lines={[
            { label: 'Paid', color: 'redirected', values: values('gross_cents') },
            { label: 'Refunded', color: 'soft_404', values: values('refunds_cents') },
            { label: 'Disputed', color: 'broken', values: values('disputes_cents') },
            { label: 'Net', color: 'ok', values: values('net_cents') },
          ]}
        />
        <LineChart
          {...shared}
          title="MRR of a customer"
          lines={[{ label: 'MRR of a customer', color: 'accent', values: values('arpu_cents') }]}
        />
      </div>
      <Movements all={[review, ...other_currencies]} />
    </>
  );
}

function Money({ revenue }: { revenue: Revenue }) {
  const { currency, customers_end, payments } = revenue;
  const cents = (amount: number) => money(amount, currency);
  return (
    <section class="card" aria-label="These days in numbers">
      <Figures>
        <Figure label="MRR" note={`${cents(revenue.mrr_start_cents)} before`}>
          {cents(revenue.mrr_end_cents)}
        </Figure>
        <Figure label="Customers" note={`${grouped(revenue.customers_start)} before`}>
          {grouped(customers_end)}
        </Figure>
        <Figure label="Net revenue" note={counted(payments, 'payment')}>
          {cents(revenue.net_cents)}
        </Figure>
        <Figure label="Customers lost" note={counted(revenue.churned_customers, 'customer')}>
          {shareOf(revenue.customer_churn_rate)}
        </Figure>
        <Figure label="MRR lost" note={`${shareOf(revenue.net_mrr_churn_rate)} with what grew`}>
          {shareOf(revenue.gross_mrr_churn_rate)}
        </Figure>
      </Figures>
    </section>
  );
}

type Amount = Extract<keyof Revenue, `${string}_cents`>;

/** The signs say what an amount does to the sum below it. */
const ROWS: readonly { label: string; name: Amount; sign?: '+' | '−' }[] = [
  { label: 'MRR before', name: 'mrr_start_cents' },
  { label: 'New customers', name: 'new_cents', sign: '+' },
  { label: 'Larger plans', name: 'expansion_cents', sign: '+' },
  { label: 'Customers who came back', name: 'reactivation_cents', sign: '+' },
  { label: 'Smaller plans', name: 'contraction_cents', sign: '−' },
  { label: 'Customers who left', name: 'churn_cents', sign: '−' },
  { label: 'MRR now', name: 'mrr_end_cents' },
  { label: 'Paid for packages', name: 'packages_cents', sign: '+' },
  { label: 'Paid for plans', name: 'subscriptions_cents', sign: '+' },
  { label: 'Refunded', name: 'refunds_cents', sign: '−' },
  { label: 'Disputed', name: 'disputes_cents', sign: '−' },
  { label: 'Net revenue', name: 'net_cents' },
  { label: 'Paid by balances', name: 'credited_cents' },
  { label: 'Still owed', name: 'outstanding_cents' },
];

function Movements({ all }: { all: readonly Revenue[] }) {
  const columns: Column<(typeof ROWS)[number]>[] = [
    { label: 'What', cell: ({ label, sign }) => (sign ? label : <b>{label}</b>) },
    ...all.map((revenue) => ({
      label: revenue.currency.toUpperCase(),
      is_number: true,
      cell: ({ name, sign }: (typeof ROWS)[number]) =>
        `${revenue[name] && sign ? sign : ''}${money(revenue[name] ?? 0, revenue.currency)}`,
    })),
  ];
  return (
    <section class="section">
      <h2>From the first day to the last</h2>
      <Table caption="Movements of money" columns={columns} items={ROWS} keyOf={({ name }) => name} />
    </section>
  );
}
