// What changed since an earlier job of the same list: what broke, what healed, what moved. The earlier job is in the address.

import { useState } from 'preact/hooks';
import { type AnswerOf, useAnswer } from '../../api/ask.ts';
import { type PageProps, to, useAddress } from '../../app/address.ts';
import { useMe } from '../../app/session.tsx';
import { Empty, Failure } from '../../ui/failure.tsx';
import { JobStatus } from '../../ui/job-status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { grouped, Time } from '../../ui/values.tsx';
import { Comparison } from './comparison.tsx';

export function Page({ params }: PageProps) {
  const job_id = params.job_id!;
  const since = useAddress().query.get('since');
  const job = useAnswer('GET /jobs/{job_id}', { job_id });
  if (!job.value) return <Failure of={job} title="Changes" />;
  const { filename, created_at, completed_at } = job.value;
  return (
    <>
      <header class="title">
        <h1>
          Changes in <bdi>{filename ?? 'a list'}</bdi>
        </h1>
        <small>
          checked <Time at={created_at} />
        </small>
        <a class="button" href={to(`/jobs/${job_id}`)}>
          The job
        </a>
      </header>
      <Failure of={job} />
      {completed_at === null ? (
        <Empty title="This job has not ended">
          <p>Its results can be compared with an earlier job's when all are there.</p>
          <button type="button" onClick={job.again}>
            Look again
          </button>
        </Empty>
      ) : since === null ? (
        <EarlierJobs job={job.value} />
      ) : (
        <Comparison key={since} job={job.value} since={since} />
      )}
    </>
  );
}

// The jobs that a job can be compared with: those of a list of the same name that began earlier and have ended.
type Job = AnswerOf<'GET /jobs'>['items'][number];

/** The jobs that are looked through at once. */
const LIMIT = 200;

function EarlierJobs({ job }: { job: Job }) {
  const { path } = useAddress();
  const me = useMe();
  const [offset, setOffset] = useState(0);
  const jobs = useAnswer('GET /jobs', { email: me.email ?? me.user_id, limit: LIMIT, offset });
  if (!jobs.value) return <Failure of={jobs} />;
  const { items, total } = jobs.value;
  const found = items.filter((one) => isEarlier(one, job));
  const columns: readonly Column<Job>[] = [
    {
      label: 'Compare with',
      cell: (one) => (
        <a href={to(path, { since: one.job_id })}>
          <Time at={one.created_at} />
        </a>
      ),
    },
    { label: 'Status', cell: (one) => <JobStatus job={one} /> },
    { label: 'URLs checked', is_number: true, cell: (one) => grouped(one.completed_urls) },
  ];
  const further = offset + LIMIT < total && (
    <button type="button" disabled={jobs.is_waiting} onClick={() => setOffset(offset + LIMIT)}>
      Look further back
    </button>
  );
  return (
    <>
      <Failure of={jobs} />
      {found.length > 0 ? (
        <>
          <p>Earlier jobs of the same list. Response times are not compared.</p>
          <Table caption="Earlier jobs of the same list" columns={columns} items={found} keyOf={(one) => one.job_id} />
          {further}
        </>
      ) : (
        <Empty
          title={further ? 'None of your latest jobs is an earlier one of this list' : 'No earlier job of this list'}
        >
          <p>A list is known by the name of its file. Check the same file again, and this page shows what changed.</p>
          {further}
        </Empty>
      )}
    </>
  );
}

const isEarlier = (one: Job, job: Job): boolean =>
  one.filename === job.filename && one.created_at < job.created_at && one.completed_at !== null;
