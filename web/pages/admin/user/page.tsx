// A user: plan, credits, what happened last, and what an administrator may change.

import { useState } from 'preact/hooks';
import { ask, useAnswer } from '../../../api/ask.ts';
import { type PageProps, to } from '../../../app/address.ts';
import { say, sayFailure, useAction } from '../../../ui/actions.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Failure, Refusal } from '../../../ui/failure.tsx';
import { Figure, Figures, UsedFigure } from '../../../ui/figures.tsx';
import { Field, Form } from '../../../ui/form.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';
import { OtherPlans } from '../../../ui/other-plans.tsx';
import { SESSION_COLUMNS } from '../../../ui/session-columns.tsx';
import { type Column, TableSection } from '../../../ui/table.tsx';
import { counted, grouped, Time } from '../../../ui/values.tsx';
import { Areas } from '../areas.tsx';
import { Badges } from '../badges.tsx';
import { Periods, usePeriod } from '../period.tsx';
import { TRAIL, words } from '../trail.tsx';
import { Changes } from './changes.tsx';
import { Jobs } from './jobs.tsx';
import type { User } from './user.ts';

export function Page({ params }: PageProps) {
  const user_id = params.user_id!;
  const user = useAnswer('GET /admin/users/{user_id}', { user_id });
  return (
    <>
      <Areas />
      <a href={to('/admin')}>All users</a>
      <Failure of={user} title="User" />
      {user.value && <Shown user={user.value} onChange={user.again} />}
    </>
  );
}

function Shown({ user, onChange }: { user: User; onChange(): void }) {
  const { user_id, is_starred } = user;
  const star = () =>
    ask('PATCH /admin/users/{user_id}/star', { user_id, is_starred: !is_starred }).then(onChange, sayFailure);
  return (
    <>
      <header class="title">
        <h1>
          <bdi>{user.name ?? user.email ?? user_id}</bdi>
        </h1>
        <Badges user={user} />
        <button type="button" aria-pressed={is_starred} onClick={star}>
          {is_starred ? '★ Starred' : '☆ Star'}
        </button>
      </header>
      <p class="facts">
        {user.email && <bdi>{user.email}</bdi>}
        <span>
          id <bdi>{user_id}</bdi>
        </span>
        <span>
          registered <Time at={user.registered_at} />
        </span>
      </p>
      <OtherPlans
        others={user.other_subscriptions}
        onEnd={onChange}
        end={(subscription_id) =>
          ask('POST /admin/users/{user_id}/subscriptions/{subscription_id}/end', { user_id, subscription_id })
        }
      />
      <section class="card" aria-label="Credits and limits">
        <Credits user={user} />
        {user.deleted_at === null && <Changes user={user} onChange={onChange} />}
      </section>
      {user.deleted_at === null && <Notes key={user.notes} user={user} onSaved={onChange} />}
      <TableSection
        title="Credits"
        none="No credits have come or gone."
        columns={LEDGER}
        items={user.transactions}
        keyOf={(entry) => entry.transaction_id}
      />
      <Jobs jobs={user.jobs} onChange={onChange} />
      <Activity user_id={user_id} />
      <Sessions user_id={user_id} />
      <TableSection
        title="What administrators did"
        none="Nothing yet."
        columns={TRAIL}
        items={user.audit_trail}
        keyOf={(entry) => entry.entry_id}
      />
    </>
  );
}

function Credits({ user: { usage, ...user } }: { user: User }) {
  const owed = user.credits_owed > 0 && <span class="is-error">{grouped(user.credits_owed)} owed</span>;
  return (
    <Figures>
      <Figure label="Credits" note={owed}>
        {grouped(user.credit_balance)}
      </Figure>
      <UsedFigure usage={usage} />
      <Figure label="Limit of a period">{usage.limit === null ? 'none' : grouped(usage.limit)}</Figure>
      <Figure label="Can use now">{grouped(usage.remaining)}</Figure>
      <Figure label="Jobs created">{grouped(user.jobs_created)}</Figure>
    </Figures>
  );
}

const signed = (amount: number) => `${amount > 0 ? '+' : ''}${grouped(amount)}`;

const LEDGER: readonly Column<User['transactions'][number]>[] = [
  { label: 'When', cell: (entry) => <Time at={entry.created_at} /> },
  { label: 'What', cell: (entry) => words(entry.transaction_type) },
  {
    label: 'Reference',
    cell: (entry) => (
      <small>
        <bdi>{entry.reference_id}</bdi>
      </small>
    ),
  },
  { label: 'Credits', is_number: true, cell: (entry) => signed(entry.amount) },
  { label: 'Balance', is_number: true, cell: (entry) => grouped(entry.balance_after) },
];

// The jobs that a user created, day by day.
function Activity({ user_id }: { user_id: string }) {
  const activity = useAnswer('GET /admin/user-activity/{user_id}', { user_id, period: usePeriod() });
  return (
    <section class="section" aria-label="Activity">
      <Periods />
      <Failure of={activity} />
      {activity.value && (
        <LineChart
          title={`${counted(activity.value.jobs, 'job')} on ${counted(activity.value.active_days, 'day')}`}
          times={activity.value.series.map(({ day }) => day)}
          lines={[{ label: 'Jobs', color: 'accent', values: activity.value.series.map(({ jobs }) => jobs) }]}
        />
      )}
    </section>
  );
}

// What administrators wrote of a user.
const MAX_CHARS = 10_000;

function Notes({ user: { user_id, notes }, onSaved }: { user: User; onSaved(): void }) {
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

// The browsers that are signed in as a user, and the end of all of them.
function Sessions({ user_id }: { user_id: string }) {
  const sessions = useAnswer('GET /admin/users/{user_id}/sessions', { user_id });
  const [is_asked, setAsked] = useState(false);
  const items = sessions.value?.items ?? [];
  return (
    <>
      <Failure of={sessions} title="Signed-in browsers" />
      <TableSection
        title="Signed-in browsers"
        none="No browser is signed in."
        columns={SESSION_COLUMNS}
        items={items}
        keyOf={({ id }) => id}
      />
      {items.length > 0 && (
        <p>
          <button type="button" onClick={() => setAsked(true)}>
            Sign all out
          </button>
        </p>
      )}
      {is_asked && (
        <Confirm
          title="Sign all browsers of this user out?"
          action="Sign all out"
          is_dangerous
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await ask('DELETE /admin/users/{user_id}/sessions', { user_id });
            say('All browsers are signed out.');
            sessions.again();
          }}
        >
          <p>The user has to sign in again. API keys continue to work.</p>
        </Confirm>
      )}
    </>
  );
}
