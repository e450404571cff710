// Gives an endpoint a new signing secret and shows it, once.
import { useState } from 'preact/hooks';
import { ask } from '../../api/ask.ts';
import { useAction } from '../../ui/action.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Refusal } from '../../ui/failure.tsx';
import { SelectField } from '../../ui/field.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';

const HOUR_S = 3600;
const OVERLAPS = [
  { value: HOUR_S, label: 'for an hour' },
  { value: 24 * HOUR_S, label: 'for a day' },
  { value: 7 * 24 * HOUR_S, label: 'for a week' },
  { value: 0, label: 'not at all: others have seen it' },
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
      <SelectField
        label="The old secret signs as well"
        hint="Put the new secret into your receiver in that time."
        value={overlap_seconds}
        options={OVERLAPS}
        onChange={(chosen) => setOverlap(Number(chosen))}
      />
      <Refusal error={make.error} />
      <DialogFooter onClose={onClose}>
        <button type="button" class="primary" disabled={make.is_running} onClick={make.run}>
          Make a new secret
        </button>
      </DialogFooter>
    </Dialog>
  );
}
