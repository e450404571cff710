// What a person has to decide about money: each with what it is about, and a way to say that it is done.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask } from '../../../api/ask.ts';
import { setQuery, useAddress } from '../../../app/address.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { Empty } from '../../../ui/failure.tsx';
import { Check, TextField } from '../../../ui/form.tsx';
import { type Column, List, useList } from '../../../ui/table.tsx';
import { money, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { UserLink } from '../badges.tsx';
import { words } from '../trail.tsx';

type Issue = AnswerOf<'GET /admin/payment-issues'>['items'][number];

export function Page() {
  const { query } = useAddress();
  const is_all = query.get('status') === 'all';
  const issues = useList('GET /admin/payment-issues', { status: is_all ? undefined : 'open' });
  const [asked, setAsked] = useState<Issue | null>(null);
  const [note, setNote] = useState('');
  const columns: readonly Column<Issue>[] = [
    ...COLUMNS,
    {
      label: 'Decided',
      cell: (issue) =>
        issue.status === 'resolved' ? (
          issue.note
        ) : (
          <button type="button" onClick={() => setAsked(issue)}>
            Resolve
          </button>
        ),
    },
  ];
  return (
    <AdminPage>
      <Check
        label="with those that are decided"
        is_on={is_all}
        set={() => setQuery({ status: is_all ? undefined : 'all', offset: undefined })}
      />
      <List
        of={issues}
        empty={<Empty title="Nothing about money needs a person" />}
        caption="What needs a person"
        columns={columns}
        keyOf={({ issue_id }) => issue_id}
      />
      {asked && (
        <Confirm
          title="Is this decided?"
          action="Resolve"
          onClose={() => {
            setAsked(null);
            setNote('');
          }}
          onConfirm={async () => {
            await ask('POST /admin/payment-issues/{issue_id}/resolve', { issue_id: asked.issue_id, note });
            issues.again();
          }}
        >
          <TextField label="What was done" value={note} maxLength={500} onChange={setNote} />
        </Confirm>
      )}
    </AdminPage>
  );
}

const COLUMNS: readonly Column<Issue>[] = [
  { label: 'When', cell: ({ raised_at }) => <Time at={raised_at} /> },
  { label: 'What', cell: ({ reason }) => words(reason) },
  {
    label: 'User',
    cell: ({ user_id }) => user_id && <UserLink user_id={user_id} />,
  },
  { label: 'At the provider', cell: ({ subject }) => <bdi>{subject}</bdi> },
  {
    label: 'Amount',
    is_number: true,
    cell: ({ amount_cents, currency }) => amount_cents !== null && currency !== null && money(amount_cents, currency),
  },
];
