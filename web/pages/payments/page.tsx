// What the user paid, with the invoice or the receipt of each payment.
import { type AnswerOf, ask } from '../../api/ask.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { useAction } from '../../ui/actions.tsx';
import { Empty, FailureText } from '../../ui/failure.tsx';
import { type Column, List, useList } from '../../ui/table.tsx';
import { grouped, money, Time } from '../../ui/values.tsx';

type Payment = AnswerOf<'GET /users/me/payments'>['items'][number];

const COLUMNS: readonly Column<Payment>[] = [
  { label: 'Paid', cell: ({ paid_at }) => <Time at={paid_at} /> },
  { label: 'For', cell: ({ plan, interval }) => (plan === null ? 'credits' : `plan ${plan}, by the ${interval}`) },
  { label: 'Credits', is_number: true, cell: ({ credits }) => grouped(credits) },
  { label: 'Amount', is_number: true, cell: ({ amount_cents, currency }) => money(amount_cents, currency) },
  {
    label: 'Paid back',
    is_number: true,
    cell: ({ returned_cents, currency }) => (returned_cents === 0 ? '' : money(returned_cents, currency)),
  },
  {
    label: 'Document',
    cell: ({ payment_id, has_document }) => has_document && <Document payment_id={payment_id} />,
  },
];

function Document({ payment_id }: { payment_id: string }) {
  const show = useAction(async () =>
    location.assign((await ask('GET /users/me/payments/{payment_id}/document', { payment_id })).url),
  );
  return (
    <>
      <button type="button" disabled={show.is_running} onClick={show.run}>
        Show
      </button>
      {show.error && (
        <span class="is-error" role="alert">
          <FailureText error={show.error} />
        </span>
      )}
    </>
  );
}

export function Page() {
  const payments = useList('GET /users/me/payments', {});
  return (
    <>
      <header class="title">
        <h1>Payments</h1>
      </header>
      <AccountTabs />
      <List
        of={payments}
        empty={<Empty title="You have no payments yet" />}
        caption="Payments"
        columns={COLUMNS}
        keyOf={({ payment_id }) => payment_id}
      />
    </>
  );
}
