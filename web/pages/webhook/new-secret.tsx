// Gives an endpoint a new signing secret and shows it, once.
import { useState } from 'preact/hooks';
import { ask } from '../../api/ask.ts';
import { useAction } from '../../ui/action.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Refusal } from '../../ui/failure.tsx';
import { Field } from '../../ui/field.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';

const HOUR_S = 3600;
const OVERLAPS = [
  { seconds: HOUR_S, label: 'for an hour' },
  { seconds: 24 * HOUR_S, label: 'for a day' },
  { seconds: 7 * 24 * HOUR_S, label: 'for a week' },
  { seconds: 0, label: 'not at all: others have seen it' },
];

interface NewSecretProps {
  endpoint_id: string;
  onMade(): void;
  onClose(): void;
}

export function NewSecret({ endpoint_id, onMade, onClose }: NewSecretProps) {
  const [overlap_seconds, setOverlap] = useState(24 * HOUR_S);
  const [secret, setSecret] = useState<string | null>(null);
  const make = useAction(async () => {
    const { signing_secret } = await ask('POST /webhooks/endpoints/{id}/secret', { id: endpoint_id, overlap_seconds });
    setSecret(signing_secret);
    onMade();
  });
  if (secret !== null) {
    return (
      <Dialog title="Copy the new secret" onClose={onClose}>
        <ShownOnce label="The secret" hint="It is shown this once." value={secret} />
        <DialogFooter onClose={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog title="New signing secret" onClose={onClose}>
      <Field label="The old secret signs as well" hint="Put the new secret into your receiver in that time.">
        {(control) => (
          <select
            {...control}
            value={overlap_seconds}
            onChange={(event) => setOverlap(Number(event.currentTarget.value))}
          >
            {OVERLAPS.map(({ seconds, label }) => (
              <option key={seconds} value={seconds}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Refusal error={make.error} />
      <DialogFooter onClose={onClose}>
        <button type="button" class="primary" disabled={make.is_running} onClick={make.run}>
          Make a new secret
        </button>
      </DialogFooter>
    </Dialog>
  );
}
