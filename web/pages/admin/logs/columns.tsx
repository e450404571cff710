// The columns of the worker log. A domain and a job are filters, where a click leads.
import type { ComponentChildren } from 'preact';
import { to, useAddress } from '../../../app/address.ts';
import { ResultLink } from '../../../ui/result-link.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Time } from '../../../ui/time.tsx';
import type { Entry } from './entry.ts';

interface FilterLinkProps {
  name: 'domain' | 'job_id';
  value: string;
  children: ComponentChildren;
}

function FilterLink({ name, value, children }: FilterLinkProps) {
  const { path, query } = useAddress();
  return <a href={to(path, { ...Object.fromEntries(query), [name]: value, offset: undefined })}>{children}</a>;
}

/** The beginning of an id tells it from its neighbours; the whole is on hover. */
function Id({ of }: { of: string | null }) {
  return (
    <small class="id" title={of ?? undefined}>
      {of === null ? '–' : of.slice(0, 8)}
    </small>
  );
}

export const columnsOf = (remove: (entry: Entry) => void): readonly Column<Entry>[] => [
  { label: 'Time', cell: ({ time }) => <Time at={time} /> },
  {
    label: 'URL',
    cell: ({ url, domain }) => (
      <span class="url">
        <span class="clipped" title={url ?? undefined}>
          {url === null ? '–' : <ResultLink url={url} />}
        </span>
        {domain !== null && (
          <small>
            <FilterLink name="domain" value={domain}>
              <bdi>{domain}</bdi>
            </FilterLink>
          </small>
        )}
      </span>
    ),
  },
  {
    label: 'Outcome',
    cell: ({ status_code, error_code }) => (
      <>
        {status_code}{' '}
        {error_code !== null && <span class="badge is-unreachable">{error_code.replaceAll('_', ' ')}</span>}
      </>
    ),
  },
  { label: 'Took', is_number: true, cell: ({ duration_ms }) => (duration_ms === null ? '–' : `${duration_ms} ms`) },
  { label: 'Attempt', is_number: true, cell: ({ attempt }) => attempt },
  {
    label: 'Job',
    cell: ({ job_id }) => (
      <FilterLink name="job_id" value={job_id}>
        <Id of={job_id} />
      </FilterLink>
    ),
  },
  { label: 'Worker', cell: ({ worker }) => <Id of={worker} /> },
  { label: 'Proxy', cell: ({ proxy_id }) => <Id of={proxy_id} /> },
  {
    label: 'Actions',
    cell: (entry) => (
      <button
        type="button"
        aria-label={`Delete the entry of ${entry.url ?? entry.log_id}`}
        onClick={() => remove(entry)}
      >
        Delete
      </button>
    ),
  },
];
