// What the service consists of now: what works, what waits, what lags, and its read models, which can be rebuilt.
import { type AnswerOf, useAnswer, useEvery } from '../../../api/ask.ts';
import { Failure } from '../../../ui/failure.tsx';
import { Figure, Figures } from '../../../ui/figures.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { grouped, span, Time } from '../../../ui/values.tsx';
import { AdminPage } from '../areas.tsx';
import { words } from '../trail.tsx';
import { Projections } from './projections.tsx';

type Services = AnswerOf<'GET /admin/services'>;

const WAIT_MS = 2000;

export function Page() {
  const services = useAnswer('GET /admin/services', {});
  useEvery(WAIT_MS, services);
  return (
    <AdminPage>
      <Failure of={services} />
      {services.value && <Shown services={services.value} />}
      <Projections />
    </AdminPage>
  );
}

function Shown({ services }: { services: Services }) {
  const { status, failed, version, uptime_seconds, at, dependencies, certificates, managers, processes } = services;
  return (
    <>
      <section class="card" aria-label="The service">
        <header>
          <h2>
            The service <span class={`badge is-${status}`}>{status}</span>
          </h2>
          <small>
            version {version}, running for {span(uptime_seconds * 1000)}, seen <Time at={at} />
          </small>
        </header>
        {failed.map(({ check, reason }) => (
          <p key={check} class="is-error">
            {check}: {reason}
          </p>
        ))}
        <Work services={services} />
      </section>
      <section class="section">
        <h2>Stores and senders</h2>
        <Table caption="Stores and senders" columns={DEPENDENCIES} items={dependencies} keyOf={({ name }) => name} />
      </section>
      {certificates.length > 0 && (
        <section class="section">
          <h2>Certificates</h2>
          <Table caption="Certificates" columns={CERTIFICATES} items={certificates} keyOf={({ of }) => of} />
        </section>
      )}
      <section class="section">
        <h2>Process managers</h2>
        <Table caption="Process managers" columns={MANAGERS} items={managers} keyOf={({ name }) => name} />
      </section>
      <section class="section">
        <h2>Processes</h2>
        <Table
          caption="Processes"
          columns={PROCESSES}
          items={processes}
          keyOf={({ role, machine, pid }) => `${role} ${machine} ${pid}`}
        />
      </section>
    </>
  );
}

function Work({ services: { work, ledger_audit } }: { services: Services }) {
  return (
    <Figures>
      <Figure label="Waiting in the queue">{grouped(work?.queue_depth ?? null)}</Figure>
      <Figure label="Jobs being checked">{grouped(work?.jobs ?? null)}</Figure>
      <Figure label="Batches in flight">{grouped(work?.batches_in_flight ?? null)}</Figure>
      <Figure label="URLs in flight">{grouped(work?.urls_in_flight ?? null)}</Figure>
      <Figure label="Oldest batch">{work?.oldest_batch ? span(work.oldest_batch.age_seconds * 1000) : '–'}</Figure>
      {ledger_audit && (
        <Figure
          label="Faults in the ledger"
          note={`of ${grouped(ledger_audit.entries)} entries`}
          is_error={ledger_audit.violations > 0}
        >
          {grouped(ledger_audit.violations)}
        </Figure>
      )}
    </Figures>
  );
}

const DEPENDENCIES: readonly Column<Services['dependencies'][number]>[] = [
  { label: 'Name', cell: ({ name }) => words(name) },
  { label: 'Kind', cell: ({ kind }) => kind },
  {
    label: 'State',
    cell: ({ status, reason }) => (
      <>
        <span class={`badge is-${status}`}>{status}</span> {reason && <small>{reason}</small>}
      </>
    ),
  },
  {
    label: 'Answers after',
    is_number: true,
    cell: ({ latency_ms }) => (latency_ms === null ? '–' : `${latency_ms.toFixed(1)} ms`),
  },
  { label: 'Since', cell: ({ since }) => <Time at={since} /> },
];

const CERTIFICATES: readonly Column<Services['certificates'][number]>[] = [
  { label: 'Of', cell: ({ of }) => (of === of.toUpperCase() ? <code>{of}</code> : words(of)) },
  { label: 'Ends', cell: ({ ends_at }) => <Time at={ends_at} /> },
];

const MANAGERS: readonly Column<Services['managers'][number]>[] = [
  { label: 'Name', cell: ({ name }) => name },
  {
    label: 'State',
    cell: ({ status, trouble }) => (
      <>
        <span class={`badge is-${status}`}>{words(status)}</span> {trouble && <small>{trouble}</small>}
      </>
    ),
  },
  { label: 'Failures', is_number: true, cell: ({ failures }) => grouped(failures) },
  { label: 'Put off', is_number: true, cell: ({ put_off }) => grouped(put_off) },
  {
    label: 'Oldest work',
    is_number: true,
    cell: ({ oldest_pending_seconds }) => (oldest_pending_seconds === 0 ? '–' : span(oldest_pending_seconds * 1000)),
  },
];

const PROCESSES: readonly Column<Services['processes'][number]>[] = [
  { label: 'Role', cell: ({ role }) => role },
  {
    label: 'State',
    cell: ({ state, reason }) => (
      <>
        <span class={`badge is-${state}`}>{words(state)}</span> {reason && <small>{reason}</small>}
      </>
    ),
  },
  { label: 'Machine', cell: ({ machine, pid }) => `${machine}${pid === null ? '' : `, process ${pid}`}` },
  { label: 'Version', cell: ({ version }) => version ?? '–' },
  {
    label: 'Running for',
    is_number: true,
    cell: ({ uptime_seconds }) => (uptime_seconds === null ? '–' : span(uptime_seconds * 1000)),
  },
];
