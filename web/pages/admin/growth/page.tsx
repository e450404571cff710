// How users, their jobs and what they check grow, day by day, with what administrators noted about the days.

import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer } from '../../../api/ask.ts';
import { say, sayFailure, useAction } from '../../../ui/actions.tsx';
import { Failure, Refusal } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { Form, TextField } from '../../../ui/form.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';
import { counted, grouped, money, percent } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { Periods, usePeriod } from '../period.tsx';

type Growth = AnswerOf<'GET /admin/growth-dashboard'>;

export function Page() {
  const growth = useAnswer('GET /admin/growth-dashboard', { period: usePeriod() });
  return (
    <AdminPage>
      <Periods />
      <Failure of={growth} />
      {growth.value && (
        <>
          <Totals growth={growth.value} />
          <Charts growth={growth.value} />
          <Notes notes={growth.value.notes} today={growth.value.to} onChange={growth.again} />
        </>
      )}
    </AdminPage>
  );
}

function Totals({ growth: { totals, active, revenue, currency } }: { growth: Growth }) {
  return (
    <section class="card" aria-label="These days in numbers">
      <Figures>
        <Figure label="Users" note={`${grouped(totals.signups)} signed up`}>
          {grouped(totals.users)}
        </Figure>
        <Figure label="Active users" note={`${grouped(active.dau)} of them today`}>
          {grouped(totals.active_users)}
        </Figure>
        <Figure label="Jobs">{grouped(totals.jobs)}</Figure>
        <Figure label="URLs checked" note={`${percent(totals.broken_urls, totals.urls_checked)} broken`}>
          {grouped(totals.urls_checked)}
        </Figure>
        <Figure label="MRR" note={`of ${counted(revenue.customers_end, 'customer')}`}>
          {money(revenue.mrr_end_cents, currency)}
        </Figure>
      </Figures>
    </section>
  );
}

function Charts({ growth: { series, notes, currency } }: { growth: Growth }) {
  const days = series.map(({ day }) => day);
  const values = (name: Exclude<keyof Growth['series'][number], 'day' | 'note_ids'>) =>
    series.map((point) => point[name]);
  const shared = { times: days, marked: notes.map(({ date }) => date) };
  return (
    <div class="charts">
      <LineChart {...shared} title="Users" lines={[{ label: 'Users', color: 'accent', values: values('users') }]} />
      <LineChart
        {...shared}
        title="Active users"
        lines={[
          { label: 'in 30 days', color: 'redirected', values: values('mau') },
          { label: 'in 7 days', color: 'unreachable', values: values('wau') },
          { label: 'on the day', color: 'ok', values: values('dau') },
        ]}
      />
      <LineChart
        {...shared}
        title="New users and jobs"
        lines={[
          { label: 'Jobs', color: 'redirected', values: values('jobs') },
          { label: 'Signups', color: 'ok', values: values('signups') },
        ]}
      />
      <LineChart
        {...shared}
        title="URLs"
        lines={[
          { label: 'Checked', color: 'accent', values: values('urls_checked') },
          { label: 'Broken', color: 'broken', values: values('broken_urls') },
          { label: 'Soft 404', color: 'soft_404', values: values('soft_404_urls') },
        ]}
      />
      <LineChart
        {...shared}
        title="Paying customers"
        lines={[{ label: 'Customers', color: 'ok', values: values('paying_customers') }]}
      />
      <LineChart
        {...shared}
        title="Monthly recurring revenue"
        show={(cents) => money(cents, currency)}
        lines={[{ label: 'MRR', color: 'ok', values: values('mrr_cents') }]}
      />
    </div>
  );
}

// What administrators noted about days, such as a new price: the charts have an upright line at each of these days.
type Note = AnswerOf<'GET /admin/growth-dashboard'>['notes'][number];

const MAX_CHARS = 500;

function Notes({ notes, today, onChange }: { notes: readonly Note[]; today: string; onChange(): void }) {
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
