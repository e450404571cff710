// The mails that the service owes its users, and what became of the others.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask } from '../../../api/ask.ts';
import { setQuery, to, useAddress } from '../../../app/address.ts';
import { useAction } from '../../../ui/actions.tsx';
import { Empty, Refusal } from '../../../ui/failure.tsx';
import { Form, TextField } from '../../../ui/form.tsx';
import { type Column, List, useList } from '../../../ui/table.tsx';
import { Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { UserLink } from '../badges.tsx';
import { words } from '../trail.tsx';

type Mail = AnswerOf<'GET /admin/mails'>['items'][number];
const STATUSES = ['due', 'sent', 'dropped'] as const;

export function Page() {
  const { query } = useAddress();
  const status = STATUSES.find((one) => one === query.get('status')) ?? 'due';
  const mails = useList('GET /admin/mails', { status });
  return (
    <AdminPage>
      <TestMail />
      <nav class="tabs" aria-label="Mails">
        {STATUSES.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={status === one}
            onClick={() => setQuery({ status: one === 'due' ? undefined : one, offset: undefined })}
          >
            {one}
          </button>
        ))}
      </nav>
      <List
        of={mails}
        empty={<Empty title={status === 'due' ? 'No mail is owed' : `No mail was ${status}`} />}
        caption={`Mails: ${status}`}
        columns={COLUMNS}
        keyOf={({ mail_id }) => mail_id}
      />
    </AdminPage>
  );
}

/** Sends a test mail by the settings of the processes, and shows what to correct. */
function TestMail() {
  const [address, setAddress] = useState('');
  const [outcome, setOutcome] = useState<AnswerOf<'POST /admin/mails/test'> | null>(null);
  const send = useAction(async () => {
    setOutcome(null);
    setOutcome(await ask('POST /admin/mails/test', { to: address.trim() }));
  });
  return (
    <section class="card" aria-label="Test mail">
      <Form class="fields" onSubmit={send.run}>
        <TextField label="Send a test mail to" required maxLength={320} value={address} onInput={setAddress} />
        <button type="submit" disabled={send.is_running}>
          {send.is_running ? 'Sending' : 'Send a test mail'}
        </button>
      </Form>
      <Refusal error={send.error} />
      <p role="status">
        {outcome && (
          <>
            <span class={`badge is-${outcome.sent ? 'completed' : 'failed'}`}>
              {outcome.sent ? 'sent' : 'not sent'}
            </span>{' '}
            <bdi>{outcome.says}</bdi>
          </>
        )}
      </p>
      <p>
        What the mail server said last is under <a href={to('/admin/services')}>Services</a>.
      </p>
    </section>
  );
}

const COLUMNS: readonly Column<Mail>[] = [
  { label: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
  { label: 'About', cell: ({ kind }) => words(kind) },
  { label: 'User', cell: ({ user_id }) => <UserLink user_id={user_id} /> },
];
