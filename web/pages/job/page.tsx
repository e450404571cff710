// A job: how far it is, what was found, and every result. It follows the job while it works.
import { useAnswer } from '../../api/use-answer.ts';
import type { PageProps } from '../../app/page-props.ts';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { JobStatus } from '../../ui/job-status.tsx';
import { Time } from '../../ui/time.tsx';
import { Actions } from './actions.tsx';
import { Figures } from './figures.tsx';
import { Progress } from './progress.tsx';
import { Results } from './results.tsx';
import { useJob } from './use-job.ts';

export function Page({ params }: PageProps) {
  const job_id = params.job_id!;
  const { job, is_deleted, is_lost, speed } = useJob(job_id);
  // The figures follow the job, not each of its events.
  const stats = useAnswer('GET /jobs/{job_id}/stats', { job_id }, speed.seen);
  if (is_deleted) return <Empty title="This job was deleted" is_page />;
  if (!job.value) return <Failure of={job} title="Job" />;
  const { value } = job;
  return (
    <>
      <header class="title">
        <h1>
          <bdi>{value.filename ?? 'Job'}</bdi>
        </h1>
        <JobStatus job={value} />
        <small>
          <Time at={value.created_at} />
        </small>
        <Actions job={value} onChange={job.again} />
      </header>
      <Failure of={job} />
      {is_lost && !job.error && (
        <p class="notice" role="status">
          The service does not say how the job goes on: what you see is not current. Trying again …
        </p>
      )}
      <Progress job={value} speed={speed} />
      <Failure of={stats} />
      {stats.value && <Figures stats={stats.value} />}
      {value.results_expired_at === null ? (
        <Results job={value} version={speed.seen} />
      ) : (
        <Empty title="The results are no longer there">
          <p>
            The service keeps results for a limited time. It removed these, with the list of URLs and the uploaded file,
            on <Time at={value.results_expired_at} />. The figures above stay. Check the list again for new results.
          </p>
        </Empty>
      )}
    </>
  );
}
