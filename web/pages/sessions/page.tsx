// The browsers that are signed in as the user: one is signed out from here, or all of them.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer } from '../../api/ask.ts';
import { to } from '../../app/address.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { say } from '../../ui/actions.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/failure.tsx';
import { SESSION_COLUMNS } from '../../ui/session-columns.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Session = AnswerOf<'GET /users/me/sessions'>['items'][number];

export function Page() {
  const sessions = useAnswer('GET /users/me/sessions', {});
  const [ended, setEnded] = useState<Session | 'all' | null>(null);
  return (
    <>
      <header class="title">
        <h1>Signed-in browsers</h1>
      </header>
      <AccountTabs />
      <Failure of={sessions} />
      {sessions.value && (
        <Table
          caption="Browsers that are signed in as you"
          columns={columns(setEnded)}
          items={sessions.value.items}
          keyOf={({ id }) => id}
        />
      )}
      {sessions.value && (
        <p>
          <button type="button" onClick={() => setEnded('all')}>
            Sign all out
          </button>
        </p>
      )}
      {ended === 'all' && (
        <Confirm
          title="Sign all your browsers out?"
          action="Sign all out"
          is_dangerous
          onClose={() => setEnded(null)}
          onConfirm={async () => {
            await ask('DELETE /users/me/sessions', {});
            location.assign(to('/sign-in'));
          }}
        >
          <p>You have to sign in again in each of them, also in this one. API keys continue to work.</p>
        </Confirm>
      )}
      {ended && ended !== 'all' && (
        <Confirm
          title="Sign this browser out?"
          action="Sign it out"
          is_dangerous
          onClose={() => setEnded(null)}
          onConfirm={async () => {
            await ask('DELETE /users/me/sessions/{id}', { id: ended.id });
            say('The browser is signed out.');
            sessions.again();
          }}
        >
          <p>Whoever uses it has to sign in again. API keys continue to work.</p>
        </Confirm>
      )}
    </>
  );
}

const columns = (onEnd: (session: Session) => void): readonly Column<Session>[] => [
  ...SESSION_COLUMNS,
  {
    label: 'Actions',
    is_number: true,
    cell: (session) =>
      session.is_current ? (
        'this browser'
      ) : (
        <button type="button" onClick={() => onEnd(session)}>
          Sign out
        </button>
      ),
  },
];
