// The API keys: make one, which is shown once, and revoke those that are no longer needed.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask } from '../../api/ask.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { grouped } from '../../ui/numbers.ts';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { say } from '../../ui/toasts.tsx';
import { NewKey } from './new-key.tsx';

type Key = AnswerOf<'GET /users/me/api-keys'>['items'][number];

export function Page() {
  const keys = useAnswer('GET /users/me/api-keys', {});
  const [is_making, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<Key | null>(null);
  const make = (
    <button type="button" class="primary" onClick={() => setMaking(true)}>
      New API key
    </button>
  );
  return (
    <>
      <header class="title">
        <h1>API keys</h1>
        {keys.value && keys.value.total > 0 && make}
      </header>
      <AccountTabs />
      <Failure of={keys} />
      {keys.value?.total === 0 && (
        <Empty title="You have no API keys yet">
          <p>A key lets your programs check lists with your credits.</p>
          {make}
        </Empty>
      )}
      {keys.value && keys.value.total > 0 && (
        <Table caption="Your API keys" columns={columns(setRevoked)} items={keys.value.items} keyOf={(key) => key.id} />
      )}
      {is_making && <NewKey onMade={keys.again} onClose={() => setMaking(false)} />}
      {revoked && (
        <Confirm
          title="Revoke this key?"
          action="Revoke the key"
          is_dangerous
          onClose={() => setRevoked(null)}
          onConfirm={async () => {
            await ask('DELETE /users/me/api-keys/{id}', { id: revoked.id });
            say('The key is revoked.');
            keys.again();
          }}
        >
          <p>
            Programs that use <bdi>{revoked.name}</bdi> ({revoked.prefix}…) are refused from now on. A revoked key
            cannot be brought back.
          </p>
        </Confirm>
      )}
    </>
  );
}

const columns = (onRevoke: (key: Key) => void): readonly Column<Key>[] => [
  { label: 'Name', cell: (key) => <bdi>{key.name}</bdi> },
  { label: 'Key', cell: (key) => <code>{key.prefix}…</code> },
  {
    label: 'Credits used',
    cell: ({ test, credit_limit, credits_used }) =>
      test
        ? 'none: a test key'
        : credit_limit === null
          ? 'no limit'
          : `${grouped(credits_used ?? 0)} of ${grouped(credit_limit)}`,
  },
  { label: 'Made', cell: (key) => <Time at={key.created_at} /> },
  { label: 'Last used', cell: (key) => (key.last_used_at === null ? 'never' : <Time at={key.last_used_at} />) },
  {
    label: 'Actions',
    is_number: true,
    cell: (key) => (
      <button type="button" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
        Revoke
      </button>
    ),
  },
];
