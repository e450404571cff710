// What changed since an earlier job of the same list: what broke, what healed, what moved. The earlier job is in the address.
import { useAnswer } from '../../api/use-answer.ts';
import { to, useAddress } from '../../app/address.ts';
import type { PageProps } from '../../app/page-props.ts';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Time } from '../../ui/time.tsx';
import { Comparison } from './comparison.tsx';
import { EarlierJobs } from './earlier-jobs.tsx';

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
