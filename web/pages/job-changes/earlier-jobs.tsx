// The jobs that a job can be compared with: those of a list of the same name that began earlier and have ended.
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/ask.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { to, useAddress } from '../../app/address.ts';
import { useMe } from '../../app/session.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { JobStatus } from '../../ui/job-status.tsx';
import { grouped } from '../../ui/numbers.ts';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';

type Job = AnswerOf<'GET /jobs'>['items'][number];

/** The jobs that are looked through at once. */
const LIMIT = 200;

export function EarlierJobs({ job }: { job: Job }) {
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
