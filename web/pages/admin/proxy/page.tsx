// The domains that block a proxy or fail through it.
import type { AnswerOf } from '../../../api/ask.ts';
import { type PageProps, to, useAddress } from '../../../app/address.ts';
import { Empty } from '../../../ui/failure.tsx';
import { SearchField, searchIn } from '../../../ui/form.tsx';
import { type Column, List, useList } from '../../../ui/table.tsx';
import { grouped, Time } from '../../../ui/values.tsx';
import { Areas } from '../areas.tsx';
import { DomainLink } from '../badges.tsx';

type Domain = AnswerOf<'GET /proxies/{proxy_id}/blocked-domains'>['items'][number];

export function Page({ params }: PageProps) {
  const { query } = useAddress();
  const search = searchIn(query);
  const domains = useList('GET /proxies/{proxy_id}/blocked-domains', { proxy_id: params.proxy_id!, search });
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
      <List
        of={domains}
        empty={<Empty title={search ? 'No troubled domain matches' : 'It has trouble with no domain'} />}
        caption="Troubled domains"
        columns={COLUMNS}
        keyOf={(item) => item.domain}
      />
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
