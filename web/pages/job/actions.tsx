// What the owner can do with a job. Each says what it does to the job's credits; what cannot be undone asks first.
import { useState } from 'preact/hooks';
import { ask, urlOf } from '../../api/ask.ts';
import { go, to, useAddress } from '../../app/address.ts';
import { useSession } from '../../app/session.tsx';
import { say, sayFailure } from '../../ui/actions.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Menu } from '../../ui/menu.tsx';
import { counted } from '../../ui/values.tsx';
import { filterIn } from './filters.tsx';
import { Shares } from './shares.tsx';
import type { Job } from './use-job.ts';

export function Actions({ job, onChange }: { job: Job; onChange(): void }) {
  const { job_id, status } = job;
  const [asked, setAsked] = useState<'cancel' | 'delete' | 'share' | null>(null);
  const { again } = useSession();
  const done = (text: string) => {
    say(text);
    onChange();
    again();
  };
  const close = () => setAsked(null);
  const unused = job.credits_allocated - job.credits_refunded - job.completed_urls;
  const is_over = job.completed_at !== null;
  const has_results = job.results_expired_at === null;

  const pause = () =>
    ask('POST /jobs/{job_id}/pause', { job_id }).then(() => done('Paused. Its credits stay reserved.'), sayFailure);
  const resume = () => ask('POST /jobs/{job_id}/resume', { job_id }).then(() => done('The job continues.'), sayFailure);
  return (
    <div class="actions">
      {status === 'processing' && (
        <button
          type="button"
          onClick={pause}
          title="URLs in flight are finished and counted. The credits stay reserved."
        >
          Pause
        </button>
      )}
      {status === 'paused' && (
        <button type="button" class="primary" onClick={resume} title="Reserves credits for the URLs that are left.">
          Resume
        </button>
      )}
      {has_results && <Export job_id={job_id} />}
      {has_results && (
        <button type="button" onClick={() => setAsked('share')}>
          Share
        </button>
      )}
      {is_over && has_results && (
        <a class="button" href={to(`/jobs/${job_id}/changes`)}>
          Compare
        </a>
      )}
      {!is_over && (
        <button type="button" onClick={() => setAsked('cancel')}>
          Cancel
        </button>
      )}
      {is_over && (
        <button type="button" class="danger" onClick={() => setAsked('delete')}>
          Delete
        </button>
      )}
      {asked === 'share' && <Shares job_id={job_id} onClose={close} />}
      {asked === 'cancel' && (
        <Confirm
          title="Cancel this job?"
          action="Cancel the job"
          onClose={close}
          onConfirm={async () => {
            await ask('POST /jobs/{job_id}/cancel', { job_id });
            done('The job is cancelled.');
          }}
        >
          <p>
            Checking stops for good within a second. Results stay, and you get about{' '}
            {counted(Math.max(0, unused), 'credit')} back.
          </p>
        </Confirm>
      )}
      {asked === 'delete' && (
        <Confirm
          title="Delete this job?"
          action="Delete for good"
          is_dangerous
          onClose={close}
          onConfirm={async () => {
            await ask('DELETE /jobs/{job_id}', { job_id });
            say('The job is deleted.');
            again();
            go(to('/jobs'));
          }}
        >
          <p>
            Its URLs, results, shares and its file are erased and cannot be brought back.
            {status === 'failed' && ' Unused credits come back to you.'}
          </p>
        </Confirm>
      )}
    </div>
  );
}

/** Exports exactly the results that the table shows: the filters are those of the address. */
function Export({ job_id }: { job_id: string }) {
  const { query } = useAddress();
  const filter = filterIn(query);
  const is_filtered = Object.values(filter).some((value) => value !== undefined);
  const href = (format: 'csv' | 'xlsx', original?: true) =>
    urlOf('GET /jobs/{job_id}/export', { job_id, format, ...filter, original });
  return (
    <Menu label="Export">
      <small>{is_filtered ? 'The filtered results' : 'All results'}</small>
      <a href={href('csv')} download>
        CSV
      </a>
      <a href={href('xlsx')} download>
        Excel
      </a>
      <a href={href('csv', true)} download>
        Your own table with the results, CSV
      </a>
      <a href={href('xlsx', true)} download>
        Your own table with the results, Excel
      </a>
    </Menu>
  );
}
