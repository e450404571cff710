// One job of any user: what became of it, and the ways to its owner and its attempts.
import { useAnswer } from '../../../api/ask.ts';
import { type PageProps, to } from '../../../app/address.ts';
import { Failure } from '../../../ui/failure.tsx';
import { JobProgress, JobStatus } from '../../../ui/job-status.tsx';
import { Time } from '../../../ui/values.tsx';
import { Areas } from '../areas.tsx';
import { UserLink } from '../badges.tsx';

export function Page({ params }: PageProps) {
  const job = useAnswer('GET /admin/jobs/{job_id}', { job_id: params.job_id! });
  return (
    <>
      <Areas />
      <a href={to('/admin/jobs')}>All jobs</a>
      <h1>Job</h1>
      <p class="facts">
        id <bdi>{params.job_id}</bdi>
      </p>
      <Failure of={job} />
      {job.value && (
        <>
          <p>
            <JobStatus job={job.value} /> <JobProgress job={job.value} />
          </p>
          <p class="facts">
            by <UserLink user_id={job.value.owner_id} email={job.value.owner_email} />, created{' '}
            <Time at={job.value.created_at} />
          </p>
          <a href={to('/admin/logs', { job_id: job.value.job_id })}>Its attempts in the worker log</a>
        </>
      )}
    </>
  );
}
