// Makes an API key and shows it, once.
import { useState } from 'preact/hooks';
import { ask } from '../../api/ask.ts';
import { useAction } from '../../ui/action.ts';
import { Check } from '../../ui/check.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Refusal } from '../../ui/failure.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';

export function NewKey({ onMade, onClose }: { onMade(): void; onClose(): void }) {
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
