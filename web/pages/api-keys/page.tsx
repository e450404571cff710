// The API keys: make one, which is shown once, and revoke those that are no longer needed.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer } from '../../api/ask.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { say, useAction } from '../../ui/actions.tsx';
import { Confirm, Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Empty, Failure, Refusal } from '../../ui/failure.tsx';
import { Check, Form, TextField } from '../../ui/form.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { grouped, Time } from '../../ui/values.tsx';

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

// Makes an API key and shows it, once.
function NewKey({ onMade, onClose }: { onMade(): void; onClose(): void }) {
  const [name, setName] = useState('');
  const [limit, setLimit] = useState('');
  const [is_test, setTest] = useState(false);
  const [key, setKey] = useState<string | null>(null);
  const make = useAction(async () => {
    const limits = limit === '' || is_test ? {} : { credit_limit: Number(limit) };
    setKey((await ask('POST /users/me/api-keys', { name, test: is_test, ...limits })).key);
    onMade();
  });
  if (key !== null) {
    return (
      <Dialog title="Copy your API key" onClose={onClose}>
        <ShownOnce label="The key" hint="It is shown this once: the service keeps only its hash." value={key} />
        <DialogFooter onClose={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog title="New API key" onClose={onClose}>
      <Form class="section" onSubmit={make.run}>
        <TextField
          label="Name"
          hint="Says where the key is used, such as “nightly check”."
          required
          maxLength={100}
          value={name}
          onInput={setName}
        />
        <TextField
          label="Limit of credits"
          hint="The most that all its jobs together may use. Leave it empty for no limit."
          type="number"
          min={1}
          disabled={is_test}
          value={limit}
          onInput={setLimit}
        />
        <Check label="Test key: checks http://sandbox.test alone, at no cost" is_on={is_test} set={setTest} />
        <Refusal error={make.error} />
        <DialogFooter onClose={onClose}>
          <button type="submit" class="primary" disabled={make.is_running}>
            Make the key
          </button>
        </DialogFooter>
      </Form>
    </Dialog>
  );
}
