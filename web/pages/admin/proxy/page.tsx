// The domains that block a proxy or fail through it.
import type { AnswerOf } from '../../../api/ask.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { to, useAddress } from '../../../app/address.ts';
import type { PageProps } from '../../../app/page-props.ts';
import { Empty } from '../../../ui/empty.tsx';
import { Failure } from '../../../ui/failure.tsx';
import { grouped } from '../../../ui/numbers.ts';
import { offsetIn, Pager } from '../../../ui/pager.tsx';
import { SearchField, searchIn } from '../../../ui/search-field.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { Time } from '../../../ui/time.tsx';
import { Areas } from '../areas.tsx';
import { DomainLink } from '../domain-badges.tsx';

type Domain = AnswerOf<'GET /proxies/{proxy_id}/blocked-domains'>['items'][number];

const LIMIT = 25;

export function Page({ params }: PageProps) {
  const { query } = useAddress();
  const search = searchIn(query);
  const offset = offsetIn(query);
  const domains = useAnswer('GET /proxies/{proxy_id}/blocked-domains', {
    ...{ proxy_id: params.proxy_id!, search, page: Math.floor(offset / LIMIT) + 1, limit: LIMIT },
  });
  return (
    <>
      <Areas />
      <a href={to('/admin/proxies')}>All proxies</a>
      <h1>Troubled domains of a proxy</h1>
      <p class="facts">
        id <bdi>{params.proxy_id}</bdi>
      </p>
      <search class="fields">
        <SearchField placeholder="A part of the domain" />
      </search>
      <Failure of={domains} />
      {domains.value?.total === 0 && (
        <Empty title={search ? 'No troubled domain matches' : 'It has trouble with no domain'} />
      )}
      {domains.value && domains.value.total > 0 && (
        <>
          <Table
            caption="Troubled domains"
            columns={COLUMNS}
            items={domains.value.items}
            keyOf={(item) => item.domain}
          />
          <Pager total={domains.value.total} limit={LIMIT} offset={offset} />
        </>
      )}
    </>
  );
}

const COLUMNS: readonly Column<Domain>[] = [
  {
    label: 'Domain',
    cell: ({ domain }) => <DomainLink domain={domain} />,
  },
  { label: 'State', cell: ({ status }) => <span class={`badge is-${status}`}>{status}</span> },
  { label: 'Requests', is_number: true, cell: ({ requests }) => grouped(requests) },
  { label: 'Answered', is_number: true, cell: ({ answered }) => grouped(answered) },
  { label: 'By bot protection', is_number: true, cell: ({ blocked }) => grouped(blocked) },
  { label: 'Failed', is_number: true, cell: ({ failed }) => grouped(failed) },
  { label: 'First trouble', cell: ({ first_seen_at }) => <Time at={first_seen_at} /> },
  { label: 'Last request', cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
];
