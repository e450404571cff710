// What administrators noted about days, such as a new price: the charts have an upright line at each of these days.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask } from '../../../api/ask.ts';
import { useAction } from '../../../ui/action.ts';
import { Refusal } from '../../../ui/failure.tsx';
import { TextField } from '../../../ui/field.tsx';
import { Form } from '../../../ui/form.tsx';
import { say, sayFailure } from '../../../ui/toasts.tsx';

type Note = AnswerOf<'GET /admin/growth-dashboard'>['notes'][number];

const MAX_CHARS = 500;

export function Notes({ notes, today, onChange }: { notes: readonly Note[]; today: string; onChange(): void }) {
  const remove = ({ note_id, text, date }: Note) =>
    ask('DELETE /admin/growth-notes/{note_id}', { note_id }).then(() => {
      say('The note is deleted.', { undo: () => ask('POST /admin/growth-notes', { text, date }).then(onChange) });
      onChange();
    }, sayFailure);
  return (
    <section class="card" aria-label="Notes">
      <h2>Notes about these days</h2>
      {notes.length === 0 && <p class="notice">There is none yet: note what may explain a rise or a fall.</p>}
      <ul class="rows">
        {notes.map((note) => (
          <li key={note.note_id}>
            <span>
              <b>{note.date}</b> <bdi class="note">{note.text}</bdi>{' '}
              <small>
                by <bdi>{note.added_by}</bdi>
              </small>
            </span>
            <button type="button" aria-label={`Delete the note of ${note.date}`} onClick={() => remove(note)}>
              Delete
            </button>
          </li>
        ))}
      </ul>
      <NewNote today={today} onAdded={onChange} />
    </section>
  );
}

function NewNote({ today, onAdded }: { today: string; onAdded(): void }) {
  const [text, setText] = useState('');
  const [date, setDate] = useState(today);
  const add = useAction(async () => {
    await ask('POST /admin/growth-notes', { text, date });
    say('The note is added.');
    setText('');
    onAdded();
  });
  return (
    <Form class="fields" onSubmit={add.run}>
      <TextField label="Day (UTC)" type="date" required value={date} onInput={setDate} />
      <TextField
        label="What happened"
        dir="auto"
        size={40}
        maxLength={MAX_CHARS}
        required
        value={text}
        onInput={setText}
      />
      <button type="submit" disabled={add.is_running}>
        Add the note
      </button>
      <Refusal error={add.error} />
    </Form>
  );
}
