// Every change of the balance, the newest first, with the balance after it.
import type { AnswerOf } from '../../api/ask.ts';
import { setQuery, to, useAddress } from '../../app/address.ts';
import { Empty } from '../../ui/failure.tsx';
import { type Column, List, useList } from '../../ui/table.tsx';
import { grouped, Time } from '../../ui/values.tsx';
import { TRANSACTION_LABELS } from './transaction-types.ts';

type Entry = AnswerOf<'GET /users/me/credit-transactions'>['items'][number];

const TYPES = Object.keys(TRANSACTION_LABELS) as (keyof typeof TRANSACTION_LABELS)[];

const COLUMNS: readonly Column<Entry>[] = [
  { label: 'When', cell: (entry) => <Time at={entry.created_at} /> },
  { label: 'What', cell: what },
  { label: 'Credits', is_number: true, cell: ({ amount }) => <Amount of={amount} /> },
  { label: 'Balance', is_number: true, cell: (entry) => grouped(entry.balance_after) },
];

function what({ transaction_type, reference_id }: Entry) {
  const label = TRANSACTION_LABELS[transaction_type];
  const is_of_job = transaction_type === 'reservation' || transaction_type === 'refund';
  return is_of_job ? <a href={to(`/jobs/${encodeURIComponent(reference_id)}`)}>{label}</a> : label;
}

function Amount({ of }: { of: number }) {
  return of > 0 ? <span class="gain">+{grouped(of)}</span> : <>−{grouped(-of)}</>;
}

export function Ledger({ version }: { version: string }) {
  const { query } = useAddress();
  const transaction_type = TYPES.find((name) => name === query.get('type'));
  const entries = useList('GET /users/me/credit-transactions', { transaction_type }, { version });
  return (
    <>
      <header class="title">
        <h2>Ledger</h2>
        <label class="check">
          Show
          <select
            value={transaction_type ?? ''}
            onChange={(event) => setQuery({ type: event.currentTarget.value, offset: undefined }, { replace: true })}
          >
            <option value="">everything</option>
            {TYPES.map((name) => (
              <option key={name} value={name}>
                {TRANSACTION_LABELS[name]}
              </option>
            ))}
          </select>
        </label>
      </header>
      <List
        of={entries}
        empty={<NoEntries is_filtered={transaction_type !== undefined} />}
        caption="Ledger"
        columns={COLUMNS}
        keyOf={(entry) => entry.transaction_id}
      />
    </>
  );
}

function NoEntries({ is_filtered }: { is_filtered: boolean }) {
  if (!is_filtered) return <Empty title="Your balance has not changed yet" />;
  return (
    <Empty title="The ledger has no such entry">
      <button type="button" onClick={() => setQuery({ type: undefined, offset: undefined })}>
        Show everything
      </button>
    </Empty>
  );
}
