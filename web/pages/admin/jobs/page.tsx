// The jobs of all users, the newest first: those that failed or wait, and those of somebody.
import type { AnswerOf, Given } from '../../../api/ask.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { setQuery, to, useAddress } from '../../../app/address.ts';
import { Check } from '../../../ui/check.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { TextField } from '../../../ui/field.tsx';
import { JobProgress, JobStatus } from '../../../ui/job-status.tsx';
import { List } from '../../../ui/list.tsx';
import { grouped } from '../../../ui/numbers.ts';
import { offsetIn } from '../../../ui/pager.tsx';
import { searchIn } from '../../../ui/search-field.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Time } from '../../../ui/time.tsx';
import { Areas } from '../areas.tsx';
import { userPath } from '../user-badges.tsx';

type Job = AnswerOf<'GET /admin/jobs'>['items'][number];
type Status = Given<'GET /admin/jobs'>['status'];

const LIMIT = 25;
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
  const jobs = useAnswer('GET /admin/jobs', { status, search, limit: LIMIT, offset: offsetIn(query) });
  return (
    <>
      <h1>Administration</h1>
      <Areas />
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
    </>
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
    cell: (job) => (
      <a href={to(userPath(job.owner_id))}>
        <bdi>{job.owner_email ?? job.owner_id}</bdi>
      </a>
    ),
  },
  { label: 'Status', cell: (job) => <JobStatus job={job} /> },
  { label: 'Progress', cell: (job) => <JobProgress job={job} /> },
  { label: 'URLs', is_number: true, cell: (job) => grouped(job.total_urls) },
];
