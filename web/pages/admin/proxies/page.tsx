// The pool of proxies: how it does as a whole, each proxy, and the domains that one has trouble with. The provider's list says which there are.
import { type AnswerOf, ask, useAnswer } from '../../../api/ask.ts';
import { to, useAddress } from '../../../app/address.ts';
import { say, useAction } from '../../../ui/actions.tsx';
import { Empty, Failure, Refusal } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { Filters } from '../../../ui/filters.tsx';
import { SearchField, searchIn } from '../../../ui/form.tsx';
import { namesOf } from '../../../ui/names.ts';
import { type Column, List, useList } from '../../../ui/table.tsx';
import { counted, grouped, shareOf, span, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';

type Stats = AnswerOf<'GET /proxies/stats'>;
type Proxy = AnswerOf<'GET /proxies'>['items'][number];

const STATUSES = namesOf<Proxy['status']>({ healthy: 1, degraded: 1, quarantined: 1, unused: 1, removed: 1 });

function askedIn(query: URLSearchParams) {
  return {
    status: STATUSES.find((name) => name === query.get('status')),
    search: searchIn(query),
  };
}

export function Page() {
  const { query } = useAddress();
  const stats = useAnswer('GET /proxies/stats', {});
  const proxies = useList('GET /proxies', askedIn(query));
  function again() {
    stats.again();
    proxies.again();
  }
  return (
    <AdminPage>
      <Failure of={stats} />
      {stats.value && <Pool stats={stats.value} onRefresh={again} />}
      {stats.value && <Narrowing stats={stats.value} />}
      <List
        of={proxies}
        empty={<NoProxy is_configured={stats.value?.is_configured ?? true} />}
        caption="Proxies"
        columns={COLUMNS}
        keyOf={({ proxy_id }) => proxy_id}
      />
    </AdminPage>
  );
}

function NoProxy({ is_configured }: { is_configured: boolean }) {
  if (is_configured) return <Empty title="No proxy matches" />;
  return (
    <Empty title="The service has no proxies">
      <p>It checks from its own address. Set PROXY_LIST_URL to the list of a provider to check through proxies.</p>
    </Empty>
  );
}

function Pool({ stats, onRefresh }: { stats: Stats; onRefresh(): void }) {
  const refresh = useAction(async () => {
    const { total, added, removed } = await ask('POST /proxies/refresh', {});
    say(`The list has ${counted(total, 'proxy', 'proxies')}: ${grouped(added)} new, ${grouped(removed)} gone.`);
    onRefresh();
  });
  return (
    <section class="card" aria-label="The pool">
      <header>
        <h2>The pool</h2>
        <button type="button" disabled={refresh.is_running || !stats.is_configured} onClick={refresh.run}>
          Read the list now
        </button>
      </header>
      <Refusal error={refresh.error} />
      <Figures>
        <Figure label="Proxies">{grouped(stats.total)}</Figure>
        <Figure label="Answered" note="of the last requests">
          {shareOf(stats.success_rate)}
        </Figure>
        <Figure label="By bot protection" note="of the last requests">
          {shareOf(stats.block_rate)}
        </Figure>
        <Figure label="Answers after">{span(stats.latency_ms)}</Figure>
        <Figure
          label="Requests"
          note={`${grouped(stats.timed_out)} timed out, ${grouped(stats.failed)} failed otherwise`}
        >
          {grouped(stats.requests)}
        </Figure>
        <Figure label="Troubled domains">{grouped(stats.troubled_domains)}</Figure>
        <Figure label="Last request">
          <Time at={stats.last_used_at} />
        </Figure>
      </Figures>
    </section>
  );
}

function Narrowing({ stats: { by_status } }: { stats: Stats }) {
  const { path, query } = useAddress();
  const { status } = askedIn(query);
  return (
    <>
      <Filters
        label="State of proxies"
        choices={[undefined, ...STATUSES]}
        chosen={status}
        hrefOf={(name) => to(path, { ...Object.fromEntries(query), status: name, offset: undefined })}
        textOf={(name) => (name ? `${name} ${grouped(by_status[name])}` : 'all')}
      />
      <search class="fields">
        <SearchField placeholder="A part of the address" />
      </search>
    </>
  );
}

const COLUMNS: readonly Column<Proxy>[] = [
  { label: 'Address', cell: ({ address }) => <bdi>{address}</bdi> },
  {
    label: 'State',
    cell: ({ status, quarantined_since, retry_at }) => (
      <>
        <span class={`badge is-${status}`}>{status}</span>{' '}
        {quarantined_since && (
          <small>
            since <Time at={quarantined_since} />, tried again <Time at={retry_at} />
          </small>
        )}
      </>
    ),
  },
  { label: 'Answered', is_number: true, cell: ({ success_rate }) => shareOf(success_rate) },
  { label: 'By bot protection', is_number: true, cell: ({ block_rate }) => shareOf(block_rate) },
  { label: 'Answers after', is_number: true, cell: ({ latency_ms }) => span(latency_ms) },
  { label: 'Requests', is_number: true, cell: ({ requests }) => grouped(requests) },
  { label: 'Timed out', is_number: true, cell: ({ timed_out }) => grouped(timed_out) },
  { label: 'Failed', is_number: true, cell: ({ failed }) => grouped(failed) },
  {
    label: 'Troubled domains',
    is_number: true,
    cell: ({ proxy_id, address, troubled_domains }) => (
      <a
        href={to(`/admin/proxies/${encodeURIComponent(proxy_id)}`)}
        aria-label={`${grouped(troubled_domains)} troubled domains of ${address}`}
      >
        {grouped(troubled_domains)}
      </a>
    ),
  },
  { label: 'Last request', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  {
    label: 'On the list',
    cell: ({ listed_at, removed_at }) => (
      <>
        since <Time at={listed_at} />{' '}
        {removed_at && (
          <small>
            until <Time at={removed_at} />
          </small>
        )}
      </>
    ),
  },
];
