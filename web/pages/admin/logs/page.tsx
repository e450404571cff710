// The worker log: each attempt at a URL, the newest first. It follows the checkers until it is paused; it holds one page of entries.
import { useState } from 'preact/hooks';
import { useAnswer } from '../../../api/use-answer.ts';
import { useEvery } from '../../../api/use-every.ts';
import { setQuery, useAddress } from '../../../app/address.ts';
import { Empty } from '../../../ui/empty.tsx';
import { Failure } from '../../../ui/failure.tsx';
import { counted } from '../../../ui/numbers.ts';
import { offsetIn, Pager } from '../../../ui/pager.tsx';
import { Table } from '../../../ui/table.tsx';
import { Areas } from '../areas.tsx';
import { columnsOf } from './columns.tsx';
import { DeleteMany, DeleteOne } from './delete.tsx';
import type { Entry } from './entry.ts';
import { Filters, filterIn, NO_FILTER } from './filters.tsx';
import { Hours } from './hours.tsx';

const LIMIT = 50;
const WAIT_MS = 2000;

export function Page() {
  return (
    <>
      <h1>Administration</h1>
      <Areas />
      <Hours />
      <Entries />
    </>
  );
}

function Entries() {
  const { query } = useAddress();
  const filter = filterIn(query);
  const offset = offsetIn(query);
  const logs = useAnswer('GET /logs', { ...filter, page: Math.floor(offset / LIMIT) + 1, page_size: LIMIT });
  const [is_paused, setPaused] = useState(false);
  const [asked, setAsked] = useState<'many' | Entry | null>(null);
  // Older pages stand still: new entries would move them along.
  const is_live = !is_paused && offset === 0;
  useEvery(is_live ? WAIT_MS : null, logs);
  const is_filtered = Object.values(filter).some((value) => value !== undefined);
  return (
    <section class="section">
      <header class="title">
        <h2>Attempts</h2>
        {logs.value && <small>{counted(logs.value.total, 'entry', 'entries')}</small>}
        <span class="actions">
          {offset === 0 && (
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
      <Failure of={logs} />
      {logs.value?.total === 0 &&
        (is_filtered ? (
          <Empty title="No entry passes these filters">
            <button type="button" onClick={() => setQuery(NO_FILTER)}>
              Show all entries
            </button>
          </Empty>
        ) : (
          <Empty title="The log is empty">
            <p>Entries come while jobs are checked.</p>
          </Empty>
        ))}
      {logs.value && logs.value.total > 0 && (
        <>
          <Table
            caption="Attempts"
            columns={columnsOf(setAsked)}
            items={logs.value.items}
            keyOf={({ log_id }) => log_id}
          />
          <Pager total={logs.value.total} limit={LIMIT} offset={offset} />
        </>
      )}
      {asked === 'many' && <DeleteMany onClose={() => setAsked(null)} onDone={logs.again} />}
      {asked !== null && asked !== 'many' && (
        <DeleteOne entry={asked} onClose={() => setAsked(null)} onDone={logs.again} />
      )}
    </section>
  );
}
