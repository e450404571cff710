// Grants a user credits in one press. The user's page has the dialog for another amount and a reason of one's own.
import { useMemo, useState } from 'preact/hooks';
import { ask, newKey } from '../../api/ask.ts';
import { say, sayFailure, useAction } from '../../ui/actions.tsx';
import { grouped } from '../../ui/values.tsx';

const AMOUNT = 10_000;
const REASON = 'granted in the console';

export function Grant({ user_id, name, onDone }: { user_id: string; name: string; onDone(): void }) {
  const [granted, setGranted] = useState(0);
  // Pressed again after a lost answer, it grants once.
  const idempotency_key = useMemo(newKey, [granted]);
  const { is_running, run } = useAction(async () => {
    try {
      await ask(
        'POST /admin/users/{user_id}/adjust-credits',
        { user_id, amount: AMOUNT, reason: REASON },
        { in_query: true, idempotency_key },
      );
    } catch (error) {
      return sayFailure(error);
    }
    setGranted(granted + 1);
    say(`${grouped(AMOUNT)} credits granted to ${name}.`);
    onDone();
  });
  return (
    <button
      type="button"
      disabled={is_running}
      onClick={run}
      aria-label={`Grant ${grouped(AMOUNT)} credits to ${name}`}
      title="The credits never expire; the audit trail keeps who granted them"
    >
      Grant {grouped(AMOUNT)}
    </button>
  );
}
