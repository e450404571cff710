// The jobs of all users, the newest first: those that failed or wait, and those of somebody.
import type { AnswerOf, Given } from '../../../api/ask.ts';
import { setQuery, to, useAddress } from '../../../app/address.ts';
import { Empty } from '../../../ui/failure.tsx';
import { Check, searchIn, TextField } from '../../../ui/form.tsx';
import { JobProgress, JobStatus } from '../../../ui/job-status.tsx';
import { type Column, List, useList } from '../../../ui/table.tsx';
import { grouped, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { UserLink } from '../badges.tsx';

type Job = AnswerOf<'GET /admin/jobs'>['items'][number];
type Status = Given<'GET /admin/jobs'>['status'];

const MAX_CHARS = 320;
const ONLY: readonly (readonly [NonNullable<Status>, string])[] = [
  ['failed', 'Failed'],
  ['paused', 'Paused'],
  ['processing', 'Processing'],
];

export function Page() {
  const { query } = useAddress();
  const status = (query.get('status') || undefined) as Status;
  const search = searchIn(query, MAX_CHARS);
  const jobs = useList('GET /admin/jobs', { status, search });
  return (
    <AdminPage>
      <search class="fields">
        <TextField
          label="Search"
          type="search"
          maxLength={MAX_CHARS}
          placeholder="The whole id of a job or a user, an address, a label"
          value={search ?? ''}
          onChange={(text) => setQuery({ search: text.trim(), offset: undefined }, { replace: true })}
        />
        {ONLY.map(([value, label]) => (
          <Check
            key={value}
            label={label}
            is_on={status === value}
            set={(is_on) => setQuery({ status: is_on ? value : undefined, offset: undefined })}
          />
        ))}
      </search>
      <List
        of={jobs}
        empty={<Empty title="No such jobs" />}
        caption="Jobs of all users"
        columns={COLUMNS}
        keyOf={({ job_id }) => job_id}
      />
    </AdminPage>
  );
}

const COLUMNS: readonly Column<Job>[] = [
  { label: 'Created', cell: (job) => <Time at={job.created_at} /> },
  {
    label: 'Job',
    cell: (job) => (
      <a href={to(`/admin/jobs/${job.job_id}`)}>
        <bdi>{job.label ?? job.filename ?? 'a list'}</bdi>
      </a>
    ),
  },
  {
    label: 'User',
    cell: (job) => <UserLink user_id={job.owner_id} email={job.owner_email} />,
  },
  { label: 'Status', cell: (job) => <JobStatus job={job} /> },
  { label: 'Progress', cell: (job) => <JobProgress job={job} /> },
  { label: 'URLs', is_number: true, cell: (job) => grouped(job.total_urls) },
];
