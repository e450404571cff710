// The list of your jobs, the newest first.
import { type AnswerOf, useEvery } from '../../api/ask.ts';
import { setQuery, to, useAddress } from '../../app/address.ts';
import { useMe } from '../../app/session.tsx';
import { Empty } from '../../ui/failure.tsx';
import { Filters } from '../../ui/filters.tsx';
import { JobProgress, JobStatus } from '../../ui/job-status.tsx';
import { namesOf } from '../../ui/names.ts';
import { type Column, List, useList } from '../../ui/table.tsx';
import { grouped, Time } from '../../ui/values.tsx';

type Job = AnswerOf<'GET /jobs'>['items'][number];

const AGAIN_MS = 5000;
const STATUSES = namesOf<Job['status']>({ processing: 1, paused: 1, completed: 1, cancelled: 1, failed: 1 });

const COLUMNS: readonly Column<Job>[] = [
  {
    label: 'Job',
    cell: (job) => (
      <a href={to(`/jobs/${job.job_id}`)}>
        <bdi>{job.filename ?? 'List by a program'}</bdi>
      </a>
    ),
  },
  { label: 'Created', cell: (job) => <Time at={job.created_at} /> },
  { label: 'Status', cell: (job) => <JobStatus job={job} /> },
  { label: 'Progress', cell: (job) => <JobProgress job={job} /> },
  { label: 'URLs', is_number: true, cell: (job) => grouped(job.total_urls) },
  { label: 'Credits', is_number: true, cell: (job) => grouped(job.credits_allocated - job.credits_refunded) },
  { label: 'Ended', cell: (job) => <Time at={job.completed_at} /> },
];

export function Page() {
  const { query } = useAddress();
  const me = useMe();
  const status = STATUSES.find((name) => name === query.get('status'));
  const jobs = useList('GET /jobs', { email: me.email ?? me.user_id, status });
  useEvery(AGAIN_MS, jobs);
  return (
    <>
      <header class="title">
        <h1>Jobs</h1>
        <a class="button primary" href={to('/jobs/new')}>
          New job
        </a>
      </header>
      <Filters
        label="Status"
        choices={[undefined, ...STATUSES]}
        chosen={status}
        hrefOf={(name) => to('/jobs', { status: name })}
        textOf={(name) => name ?? 'all'}
      />
      <List
        of={jobs}
        empty={<NoJobs is_filtered={status !== undefined} />}
        caption="Your jobs"
        columns={COLUMNS}
        keyOf={(job) => job.job_id}
      />
    </>
  );
}

function NoJobs({ is_filtered }: { is_filtered: boolean }) {
  if (is_filtered) {
    return (
      <Empty title="No job has this status">
        <button type="button" onClick={() => setQuery({ status: undefined, offset: undefined })}>
          Show all jobs
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="You have no jobs yet">
      <p>Drop a spreadsheet or paste a list of URLs; you see what it costs before anything is checked.</p>
      <a class="button primary" href={to('/jobs/new')}>
        Check your first list
      </a>
    </Empty>
  );
}
