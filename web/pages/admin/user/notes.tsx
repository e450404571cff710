// What administrators wrote of a user.
import { useState } from 'preact/hooks';
import { ask } from '../../../api/ask.ts';
import { useAction } from '../../../ui/action.ts';
import { Refusal } from '../../../ui/failure.tsx';
import { Field } from '../../../ui/field.tsx';
import { Form } from '../../../ui/form.tsx';
import { say } from '../../../ui/toasts.tsx';
import type { User } from './user.ts';

const MAX_CHARS = 10_000;

export function Notes({ user: { user_id, notes }, onSaved }: { user: User; onSaved(): void }) {
  const [text, setText] = useState(notes ?? '');
  const save = useAction(async () => {
    const [before, after] = [notes, text || null];
    const replace = async (replaces: string | null, kept: string | null) => {
      await ask('PATCH /admin/users/{user_id}/notes', { user_id, notes: kept, replaces });
      onSaved();
    };
    await replace(before, after);
    say('The notes are saved.', { undo: () => replace(after, before) });
  });
  return (
    <Form class="card notes" onSubmit={save.run}>
      <Field label="Notes" hint="Users get the notes with the export of their data: write what they may read.">
        {(control) => (
          <textarea
            {...control}
            dir="auto"
            maxLength={MAX_CHARS}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      <Refusal error={save.error} />
      <div>
        <button type="submit" disabled={save.is_running || text === (notes ?? '')}>
          Save the notes
        </button>
      </div>
    </Form>
  );
}
