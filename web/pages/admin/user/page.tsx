// A user: plan, credits, what happened last, and what an administrator may change.
import { ask } from '../../../api/ask.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { to } from '../../../app/address.ts';
import type { PageProps } from '../../../app/page-props.ts';
import { Failure } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { grouped } from '../../../ui/numbers.ts';
import { OtherPlans } from '../../../ui/other-plans.tsx';
import type { Column } from '../../../ui/table.tsx';
import { TableSection } from '../../../ui/table-section.tsx';
import { Time } from '../../../ui/time.tsx';
import { sayFailure } from '../../../ui/toasts.tsx';
import { UsedFigure } from '../../../ui/used-figure.tsx';
import { Areas } from '../areas.tsx';
import { TRAIL, words } from '../trail.tsx';
import { Badges } from '../user-badges.tsx';
import { Activity } from './activity.tsx';
import { Changes } from './changes.tsx';
import { Jobs } from './jobs.tsx';
import { Notes } from './notes.tsx';
import { Sessions } from './sessions.tsx';
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
