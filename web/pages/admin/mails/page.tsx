// The mails that the service owes its users, and what became of the others.
import type { AnswerOf } from '../../../api/ask.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { setQuery, to, useAddress } from '../../../app/address.ts';
import { Empty } from '../../../ui/empty.tsx';
import { List } from '../../../ui/list.tsx';
import { offsetIn } from '../../../ui/pager.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Time } from '../../../ui/time.tsx';
import { Areas } from '../areas.tsx';
import { words } from '../trail.tsx';
import { userPath } from '../user-badges.tsx';

type Mail = AnswerOf<'GET /admin/mails'>['items'][number];
const LIMIT = 25;
const STATUSES = ['due', 'sent', 'dropped'] as const;

export function Page() {
  const { query } = useAddress();
  const status = STATUSES.find((one) => one === query.get('status')) ?? 'due';
  const mails = useAnswer('GET /admin/mails', { limit: LIMIT, offset: offsetIn(query), status });
  return (
    <>
      <h1>Administration</h1>
      <Areas />
      <p>
        What the mail server said last is under <a href={to('/admin/services')}>Services</a>; on the server,{' '}
        <code>npm run -s ops -- mails send ADDRESS</code> sends a test mail and says what to correct.
      </p>
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
    </>
  );
}

const COLUMNS: readonly Column<Mail>[] = [
  { label: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
  { label: 'About', cell: ({ kind }) => words(kind) },
  { label: 'User', cell: ({ user_id }) => <a href={to(userPath(user_id))}>{user_id}</a> },
];
