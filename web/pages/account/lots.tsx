// The grants that the balance consists of, in the order in which jobs spend them.
import type { AnswerOf } from '../../api/ask.ts';
import { grouped } from '../../ui/numbers.ts';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { TRANSACTION_LABELS } from './transaction-types.ts';

type Lot = AnswerOf<'GET /users/me/credits'>['lots'][number];

const COLUMNS: readonly Column<Lot>[] = [
  { label: 'From', cell: (lot) => TRANSACTION_LABELS[lot.transaction_type] },
  { label: 'Received', cell: (lot) => <Time at={lot.created_at} /> },
  { label: 'Expires', cell: (lot) => (lot.expires_at === null ? 'never' : <Time at={lot.expires_at} />) },
  { label: 'At first', is_number: true, cell: (lot) => grouped(lot.credits) },
  { label: 'Left', is_number: true, cell: (lot) => <b>{grouped(lot.remaining)}</b> },
];

export function Lots({ lots }: { lots: readonly Lot[] }) {
  if (lots.length === 0) return null;
  return (
    <>
      <header class="title">
        <h2>Your credits</h2>
        <small>Jobs spend them from the top.</small>
      </header>
      <Table
        caption="Your credits by where they came from"
        columns={COLUMNS}
        items={lots}
        keyOf={(lot) => lot.lot_id}
      />
    </>
  );
}
