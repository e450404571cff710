// The worker log: each attempt at a URL, the newest first. It follows the checkers until it is paused; it holds one page of entries.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer, useEvery } from '../../../api/ask.ts';
import { setQuery, to, useAddress } from '../../../app/address.ts';
import { say } from '../../../ui/actions.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Empty, Failure } from '../../../ui/failure.tsx';
import { TextField } from '../../../ui/form.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';
import { ResultLink } from '../../../ui/result-link.tsx';
import { type Column, List, offsetIn, useList } from '../../../ui/table.tsx';
import { counted, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { Filters, filterIn, NO_FILTER } from './filters.tsx';

type Entry = AnswerOf<'GET /logs'>['items'][number];

const LIMIT = 50;
const WAIT_MS = 2000;

export function Page() {
  return (
    <AdminPage>
      <Hours />
      <Entries />
    </AdminPage>
  );
}

function Entries() {
  const { query } = useAddress();
  const filter = filterIn(query);
  const logs = useList('GET /logs', filter, { limit: LIMIT });
  const [is_paused, setPaused] = useState(false);
  const [asked, setAsked] = useState<'many' | Entry | null>(null);
  // Older pages stand still: new entries would move them along.
  const is_first = offsetIn(query) === 0;
  const is_live = !is_paused && is_first;
  useEvery(is_live ? WAIT_MS : null, logs);
  const is_filtered = Object.values(filter).some((value) => value !== undefined);
  return (
    <section class="section">
      <header class="title">
        <h2>Attempts</h2>
        {logs.value && <small>{counted(logs.value.total, 'entry', 'entries')}</small>}
        <span class="actions">
          {is_first && (
            <button type="button" aria-pressed={is_paused} onClick={() => setPaused(!is_paused)}>
              {is_paused ? 'Follow again' : 'Pause'}
            </button>
          )}
          <button type="button" onClick={() => setAsked('many')}>
            Delete entries
          </button>
        </span>
      </header>
      <Filters />
      <List
        of={logs}
        empty={
          is_filtered ? (
            <Empty title="No entry passes these filters">
              <button type="button" onClick={() => setQuery(NO_FILTER)}>
                Show all entries
              </button>
            </Empty>
          ) : (
            <Empty title="The log is empty">
              <p>Entries come while jobs are checked.</p>
            </Empty>
          )
        }
        caption="Attempts"
        columns={columnsOf(setAsked)}
        keyOf={({ log_id }) => log_id}
      />
      {asked === 'many' && <DeleteMany onClose={() => setAsked(null)} onDone={logs.again} />}
      {asked !== null && asked !== 'many' && (
        <DeleteOne entry={asked} onClose={() => setAsked(null)} onDone={logs.again} />
      )}
    </section>
  );
}

// The attempts of the last day, hour by hour.
const HOURS_MS = 60_000;

function Hours() {
  const stats = useAnswer('GET /logs/stats', {});
  useEvery(HOURS_MS, stats);
  if (!stats.value) return <Failure of={stats} />;
  const { series } = stats.value;
  return (
    <>
      <Failure of={stats} />
      <LineChart
        title="Attempts in an hour"
        times={series.map(({ hour }) => hour)}
        lines={[
          { label: 'All', color: 'accent', values: series.map(({ entries }) => entries) },
          { label: 'Without a 2xx', color: 'broken', values: series.map(({ non_2xx }) => non_2xx) },
          { label: 'With an error', color: 'unreachable', values: series.map(({ errors }) => errors) },
        ]}
      />
    </>
  );
}

// The columns of the worker log. A domain and a job are filters, where a click leads.
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

const columnsOf = (remove: (entry: Entry) => void): readonly Column<Entry>[] => [
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

// Deleting entries of the worker log for good: one, those that pass the filters, or all.
interface DeleteProps {
  onClose(): void;
  onDone(): void;
}

function DeleteOne({ entry: { url, log_id }, onClose, onDone }: DeleteProps & { entry: Entry }) {
  return (
    <Confirm
      title="Delete this entry?"
      action="Delete it"
      is_dangerous
      onClose={onClose}
      onConfirm={async () => {
        await ask('DELETE /logs/{log_id}', { log_id });
        say('The entry is deleted.');
        onDone();
      }}
    >
      <p>
        The attempt at <bdi>{url ?? 'a URL'}</bdi> leaves the log for good. The job's results stay.
      </p>
    </Confirm>
  );
}

/** The age counts beside the filters that a deletion takes; without any, all entries are deleted. */
function DeleteMany({ onClose, onDone }: DeleteProps) {
  const { query } = useAddress();
  const { job_id, domain, non_2xx } = filterIn(query);
  const [hours, setHours] = useState('');
  const older_than_hours = hours === '' ? undefined : Number(hours);
  const taken = [
    job_id && `of the job ${job_id}`,
    domain && `of the domain ${domain}`,
    non_2xx && 'without a 2xx',
    older_than_hours !== undefined && `older than ${counted(older_than_hours, 'hour')}`,
  ].filter(Boolean);
  return (
    <Confirm
      title="Delete entries?"
      action={taken.length > 0 ? 'Delete these' : 'Delete all'}
      is_dangerous
      onClose={onClose}
      onConfirm={async () => {
        const { deleted } =
          taken.length > 0
            ? await ask('DELETE /logs', { job_id, domain, non_2xx, older_than_hours })
            : await ask('POST /logs/truncate', {});
        say(`${counted(deleted, 'entry is', 'entries are')} deleted.`);
        onDone();
      }}
    >
      <p>
        All entries <bdi>{taken.join(', ')}</bdi> leave the log for good. The results of jobs stay.
      </p>
      <TextField
        label="Only those older than"
        hint="Hours. The filters of domain, job and 2xx count too; others do not."
        type="number"
        min={0}
        max={1_000_000}
        step={1}
        value={hours}
        onInput={setHours}
      />
    </Confirm>
  );
}
