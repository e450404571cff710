// Public links to a job's results: make one, copy it, revoke it.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer } from '../../api/ask.ts';
import { useAction } from '../../ui/actions.tsx';
import { Confirm, Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Failure, Refusal } from '../../ui/failure.tsx';
import { Form, SelectField } from '../../ui/form.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { counted, Time } from '../../ui/values.tsx';

const LIFETIMES = [
  { hours: 24, label: 'a day' },
  { hours: 168, label: 'a week' },
  { hours: 720, label: '30 days' },
  { hours: undefined, label: 'until you revoke it' },
];

export function Shares({ job_id, onClose }: { job_id: string; onClose(): void }) {
  const shares = useAnswer('GET /jobs/{job_id}/shares', { job_id });
  const [lifetime, setLifetime] = useState(1);
  const [made, setMade] = useState<string | null>(null);
  const share = useAction(async () => {
    const expires_in_hours = LIFETIMES[lifetime]!.hours;
    setMade((await ask('POST /jobs/{job_id}/share', { job_id, expires_in_hours })).url);
    shares.again();
  });
  return (
    <Dialog title="Share the results" onClose={onClose}>
      <p>Whoever has the link sees the results, without an account. They see neither your name nor your credits.</p>
      {made === null ? (
        <Form class="fields" onSubmit={share.run}>
          <SelectField
            label="The link works for"
            value={lifetime}
            options={LIFETIMES.map(({ label }, value) => ({ value, label }))}
            onChange={(chosen) => setLifetime(Number(chosen))}
          />
          <button type="submit" class="primary" disabled={share.is_running}>
            Make a link
          </button>
        </Form>
      ) : (
        <ShownOnce label="The link" hint="It is shown this once: the service keeps no links." value={made} />
      )}
      <Refusal error={share.error} />
      <Failure of={shares} />
      <ul class="rows">
        {shares.value?.items.map((one) => (
          <Share key={one.id} share={one} job_id={job_id} onRevoked={shares.again} />
        ))}
      </ul>
      <DialogFooter onClose={onClose} />
    </Dialog>
  );
}

type ShareView = AnswerOf<'GET /jobs/{job_id}/shares'>['items'][number];

function Share({ share, job_id, onRevoked }: { share: ShareView; job_id: string; onRevoked(): void }) {
  const { id, status, created_at, expires_at, use_count } = share;
  const [is_asked, setAsked] = useState(false);
  return (
    <li>
      <span>
        Made <Time at={created_at} />, {counted(use_count, 'view')}
        {status === 'active' && expires_at && (
          <>
            , until <Time at={expires_at} />
          </>
        )}
      </span>
      {status === 'active' ? (
        <button type="button" onClick={() => setAsked(true)}>
          Revoke
        </button>
      ) : (
        <small>{status}</small>
      )}
      {is_asked && (
        <Confirm
          title="Revoke this link?"
          action="Revoke the link"
          is_dangerous
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await ask('DELETE /jobs/{job_id}/share/{token}', { job_id, token: id });
            onRevoked();
          }}
        >
          <p>Whoever has it sees nothing from now on. A revoked link cannot be brought back; you can make another.</p>
        </Confirm>
      )}
    </li>
  );
}
