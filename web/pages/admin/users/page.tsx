// All users: find one by what is known of them, star them, and open their page.
import { useEffect, useState } from 'preact/hooks';
import { type AnswerOf, ask, type Given } from '../../../api/ask.ts';
import { setQuery, to, useAddress } from '../../../app/address.ts';
import { sayFailure } from '../../../ui/actions.tsx';
import { Empty } from '../../../ui/failure.tsx';
import { Filters } from '../../../ui/filters.tsx';
import { Check, SearchField, searchIn } from '../../../ui/form.tsx';
import { namesOf } from '../../../ui/names.ts';
import { type Column, List, type SortBy, useList, useSort } from '../../../ui/table.tsx';
import { grouped, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { Badges, UserLink } from '../badges.tsx';
import { Grant } from '../grant.tsx';

type User = AnswerOf<'GET /admin/users'>['items'][number];
type Kind = Exclude<Given<'GET /admin/users'>['filter_type'], 'all' | undefined>;

const KINDS = namesOf<Kind>({ paying: 1, free: 1, trial: 1, active: 1, inactive: 1, flagged: 1 });
const SORTS = ['registered_at', 'last_job_at', 'jobs_created', 'credit_balance', 'email'] as const;

function askedIn(query: URLSearchParams) {
  return {
    search: searchIn(query),
    filter_type: KINDS.find((name) => name === query.get('filter_type')),
    only_starred: query.get('only_starred') === 'true' || undefined,
    hide_deleted: query.get('hide_deleted') === 'false' ? false : undefined,
    // The only user of a new service is its administrator.
    hide_admin: query.get('hide_admin') === 'true',
  };
}

export function Page() {
  const { query } = useAddress();
  const asked = askedIn(query);
  const { sort_by, sort_order, by } = useSort(SORTS);
  const users = useList('GET /admin/users', { ...asked, sort_by, sort_order });
  return (
    <AdminPage>
      <Narrowing asked={asked} />
      <List
        of={users}
        empty={
          <Empty title="No user matches">
            <a class="button" href={to('/admin')}>
              Show all users
            </a>
          </Empty>
        }
        caption="Users"
        columns={columnsOf(by, users.again)}
        keyOf={(user) => user.user_id}
      >
        {users.value?.is_cut && (
          <p class="notice">Only the newest users that match are listed. Search for more of the name.</p>
        )}
      </List>
    </AdminPage>
  );
}

/** Another filter begins at the first page; it replaces the address, so that Back leaves the list. */
const change = (changed: Readonly<Record<string, string | undefined>>) =>
  setQuery({ ...changed, offset: undefined }, { replace: true });

function Narrowing({ asked }: { asked: ReturnType<typeof askedIn> }) {
  const { query } = useAddress();
  const kept = Object.fromEntries(query);
  return (
    <>
      <Filters
        label="Kind of user"
        choices={[undefined, ...KINDS]}
        chosen={asked.filter_type}
        hrefOf={(name) => to('/admin', { ...kept, filter_type: name, offset: undefined })}
        textOf={(name) => name ?? 'all'}
      />
      <search class="fields">
        <SearchField placeholder="Name, e-mail address or id" />
        <Check
          label="starred only"
          is_on={asked.only_starred === true}
          set={(on) => change({ only_starred: on ? 'true' : '' })}
        />
        <Check
          label="without administrators"
          is_on={asked.hide_admin}
          set={(on) => change({ hide_admin: on ? 'true' : '' })}
        />
        <Check
          label="with deleted users"
          is_on={asked.hide_deleted === false}
          set={(on) => change({ hide_deleted: on ? 'false' : '' })}
        />
      </search>
    </>
  );
}

function columnsOf(by: SortBy<(typeof SORTS)[number]>, again: () => void): readonly Column<User>[] {
  return [
    { label: 'Star', cell: (user) => <Star user={user} onChange={again} /> },
    {
      label: 'User',
      sort: by('email'),
      cell: (user) => (
        <span class="person">
          <UserLink user_id={user.user_id} email={user.email} />
          {user.name !== null && (
            <small>
              <bdi>{user.name}</bdi>
            </small>
          )}
        </span>
      ),
    },
    { label: 'Plan', cell: (user) => <Badges user={user} /> },
    {
      label: 'Credits',
      is_number: true,
      sort: by('credit_balance'),
      cell: (user) => grouped(user.credit_balance),
    },
    {
      label: 'Grant',
      cell: ({ user_id, email, deleted_at }) =>
        deleted_at === null && <Grant user_id={user_id} name={email ?? user_id} onDone={again} />,
    },
    { label: 'Jobs', is_number: true, sort: by('jobs_created'), cell: (user) => grouped(user.jobs_created) },
    { label: 'Last job', sort: by('last_job_at'), cell: (user) => <Time at={user.last_job_at} /> },
    { label: 'Registered', sort: by('registered_at'), cell: (user) => <Time at={user.registered_at} /> },
  ];
}

function Star({ user: { user_id, email, is_starred }, onChange }: { user: User; onChange(): void }) {
  // Shown at once; when the service refuses, the star is as the list has it. A second click undoes it.
  const [wanted, setWanted] = useState<boolean | null>(null);
  useEffect(() => setWanted(null), [is_starred]);
  const shown = wanted ?? is_starred;
  function star(): void {
    setWanted(!shown);
    ask('PATCH /admin/users/{user_id}/star', { user_id, is_starred: !shown }).then(onChange, (error: unknown) => {
      setWanted(null);
      sayFailure(error);
    });
  }
  return (
    <button type="button" class="star" aria-pressed={shown} aria-label={`Star ${email ?? user_id}`} onClick={star}>
      {shown ? '★' : '☆'}
    </button>
  );
}
