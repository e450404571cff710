// Maintenance mode and backups: what an administrator turns on and makes before a risky change.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer, useEvery } from '../../../api/ask.ts';
import { say, useAction } from '../../../ui/actions.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Empty, Failure, Refusal } from '../../../ui/failure.tsx';
import { TextField } from '../../../ui/form.tsx';
import { type Column, List, useList } from '../../../ui/table.tsx';
import { bytes, counted, grouped, span, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';

export function Page() {
  return (
    <AdminPage>
      <Mode />
      <Backups />
    </AdminPage>
  );
}

function Mode() {
  const mode = useAnswer('GET /admin/maintenance', {});
  return (
    <section class="card" aria-label="Maintenance mode">
      <Failure of={mode} />
      {mode.value &&
        (mode.value.enabled ? <On mode={mode.value} onChange={mode.again} /> : <Off onChange={mode.again} />)}
    </section>
  );
}

function On({ mode, onChange }: { mode: AnswerOf<'GET /admin/maintenance'>; onChange(): void }) {
  const end = useAction(async () => {
    await ask('POST /admin/maintenance', { enabled: false });
    say('Maintenance mode is off.');
    onChange();
  });
  return (
    <>
      <header>
        <h2>
          Maintenance mode <span class="badge is-paused">on</span>
        </h2>
        <button type="button" class="primary" disabled={end.is_running} onClick={end.run}>
          Turn it off
        </button>
      </header>
      <p>
        Since <Time at={mode.started_at} />, users who change anything are told: <bdi>{mode.message}</bdi>
      </p>
      <Refusal error={end.error} />
    </>
  );
}

function Off({ onChange }: { onChange(): void }) {
  const [is_asked, setAsked] = useState(false);
  const [message, setMessage] = useState('');
  return (
    <>
      <header>
        <h2>
          Maintenance mode <span class="badge">off</span>
        </h2>
        <button type="button" onClick={() => setAsked(true)}>
          Turn it on
        </button>
      </header>
      <p>While it is on, users read but change nothing; running jobs and administrators go on.</p>
      {is_asked && (
        <Confirm
          title="Turn maintenance mode on?"
          action="Turn it on"
          is_dangerous
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await ask('POST /admin/maintenance', { enabled: true, message: message.trim() || undefined });
            say('Maintenance mode is on.');
            onChange();
          }}
        >
          <p>Within a second, no user can begin a job or change anything else. Reading and running jobs continue.</p>
          <TextField
            label="What users are told"
            hint="Empty: a sentence of the service."
            maxLength={500}
            value={message}
            onInput={setMessage}
          />
        </Confirm>
      )}
    </>
  );
}

type Backup = AnswerOf<'GET /admin/backups'>['items'][number];

const WAIT_MS = 2000;

function Backups() {
  const backups = useList('GET /admin/backups', {});
  useEvery(WAIT_MS, backups);
  const start = useAction(async () => {
    await ask('POST /admin/backups', {});
    say('The backup is being written.');
    backups.again();
  });
  return (
    <section class="section">
      <header class="title">
        <h2>Backups</h2>
        <button type="button" disabled={start.is_running} onClick={start.run}>
          Make a backup
        </button>
      </header>
      <Refusal error={start.error} />
      <List
        of={backups}
        empty={
          <Empty title="There is no backup yet">
            <p>A backup has the whole log and the stored files. Copy it to another machine.</p>
          </Empty>
        }
        caption="Backups"
        columns={COLUMNS}
        keyOf={({ backup_id }) => backup_id}
      />
    </section>
  );
}

const COLUMNS: readonly Column<Backup>[] = [
  { label: 'Started', cell: ({ started_at }) => <Time at={started_at} /> },
  {
    label: 'State',
    cell: ({ status, failure, progress }) => (
      <>
        <span class={`badge is-${status}`}>{status}</span>{' '}
        <small>
          {failure?.message}
          {progress && `${counted(progress.events, 'event')} so far`}
        </small>
      </>
    ),
  },
  { label: 'Took', is_number: true, cell: ({ duration_ms }) => span(duration_ms) },
  { label: 'Events', is_number: true, cell: ({ events }) => grouped(events) },
  {
    label: 'Files',
    is_number: true,
    cell: ({ files, missing_files }) =>
      `${grouped(files)}${missing_files ? `, ${grouped(missing_files)} missing` : ''}`,
  },
  { label: 'Rehearsed', cell: ({ rehearsed_at }) => (rehearsed_at === null ? '–' : <Time at={rehearsed_at} />) },
  { label: 'Size', is_number: true, cell: ({ size_bytes }) => bytes(size_bytes) },
  { label: 'File', cell: ({ key }) => <small>{key ?? '–'}</small> },
];
