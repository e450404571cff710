// The read models: how far each is behind the log, and making one anew while it is read.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer, useEvery } from '../../../api/ask.ts';
import { say } from '../../../ui/actions.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Failure } from '../../../ui/failure.tsx';
import { Check } from '../../../ui/form.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { counted, grouped, percent, span } from '../../../ui/values.tsx';

type Answered = AnswerOf<'GET /admin/projections'>;
type Projection = Answered['items'][number];

const WAIT_MS = 2000;

export function Projections() {
  const projections = useAnswer('GET /admin/projections', {});
  useEvery(WAIT_MS, projections);
  const [asked, setAsked] = useState<string | null>(null);
  return (
    <section class="section">
      <h2>Read models</h2>
      <Failure of={projections} />
      {projections.value && (
        <Table
          caption="Read models"
          columns={columnsOf(projections.value.log_position, setAsked)}
          items={projections.value.items}
          keyOf={({ projection }) => projection}
        />
      )}
      {asked !== null && <Rebuild projection={asked} onClose={() => setAsked(null)} onAsked={projections.again} />}
    </section>
  );
}

function columnsOf(log_position: string, rebuild: (projection: string) => void): readonly Column<Projection>[] {
  return [
    { label: 'Name', cell: ({ projection }) => projection.replaceAll('_', ' ') },
    { label: 'Version', is_number: true, cell: ({ version }) => version },
    {
      label: 'Behind by',
      is_number: true,
      cell: ({ lag_events, lag_seconds }) =>
        lag_events === null
          ? '–'
          : lag_events === 0
            ? 'nothing'
            : `${counted(lag_events, 'event')}, ${span((lag_seconds ?? 0) * 1000)}`,
    },
    {
      label: 'Parked',
      is_number: true,
      cell: ({ parked_events }) => (
        <span class={parked_events > 0 ? 'is-error' : ''} title="Events that it could not apply">
          {grouped(parked_events)}
        </span>
      ),
    },
    { label: 'Last comparison', cell: ({ verified }) => <Verified verified={verified} /> },
    {
      label: 'Rebuild',
      cell: (item) =>
        item.rebuild === 'none' || item.rebuild === 'failed' ? (
          <>
            {item.failure !== null && <span title={item.failure}>failed </span>}
            <button type="button" aria-label={`Rebuild ${item.projection}`} onClick={() => rebuild(item.projection)}>
              Rebuild
            </button>
          </>
        ) : (
          <Building projection={item} log_position={log_position} />
        ),
    },
  ];
}

function Verified({ verified }: Pick<Projection, 'verified'>) {
  if (!verified) return <>–</>;
  const { documents, differing } = verified;
  if (differing === 0) return <>{counted(documents, 'document')}, all equal</>;
  return (
    <span class="is-error">
      {grouped(differing)} of {counted(documents, 'document')} differ
    </span>
  );
}

function Building({
  projection: { projection, rebuild, building },
  log_position,
}: {
  projection: Projection;
  log_position: string;
}) {
  if (!building) return <span class={`badge is-${rebuild}`}>{rebuild}</span>;
  // Positions are numbers that grow with the log.
  const done = Number(building.position) || 0;
  const whole = Math.max(Number(log_position) || 0, done, 1);
  return (
    <span class="progress">
      <progress value={done} max={whole} aria-label={`Rebuilding ${projection}`} />
      {percent(done, whole)}
    </span>
  );
}

function Rebuild({ projection, onClose, onAsked }: { projection: string; onClose(): void; onAsked(): void }) {
  const [verify, setVerify] = useState(true);
  return (
    <Confirm
      title={`Rebuild ${projection.replaceAll('_', ' ')}?`}
      action="Rebuild it"
      onClose={onClose}
      onConfirm={async () => {
        await ask('POST /admin/projections/{projection}/rebuild', { projection, verify });
        say('The rebuild is asked for.');
        onAsked();
      }}
    >
      <p>
        Its documents are rebuilt from the log beside those that are read, and take their place at the end. Reading
        continues; on a long log it takes minutes and a processor.
      </p>
      <Check label="Compare each document with the one that it replaces" is_on={verify} set={setVerify} />
    </Confirm>
  );
}
