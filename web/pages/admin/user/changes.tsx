// What an administrator changes of a user's credits and limits. Each change has a reason, which the audit trail keeps.
import { useMemo, useState } from 'preact/hooks';
import { ask, newKey } from '../../../api/ask.ts';
import { say } from '../../../ui/actions.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { TextField } from '../../../ui/form.tsx';
import { Grant } from '../grant.tsx';
import type { User } from './user.ts';

interface Change {
  button: string;
  title: string;
  label: string;
  hint: string;
  min: number;
  /** Empty where the number may be left out. */
  initial(user: User): string;
  is_optional?: boolean;
  done: string;
  make(user_id: string, number: number | null, reason: string, key: string): Promise<unknown>;
}

const MOST = 1_000_000_000;

const CHANGES: readonly Change[] = [
  {
    button: 'Adjust credits',
    title: 'Add or remove credits',
    label: 'Credits',
    hint: 'A negative number removes credits. Added credits never expire.',
    min: -MOST,
    initial: () => '',
    done: 'The credits are adjusted.',
    make: (user_id, amount, reason, idempotency_key) =>
      ask(
        'POST /admin/users/{user_id}/adjust-credits',
        { user_id, amount: amount!, reason },
        { in_query: true, idempotency_key },
      ),
  },
  {
    button: 'Set the limit',
    title: 'Limit the usage of a period',
    label: 'Credits in a period',
    hint: "The user's jobs use at most this many, whatever the balance is. Empty: no limit.",
    min: 0,
    initial: ({ custom_limit }) => String(custom_limit ?? ''),
    is_optional: true,
    done: 'The limit is set.',
    make: (user_id, custom_limit, reason) => ask('PATCH /admin/users/{user_id}', { user_id, custom_limit, reason }),
  },
  {
    button: 'Set the usage',
    title: 'Set the usage of this period',
    label: 'Credits used',
    hint: 'It counts against the limit. The ledger and the balance stay as they are.',
    min: 0,
    initial: ({ usage }) => String(usage.credits_used),
    done: 'The usage is set.',
    make: (user_id, new_usage, reason) =>
      ask('POST /admin/users/{user_id}/set-usage', { user_id, new_usage: new_usage!, reason }, { in_query: true }),
  },
];

export function Changes({ user, onChange }: { user: User; onChange(): void }) {
  const [open, setOpen] = useState<Change | null>(null);
  return (
    <div class="fields">
      <Grant user_id={user.user_id} name={user.email ?? user.user_id} onDone={onChange} />
      {CHANGES.map((change) => (
        <button key={change.button} type="button" onClick={() => setOpen(change)}>
          {change.button}
        </button>
      ))}
      {open && <ChangeDialog change={open} user={user} onClose={() => setOpen(null)} onDone={onChange} />}
    </div>
  );
}

interface ChangeProps {
  change: Change;
  user: User;
  onClose(): void;
  onDone(): void;
}

function ChangeDialog({ change, user, onClose, onDone }: ChangeProps) {
  const [number, setNumber] = useState(() => change.initial(user));
  const [reason, setReason] = useState('');
  // The same change sent again after a lost answer is made once; another one has a key of its own.
  const key = useMemo(newKey, [number, reason]);
  async function save(): Promise<void> {
    await change.make(user.user_id, number === '' ? null : Number(number), reason, key);
    say(change.done);
    onDone();
  }
  return (
    <Confirm title={change.title} action={change.button} onClose={onClose} onConfirm={save}>
      <TextField
        label={change.label}
        hint={change.hint}
        type="number"
        min={change.min}
        max={MOST}
        step={1}
        required={!change.is_optional}
        value={number}
        onInput={setNumber}
      />
      <TextField
        label="Reason"
        hint="For the audit trail. Write nothing personal."
        maxLength={500}
        required
        value={reason}
        onInput={setReason}
      />
    </Confirm>
  );
}
