// The user's own limit on the credits of a period.
import { useState } from 'preact/hooks';
import { ask } from '../../api/ask.ts';
import { useAction } from '../../ui/action.ts';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { grouped } from '../../ui/numbers.ts';
import { say, sayFailure } from '../../ui/toasts.tsx';

export function SpendingLimit({ limit, onDone }: { limit: number | null; onDone(): void }) {
  const [text, setText] = useState(limit === null ? '' : String(limit));
  const save = useAction(async () => {
    try {
      const set = await ask('PUT /users/me/spending-limit', { limit: text === '' ? null : Number(text) });
      say(set.limit === null ? 'Your limit is removed.' : `Your limit is ${grouped(set.limit)} credits a period.`);
      onDone();
    } catch (error) {
      sayFailure(error);
    }
  });
  return (
    <Form class="filters" onSubmit={() => void save.run()}>
      <TextField
        label="Your limit of credits a period"
        hint="Jobs wait when it is reached. Leave it empty for no limit."
        type="number"
        min={0}
        value={text}
        onInput={setText}
      />
      <button type="submit" disabled={save.is_running}>
        Save
      </button>
    </Form>
  );
}
