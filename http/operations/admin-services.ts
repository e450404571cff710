// The administrators' route for the live state of the service.
import { Nullable, Type } from '../../events/schema.ts';
import { type ManagerSign, troubleOf } from '../../roles/managers.ts';
import { certificatesOf, SILENT_MS } from '../../roles/role-signs.ts';
import { VERSION } from '../../roles/version.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { routeOf } from '../frame/route.ts';
import { Count, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { type FollowerStatus, MOST_COUNTED } from '../server/followers.ts';
import { MaintenanceView, maintenanceExample, maintenanceView } from './admin-maintenance.ts';
import type { ServiceStatus } from './service-status.ts';

const wire = ({ status, maintenance, now }: Parts) => ({ status, maintenance, now });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'administration');

const Duration = (description: string) => Nullable(Type.Number({ minimum: 0, description }));

const Dependency = Type.Object({
  name: Type.String({
    description:
      '`event_log`, `documents`, `queue`, `files`, `mail`, `payments`, `identity_provider`, `ledger_signer`, `ledger_witness`.',
  }),
  kind: Type.String({ description: 'What it is: `sqlite`, `mongodb`, `nats`, `s3`, `smtp`, `openid`.' }),
  status: Type.Enum(['ok', 'away', 'unknown'], {
    description:
      '`away`: it answers none of the processes that use it, or not within 1.5 s, or it takes no mail. `unknown`: no process that uses it gives a heartbeat.',
  }),
  reason: Nullable(
    Type.String({
      description: 'Why it is away, where that is known: what the mail server or the identity provider said.',
    }),
  ),
  latency_ms: Duration('Of its last answer; null before the first one.'),
  since: Time('Since when it is so.'),
  seen_by: Count('Processes that use it and give a heartbeat.'),
  away_for: Count('Those of them that it does not answer.'),
});

const Process = Type.Object({
  role: Type.String(),
  machine: Type.String(),
  pid: Nullable(Type.Integer()),
  version: Nullable(Type.String()),
  state: Type.Enum(['working', 'standing_by', 'waiting', 'silent'], {
    description:
      '`standing_by`: another process does the work; `waiting`: it cannot work; `silent`: no heartbeat for 4 s.',
  }),
  reason: Nullable(Type.String({ description: 'Why it waits.' })),
  uptime_seconds: Duration('Since its start.'),
  heartbeat_seconds: Duration('Age of its last heartbeat; null when none came since this process began to watch.'),
});

const Manager = Type.Object({
  name: Type.String({ description: 'As in the metrics and the runbook: `mails`, `settlement`.' }),
  status: Type.Enum(['ok', 'failing', 'late', 'put_off'], {
    description:
      '`failing`: its passes fail. `late`: its oldest work waits for too long. `put_off`: single items fail, and others go on.',
  }),
  trouble: Nullable(Type.String({ description: 'What is wrong, as a sentence.' })),
  failures: Count('Failures since its process took the work over.'),
  put_off: Count('Items that failed, and will be tried again.'),
  oldest_pending_seconds: Type.Number({ minimum: 0, description: 'How long its oldest work waits.' }),
});

const Follower = Type.Object({
  follower: Type.String({ description: 'Who follows the log: `live` makes most read models, others make one each.' }),
  projection: Type.String(),
  version: Type.Integer(),
  state: Type.Enum(['live', 'building', 'failed'], {
    description: '`building`: rebuilt beside the one that is read. `failed`: that waits for an operator.',
  }),
  position: Type.String({ description: 'The position of the log up to which it has applied the events.' }),
  lag_events: Nullable(
    Count(`Events of the log after that position, of whatever type; ${MOST_COUNTED} stands for as many or more.`),
  ),
  lag_seconds: Duration('Age of the first of them.'),
  parked_events: Count('Events that it could not apply.'),
});

const Work = Type.Object({
  queue_depth: Nullable(Count('Messages that wait in the queue for a checker; null while it does not answer.')),
  jobs: Count('Jobs that are being checked.'),
  batches_in_flight: Count('Batches that were handed out and have no results yet.'),
  urls_in_flight: Count('The URLs of these batches.'),
  oldest_batch: Nullable(
    Type.Object({
      job_id: Type.String(),
      age_seconds: Type.Number({ minimum: 0, description: 'Since it was handed out.' }),
    }),
  ),
});

const Certificate = Type.Object({
  of: Type.String({
    description:
      'Whose it is: a dependency, `public_url`, or the setting that names its file, such as `NATS_CERT_FILE`.',
  }),
  ends_at: Time('Until when it holds.'),
});

const LedgerAudit = Type.Object(
  {
    violations: Count('All that it knows of.'),
    found: Type.Array(
      Type.Object({
        rule: Type.String({ description: 'As in the guide to the audit.' }),
        position: Nullable(Type.String({ description: 'Of the event in the log; null where none is to blame.' })),
        stream: Nullable(Type.String()),
        revision: Nullable(Type.Integer()),
        message: Type.String(),
      }),
      { description: 'The first ten.' },
    ),
    entries: Count('Ledger entries that were replayed.'),
    position: Type.String({ description: 'The log was audited up to here.' }),
    began_at: Time('When this audit of the whole ledger began.'),
    completed_at: Nullable(Time('When it last reached the end of the log; null before.')),
  },
  { description: 'The continuous audit of the ledger; null while no process runs it.' },
);

const services = route({
  id: 'getServices',
  method: 'GET',
  path: '/admin/services',
  access: 'admin',
  summary: 'Show what the service consists of now, what works, and what lags',
  description:
    'It answers within 2 s whatever is away. `failed` has the conditions of `/readyz` that do not hold; that gives a store 3 s before it ' +
    'counts as away, and a process 4 s.',
  responses: {
    200: {
      description: 'The state of the service as this process sees it.',
      schema: Type.Object({
        status: Type.Enum(['ok', 'unavailable'], { description: 'As in `/readyz`.' }),
        failed: Type.Array(Type.Object({ check: Type.String(), reason: Type.String() })),
        at: Time('When this was found.'),
        version: Type.String({ description: 'The version of the process that answers.' }),
        uptime_seconds: Type.Number({ minimum: 0, description: 'How long the process that answers has been running.' }),
        maintenance: MaintenanceView,
        dependencies: Type.Array(Dependency),
        processes: Type.Array(Process, { description: 'Each role of each process.' }),
        managers: Type.Array(Manager, {
          description: 'The process managers, which do what nobody waits for; empty while no process runs them.',
        }),
        log_position: Nullable(Type.String({ description: 'The end of the log; null while it does not answer.' })),
        followers: Nullable(
          Type.Array(Follower, { description: 'Null while the log or the store of documents does not answer.' }),
        ),
        work: Nullable(Work),
        certificates: Type.Array(Certificate, { description: 'Those that processes watch; the earliest end first.' }),
        ledger_audit: Nullable(LedgerAudit),
      }),
      example: {
        ...{ status: 'ok', failed: [], at: '2026-01-31T09:05:00.000Z', version: VERSION, uptime_seconds: 86_400 },
        maintenance: { ...maintenanceExample, enabled: false, message: null, started_at: null },
        dependencies: [
          {
            ...{ name: 'event_log', kind: 'eventstoredb', status: 'ok', reason: null, latency_ms: 1.2 },
            ...{ since: '2026-01-30T09:05:00.000Z', seen_by: 1, away_for: 0 },
          },
        ],
        processes: [
          {
            ...{ role: 'checker', machine: 'checker-1', pid: 7, version: VERSION, state: 'working', reason: null },
            ...{ uptime_seconds: 86_400, heartbeat_seconds: 0.6 },
          },
        ],
        managers: [
          {
            ...{ name: 'mails', status: 'put_off', trouble: 'mails: 1 failed and will be tried again' },
            ...{ failures: 4, put_off: 1, oldest_pending_seconds: 61.5 },
          },
        ],
        log_position: '0000000000184467',
        followers: [
          {
            ...{ follower: 'live', projection: 'jobs', version: 3, state: 'live', position: '0000000000184467' },
            ...{ lag_events: 0, lag_seconds: 0, parked_events: 0 },
          },
        ],
        work: {
          ...{ queue_depth: 12, jobs: 2, batches_in_flight: 40, urls_in_flight: 4000 },
          oldest_batch: { job_id: '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11', age_seconds: 3.4 },
        },
        certificates: [{ of: 'documents', ends_at: '2027-01-31T09:00:00.000Z' }],
        ledger_audit: {
          ...{ violations: 0, found: [], entries: 41_250, position: '0000000000184467' },
          ...{ began_at: '2026-01-31T00:00:00.000Z', completed_at: '2026-01-31T09:04:58.000Z' },
        },
      },
    },
  },
  async handler(_request, { status, maintenance, now }) {
    const found = await status();
    const failed = Object.entries(found.ready).flatMap(([check, reason]) =>
      reason === null ? [] : [{ check, reason }],
    );
    return {
      body: {
        ...{ status: failed.length === 0 ? 'ok' : 'unavailable', failed, at: timeOf(now()), version: VERSION },
        uptime_seconds: seconds(process.uptime() * 1000),
        maintenance: maintenanceView(maintenance.current),
        dependencies: found.dependencies.map(({ for_ms, reason = null, ...rest }) => ({
          ...{ ...rest, reason, since: timeOf(now() - for_ms) },
        })),
        processes: found.processes.map(processView),
        managers: managersIn(found).map(managerView),
        log_position: found.head,
        followers: found.followers?.map(followerView) ?? null,
        work: workView(found),
        certificates: certificatesOf(living(found)),
        ledger_audit: auditView(found),
      },
    };
  },
});

const timeOf = (at_ms: number) => new Date(at_ms).toISOString();
const seconds = (ms: number) => Math.round(ms / 100) / 10;

function processView({ sign, silent_ms }: ServiceStatus['processes'][number]) {
  const is_silent = silent_ms === null || silent_ms >= SILENT_MS;
  return {
    ...{ role: sign.role, machine: sign.machine, pid: sign.pid ?? null, version: sign.version ?? null },
    ...{ state: is_silent ? 'silent' : sign.state, reason: sign.reason },
    uptime_seconds: sign.uptime_ms === undefined ? null : seconds(sign.uptime_ms),
    heartbeat_seconds: silent_ms === null ? null : seconds(silent_ms),
  };
}

const followerView = ({ lag_ms, ...rest }: FollowerStatus) => ({
  ...rest,
  lag_seconds: lag_ms === null ? null : seconds(lag_ms),
});

const managersIn = ({ processes }: ServiceStatus): readonly ManagerSign[] =>
  processes.find(
    ({ sign, silent_ms }) =>
      sign.state !== 'standing_by' && sign.managers?.length && silent_ms !== null && silent_ms < SILENT_MS,
  )?.sign.managers ?? [];

function managerView(sign: ManagerSign) {
  const { name, failing_ms, put_off, failures, oldest_pending_ms } = sign;
  const trouble = troubleOf(sign);
  const wrong = failing_ms !== null ? 'failing' : put_off > 0 ? 'put_off' : 'late';
  const status = trouble === null ? 'ok' : wrong;
  return { name, status, trouble, failures, put_off, oldest_pending_seconds: seconds(oldest_pending_ms) };
}

const living = ({ processes }: ServiceStatus) =>
  processes.flatMap(({ sign, silent_ms }) => (silent_ms !== null && silent_ms < SILENT_MS ? [sign] : []));

/** What the process that hands out the work says of it; null while none does. */
function workView({ processes }: ServiceStatus) {
  const working = processes.find(
    ({ sign, silent_ms }) => sign.state === 'working' && sign.work && silent_ms !== null && silent_ms < SILENT_MS,
  );
  const work = working?.sign.work;
  if (!work) return null;
  const { jobs, batches, urls, oldest, queue_depth } = work;
  const oldest_batch = oldest && { job_id: oldest.job_id, age_seconds: seconds(oldest.for_ms) };
  return { queue_depth, jobs, batches_in_flight: batches, urls_in_flight: urls, oldest_batch };
}

/** What the process that audits the ledger says of it. */
const auditView = ({ processes }: ServiceStatus) =>
  processes.find(({ sign, silent_ms }) => sign.ledger_audit && silent_ms !== null && silent_ms < SILENT_MS)?.sign
    .ledger_audit ?? null;

export const group = groupOf(wire, [services]);
