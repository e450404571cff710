// The blocklist: whether it has a domain, its entries, and what changes them.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer } from '../../../api/ask.ts';
import { useAddress } from '../../../app/address.ts';
import { say, sayFailure } from '../../../ui/actions.tsx';
import { Empty, Failure } from '../../../ui/failure.tsx';
import { SearchField, searchIn } from '../../../ui/form.tsx';
import { type Column, List, type SortBy, useList, useSort } from '../../../ui/table.tsx';
import { Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { DomainLink } from '../badges.tsx';
import { BlockDialog } from '../block-dialog.tsx';

type Entry = AnswerOf<'GET /domains/blocked'>['items'][number];

const MAX_CHARS = 2048;
const SORTS = ['added_at', 'domain', 'reason', 'block_type'] as const;

/** What is open over the page: a new entry, or one to change. */
type Open = { is: 'new' } | { is: 'change'; entry: Entry } | null;

export function Page() {
  const { sort_by, sort_order, by } = useSort(SORTS);
  const list = useList('GET /domains/blocked', { sort_by, sort_order });
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const remove = ({ domain, reason, block_type, error_codes }: Entry) =>
    ask('DELETE /domains/blocked/{domain}', { domain }).then(() => {
      const entry = { domain, reason: reason || undefined, block_type: block_type || undefined, error_codes };
      say(`${domain} is off the blocklist.`, { undo: () => ask('POST /domains/blocked', entry).then(list.again) });
      list.again();
    }, sayFailure);
  const block = (
    <button type="button" class="primary" onClick={() => setOpen({ is: 'new' })}>
      Block a domain
    </button>
  );
  return (
    <AdminPage action={list.value && list.value.total > 0 && block}>
      <LookUp version={JSON.stringify(list.value)} />
      <List
        of={list}
        empty={
          <Empty title="The blocklist is empty">
            <p>Lists of users are checked without the URLs of blocklisted domains.</p>
            {block}
          </Empty>
        }
        caption="Blocklisted domains"
        columns={columnsOf(by, (entry) => setOpen({ is: 'change', entry }), remove)}
        keyOf={({ domain }) => domain}
      />
      {open?.is === 'new' && <BlockDialog onClose={close} onDone={list.again} />}
      {open?.is === 'change' && <BlockDialog entry={open.entry} onClose={close} onDone={list.again} />}
    </AdminPage>
  );
}

/** `version`: the answer is asked for again when the list has changed. */
function LookUp({ version }: { version: string }) {
  const { query } = useAddress();
  const search = searchIn(query, MAX_CHARS);
  const found = useAnswer('POST /check-domains', search === undefined ? null : { domains: [search] }, version);
  const [entry] = found.value?.blocked ?? [];
  return (
    <search class="card">
      <SearchField label="Is a domain blocked?" placeholder="www.example.com" max_chars={MAX_CHARS} />
      {search !== undefined && (
        <>
          <Failure of={found} />
          <p aria-live="polite">
            {found.value &&
              !found.is_waiting &&
              !found.error &&
              (entry ? (
                <>
                  <bdi>{entry.domain}</bdi> <span class="badge is-broken">blocked</span> <bdi>{entry.reason}</bdi>
                </>
              ) : (
                'It is not blocked.'
              ))}
          </p>
        </>
      )}
    </search>
  );
}

const columnsOf = (
  by: SortBy<(typeof SORTS)[number]>,
  change: (entry: Entry) => void,
  remove: (entry: Entry) => void,
): readonly Column<Entry>[] => [
  {
    label: 'Domain',
    sort: by('domain'),
    cell: ({ domain }) => <DomainLink domain={domain} />,
  },
  { label: 'Reason', sort: by('reason'), cell: ({ reason }) => <bdi>{reason}</bdi> },
  { label: 'Kind', sort: by('block_type'), cell: ({ block_type }) => <bdi>{block_type}</bdi> },
  { label: 'Errors', cell: ({ error_codes }) => <bdi>{error_codes.join(', ') || '–'}</bdi> },
  { label: 'Added', sort: by('added_at'), cell: ({ added_at }) => <Time at={added_at} /> },
  {
    label: 'Actions',
    cell: (entry) => (
      <span class="actions">
        <button type="button" aria-label={`Change ${entry.domain}`} onClick={() => change(entry)}>
          Change
        </button>
        <button type="button" aria-label={`Remove ${entry.domain}`} onClick={() => remove(entry)}>
          Remove
        </button>
      </span>
    ),
  },
];
