// The browsers that are signed in as a user, and the end of all of them.
import { useState } from 'preact/hooks';
import { ask } from '../../../api/ask.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { Failure } from '../../../ui/failure.tsx';
import { SESSION_COLUMNS } from '../../../ui/session-columns.tsx';
import { TableSection } from '../../../ui/table-section.tsx';
import { say } from '../../../ui/toasts.tsx';

export function Sessions({ user_id }: { user_id: string }) {
  const sessions = useAnswer('GET /admin/users/{user_id}/sessions', { user_id });
  const [is_asked, setAsked] = useState(false);
  const items = sessions.value?.items ?? [];
  return (
    <>
      <Failure of={sessions} title="Signed-in browsers" />
      <TableSection
        title="Signed-in browsers"
        none="No browser is signed in."
        columns={SESSION_COLUMNS}
        items={items}
        keyOf={({ id }) => id}
      />
      {items.length > 0 && (
        <p>
          <button type="button" onClick={() => setAsked(true)}>
            Sign all out
          </button>
        </p>
      )}
      {is_asked && (
        <Confirm
          title="Sign all browsers of this user out?"
          action="Sign all out"
          is_dangerous
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await ask('DELETE /admin/users/{user_id}/sessions', { user_id });
            say('All browsers are signed out.');
            sessions.again();
          }}
        >
          <p>The user has to sign in again. API keys continue to work.</p>
        </Confirm>
      )}
    </>
  );
}
