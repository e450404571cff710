// Deleting entries of the worker log for good: one, those that pass the filters, or all.
import { useState } from 'preact/hooks';
import { ask } from '../../../api/ask.ts';
import { useAddress } from '../../../app/address.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { TextField } from '../../../ui/field.tsx';
import { counted } from '../../../ui/numbers.ts';
import { say } from '../../../ui/toasts.tsx';
import type { Entry } from './entry.ts';
import { filterIn } from './filters.tsx';

interface DeleteProps {
  onClose(): void;
  onDone(): void;
}

export function DeleteOne({ entry: { url, log_id }, onClose, onDone }: DeleteProps & { entry: Entry }) {
  return (
    <Confirm
      title="Delete this entry?"
      action="Delete it"
      is_dangerous
      onClose={onClose}
      onConfirm={async () => {
        await ask('DELETE /logs/{log_id}', { log_id });
        say('The entry is deleted.');
        onDone();
      }}
    >
      <p>
        The attempt at <bdi>{url ?? 'a URL'}</bdi> leaves the log for good. The job's results stay.
      </p>
    </Confirm>
  );
}

/** The age counts beside the filters that a deletion takes; without any, all entries are deleted. */
export function DeleteMany({ onClose, onDone }: DeleteProps) {
  const { query } = useAddress();
  const { job_id, domain, non_2xx } = filterIn(query);
  const [hours, setHours] = useState('');
  const older_than_hours = hours === '' ? undefined : Number(hours);
  const taken = [
    job_id && `of the job ${job_id}`,
    domain && `of the domain ${domain}`,
    non_2xx && 'without a 2xx',
    older_than_hours !== undefined && `older than ${counted(older_than_hours, 'hour')}`,
  ].filter(Boolean);
  return (
    <Confirm
      title="Delete entries?"
      action={taken.length > 0 ? 'Delete these' : 'Delete all'}
      is_dangerous
      onClose={onClose}
      onConfirm={async () => {
        const { deleted } =
          taken.length > 0
            ? await ask('DELETE /logs', { job_id, domain, non_2xx, older_than_hours })
            : await ask('POST /logs/truncate', {});
        say(`${counted(deleted, 'entry is', 'entries are')} deleted.`);
        onDone();
      }}
    >
      <p>
        All entries <bdi>{taken.join(', ')}</bdi> leave the log for good. The results of jobs stay.
      </p>
      <TextField
        label="Only those older than"
        hint="Hours. The filters of domain, job and 2xx count too; others do not."
        type="number"
        min={0}
        max={1_000_000}
        step={1}
        value={hours}
        onInput={setHours}
      />
    </Confirm>
  );
}
