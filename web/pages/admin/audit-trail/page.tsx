// What administrators did, the newest first: to whom, and why.
import type { AnswerOf, Given } from '../../../api/ask.ts';
import { setQuery, to, useAddress } from '../../../app/address.ts';
import { Empty } from '../../../ui/failure.tsx';
import { Check, TextField } from '../../../ui/form.tsx';
import { type Column, List, useList } from '../../../ui/table.tsx';
import { AdminPage } from '../areas.tsx';
import { UserLink } from '../badges.tsx';
import { TRAIL, words } from '../trail.tsx';

type Entry = AnswerOf<'GET /admin/audit-trail'>['items'][number];

const MAX_CHARS = 255;
const FILTERS = { user_id: 'About the user', admin_id: 'By the administrator' } as const;
type Filter = keyof typeof FILTERS;

const given = (query: URLSearchParams, name: Filter) => query.get(name)?.slice(0, MAX_CHARS) || undefined;

export function Page() {
  const { query } = useAddress();
  const action = (query.get('action') || undefined) as Given<'GET /admin/audit-trail'>['action'];
  const trail = useList('GET /admin/audit-trail', {
    ...{ user_id: given(query, 'user_id'), admin_id: given(query, 'admin_id'), action },
  });
  return (
    <AdminPage>
      <search class="fields">
        {(Object.keys(FILTERS) as Filter[]).map((name) => (
          <TextField
            key={name}
            label={FILTERS[name]}
            type="search"
            maxLength={MAX_CHARS}
            placeholder="The whole id"
            value={given(query, name) ?? ''}
            onChange={(text) => setQuery({ [name]: text.trim(), offset: undefined }, { replace: true })}
          />
        ))}
        {action && (
          <Check
            label={`only: ${words(action)}`}
            is_on
            set={() => setQuery({ action: undefined, offset: undefined })}
          />
        )}
      </search>
      <List
        of={trail}
        empty={<Empty title="No administrator did anything like that" />}
        caption="What administrators did"
        columns={COLUMNS}
        keyOf={({ entry_id }) => entry_id}
      />
    </AdminPage>
  );
}

const about: Column<Entry> = {
  label: 'About',
  cell: ({ user_id, target }) => (user_id === null ? <bdi>{target ?? '–'}</bdi> : <UserLink user_id={user_id} />),
};

const what: Column<Entry> = {
  label: 'What',
  cell: ({ action }) => <a href={to('/admin/audit-trail', { action })}>{words(action)}</a>,
};

const [when, , ...rest] = TRAIL;
const COLUMNS: readonly Column<Entry>[] = [when!, what, about, ...rest];
