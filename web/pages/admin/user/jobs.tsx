// A user's jobs. The page of a job is its owner's alone, so that a job leads to its attempts in the worker log. A failed one is run again,
// and an uploaded file fetched, from here.
import { useState } from 'preact/hooks';
import { ask } from '../../../api/ask.ts';
import { to } from '../../../app/address.ts';
import { say, sayFailure } from '../../../ui/actions.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { JobProgress, JobStatus } from '../../../ui/job-status.tsx';
import { type Column, TableSection } from '../../../ui/table.tsx';
import { grouped, Time } from '../../../ui/values.tsx';
import type { User } from './user.ts';

type Job = User['jobs'][number];

export function Jobs({ jobs, onChange }: { jobs: readonly Job[]; onChange(): void }) {
  const [asked, setAsked] = useState<Job | null>(null);
  return (
    <>
      <TableSection
        title="Jobs"
        none="No jobs."
        columns={columnsOf(setAsked)}
        items={jobs}
        keyOf={(job) => job.job_id}
      />
      {asked && <RunAgain job={asked} onClose={() => setAsked(null)} onDone={onChange} />}
    </>
  );
}

function RunAgain({ job, onClose, onDone }: { job: Job; onClose(): void; onDone(): void }) {
  return (
    <Confirm
      title="Run this job again?"
      action="Run it again"
      onClose={onClose}
      onConfirm={async () => {
        await ask('POST /admin/jobs/{job_id}/rerun', { job_id: job.job_id });
        say('A new job runs in its place.');
        onDone();
      }}
    >
      <p>
        A new job checks <bdi>{job.filename ?? 'the list'}</bdi> with the user's credits and today's blocklist, and the
        user gets a mail. The failed job stays; deleting it returns its unused credits.
      </p>
    </Confirm>
  );
}

const fetchFile = ({ job_id }: Job) =>
  ask('GET /admin/jobs/{job_id}/input-csv', { job_id }).then(({ url }) => location.assign(url), sayFailure);

const columnsOf = (runAgain: (job: Job) => void): readonly Column<Job>[] => [
  { label: 'Created', cell: (job) => <Time at={job.created_at} /> },
  {
    label: 'Job',
    cell: (job) => (
      <a href={to('/admin/logs', { job_id: job.job_id })}>
        <bdi>{job.filename ?? 'a pasted list'}</bdi>
      </a>
    ),
  },
  { label: 'Status', cell: (job) => <JobStatus job={job} /> },
  { label: 'Progress', cell: (job) => <JobProgress job={job} /> },
  { label: 'URLs', is_number: true, cell: (job) => grouped(job.total_urls) },
  {
    label: 'Actions',
    cell: (job) => (
      <span class="actions">
        {job.filename !== null && (
          <button type="button" aria-label={`Get the file ${job.filename}`} onClick={() => fetchFile(job)}>
            File
          </button>
        )}
        {job.status === 'failed' && (
          <button type="button" onClick={() => runAgain(job)}>
            Run again
          </button>
        )}
      </span>
    ),
  },
];
