// The health of checked domains over all jobs, the worst first. A row leads to the page of its domain.
import type { AnswerOf } from '../../../api/ask.ts';
import { go, setQuery, to, useAddress } from '../../../app/address.ts';
import { Empty } from '../../../ui/failure.tsx';
import { Form, SelectField, TextField } from '../../../ui/form.tsx';
import { type Column, List, type SortBy, useList, useSort } from '../../../ui/table.tsx';
import { grouped, shareOf, span, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { DomainBadges, DomainLink, domainPath } from '../badges.tsx';

type Domain = AnswerOf<'GET /domains/health'>['items'][number];

const SORTS = [
  'failure_rate',
  'checks',
  'failures',
  'blocked_count',
  'avg_response_time_ms',
  'last_checked_at',
  'domain',
] as const;
/** With few checks a rate says little. */
const LEAST = ['1', '10', '100', '1000'];
const DEFAULT_LEAST = '10';

export function Page() {
  const { query } = useAddress();
  const { sort_by, sort_order, by } = useSort(SORTS);
  const least = LEAST.find((checks) => checks === query.get('min_checks')) ?? DEFAULT_LEAST;
  const domains = useList('GET /domains/health', { sort_by, sort_order, min_checks: Number(least) });
  return (
    <AdminPage>
      <div class="fields">
        <LookUp />
        <SelectField
          label="With at least"
          value={least}
          options={LEAST.map((checks) => ({ value: checks, label: `${checks} checks` }))}
          onChange={(min_checks) => setQuery({ min_checks, offset: undefined })}
        />
      </div>
      <List
        of={domains}
        empty={
          <Empty title={`No domain has ${least} checks yet`}>
            {least !== '1' && (
              <a class="button" href={to('/admin/domains', { min_checks: '1' })}>
                Show all domains
              </a>
            )}
          </Empty>
        }
        caption="Domains"
        columns={columnsOf(by)}
        keyOf={({ domain }) => domain}
      />
    </AdminPage>
  );
}

function LookUp() {
  return (
    <search>
      <Form
        class="fields"
        onSubmit={(form) => {
          const domain = new FormData(form).get('domain') as string;
          go(to(domainPath(domain.trim())));
        }}
      >
        <TextField label="Domain" type="search" name="domain" size={30} maxLength={2048} required />
        <button type="submit">Look it up</button>
      </Form>
    </search>
  );
}

const columnsOf = (by: SortBy<(typeof SORTS)[number]>): readonly Column<Domain>[] => [
  {
    label: 'Domain',
    sort: by('domain'),
    cell: ({ domain }) => <DomainLink domain={domain} />,
  },
  { label: 'State', cell: (domain) => <DomainBadges domain={domain} /> },
  {
    label: 'Broken',
    is_number: true,
    sort: by('failure_rate'),
    cell: ({ failure_rate }) => shareOf(failure_rate),
  },
  { label: 'Failures', is_number: true, sort: by('failures'), cell: ({ failures }) => grouped(failures) },
  { label: 'Checks', is_number: true, sort: by('checks'), cell: ({ checks }) => grouped(checks) },
  {
    label: 'By bot protection',
    is_number: true,
    sort: by('blocked_count'),
    cell: ({ blocked_count }) => grouped(blocked_count),
  },
  {
    label: 'Answers after',
    is_number: true,
    sort: by('avg_response_time_ms'),
    cell: ({ avg_response_time_ms }) => span(avg_response_time_ms),
  },
  {
    label: 'Last check',
    sort: by('last_checked_at'),
    cell: ({ last_checked_at }) => <Time at={last_checked_at} />,
  },
];
