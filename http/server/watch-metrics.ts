// What each process knows of the whole service, as metrics: the log, its followers, the work that was handed out, backups. While a store
// is away its metrics have no values, and `service_ready` says so.
import type { Registry } from 'prom-client';
import type { LogSize } from '../../events/event-store.ts';
import type { PaymentIssueDocument } from '../../readmodels/billing/payment-issues.ts';
import type { Reading } from '../../readmodels/documents.ts';
import type { MailDocument } from '../../readmodels/mails.ts';
import type { BackupDocument, BackupRehearsalDocument } from '../../readmodels/operations/backups.ts';
import { within } from '../../roles/dependencies.ts';
import type { DiskSign } from '../../roles/disk.ts';
import { MANAGERS, type ManagerSign } from '../../roles/managers.ts';
import {
  certificatesOf,
  type HandedOut,
  type LedgerAuditSign,
  managersOf,
  type RoleWatch,
  workOf,
} from '../../roles/role-signs.ts';
import { DAY_MS } from '../../time/units.ts';
import { openCounter, openGauge, type Values } from '../frame/metrics.ts';
import type { Followers } from './followers.ts';
import type { Readiness } from './readiness.ts';

export interface WatchMetricsOptions {
  followers: () => Promise<Followers>;
  backups: Pick<Reading<BackupDocument>, 'find'>;
  rehearsals?: Pick<Reading<BackupRehearsalDocument>, 'find'>;
  issues?: Pick<Reading<PaymentIssueDocument>, 'count'>;
  mails?: Pick<Reading<MailDocument>, 'count'>;
  roles: RoleWatch;
  stores: Readiness['stores'];
  log_size?: () => Promise<LogSize>;
  monotonic?: () => number;
  now?: () => number;
}

/** A store gets this long for an answer. */
const ANSWER_MS = 1_500;
/** Scrapes within this time share one answer, however many there are. */
const FRESH_MS = 1_000;

/** A metric, and its value in what it measures; null where there is none. */
type Metric<Of> = readonly [name: string, help: string, value: (of: Of) => number | null];

const OF_FOLLOWERS: readonly Metric<Followers['followers'][number]>[] = [
  [
    'projection_position',
    'Position of the log up to which the projection has applied the events.',
    ({ position }) => numberOf(position),
  ],
  [
    'projection_lag_seconds',
    'Age of the oldest event of the log that the projection has not applied.',
    ({ lag_ms }) => lag_ms && lag_ms / 1000,
  ],
  [
    'projection_parked_events',
    'Events that the projection could not apply. Its read model lacks them until a rebuild.',
    ({ parked_events }) => parked_events,
  ],
];
const OF_WORK: readonly Metric<HandedOut>[] = [
  ['queue_messages', 'Messages that wait in the queue for a checker.', ({ queue_depth }) => queue_depth],
  ['dispatched_jobs', 'Jobs that are being checked.', ({ jobs }) => jobs],
  ['dispatched_batches', 'Batches that were handed out and have no results yet.', ({ batches }) => batches],
  ['dispatched_urls', 'URLs of the batches that were handed out.', ({ urls }) => urls],
  [
    'dispatched_oldest_batch_age_seconds',
    'Time since the oldest of these batches was handed out; 0 without one.',
    ({ oldest }) => (oldest?.for_ms ?? 0) / 1000,
  ],
];
const OF_MANAGERS: readonly Metric<ManagerSign>[] = [
  [
    'manager_oldest_pending_seconds',
    'Age of the oldest work of the process manager; 0 without any.',
    ({ oldest_pending_ms }) => oldest_pending_ms / 1000,
  ],
  [
    'manager_put_off',
    'Items whose work failed in the process manager, and that will be tried again.',
    ({ put_off }) => put_off,
  ],
  [
    'manager_failing_seconds',
    'Since when the passes of the process manager fail; 0 while they succeed.',
    ({ failing_ms }) => (failing_ms ?? 0) / 1000,
  ],
];
const OF_AUDIT: readonly Metric<LedgerAuditSign>[] = [
  [
    'ledger_audit_violations',
    'Violations that the continuous audit of the ledger knows of.',
    ({ violations }) => violations,
  ],
  ['ledger_audit_entries', 'Ledger entries that the continuous audit has replayed.', ({ entries }) => entries],
  [
    'ledger_audit_position',
    'Position of the log up to which the ledger is audited.',
    ({ position }) => numberOf(position),
  ],
  [
    'ledger_audit_completed_timestamp_seconds',
    'When the audit of the ledger last reached the end of the log, in Unix time; 0 before.',
    ({ completed_at }) => (completed_at === null ? 0 : Date.parse(completed_at) / 1000),
  ],
];

const OF_LOG: readonly Metric<LogSize>[] = [
  [
    'event_log_bytes',
    'Bytes of the event log: in its file, or ever written to its server. A scavenge of the server does not lower it.',
    ({ bytes }) => bytes,
  ],
  [
    'event_log_limit_bytes',
    'Bytes that the event log may have: EVENT_LOG_MAX_MB, or what its store can hold.',
    ({ limit_bytes }) => limit_bytes,
  ],
  [
    'event_log_events',
    'Events that were ever appended to the embedded log; no value where the store does not count them.',
    ({ events }) => events,
  ],
];

export function openWatchMetrics(registry: Registry, options: WatchMetricsOptions): void {
  const { backups, roles, stores, monotonic = () => performance.now(), now = Date.now } = options;
  const gauge = (name: string, help: string, labelNames: readonly string[], read: () => Values | Promise<Values>) =>
    openGauge(registry, { name, help, labelNames }, read);
  const followers = shared(options.followers, monotonic);

  gauge('log_position', 'Position of the end of the event log, in the units of its store.', [], async () => {
    const head = (await followers())?.head;
    return head === undefined ? [] : [[{}, numberOf(head)]];
  });
  for (const [name, help, value] of OF_FOLLOWERS) {
    gauge(name, help, ['projection', 'state'], async () => {
      const rows = (await followers())?.followers ?? [];
      return rows.flatMap((row) => valuesOf({ projection: row.projection, state: row.state }, value(row)));
    });
  }
  for (const [name, help, value] of OF_WORK) {
    gauge(name, help, [], () => {
      const handed_out = workOf(roles);
      return valuesOf({}, handed_out && value(handed_out));
    });
  }
  const lost = 'Batches that the queue lost, and that were sent again, since the process took the work over.';
  openCounter(registry, { name: 'dispatched_lost_batches_total', help: lost }, () =>
    valuesOf({}, workOf(roles)?.lost?.batches ?? null),
  );
  for (const [name, help, value] of OF_MANAGERS) {
    gauge(name, help, ['manager'], () =>
      managersOf(roles).flatMap((sign) => valuesOf({ manager: sign.name }, value(sign))),
    );
  }
  gauge(
    'manager_late_after_seconds',
    'While all is well, no work of the process manager waits for longer.',
    ['manager'],
    () => Object.entries(MANAGERS).map(([manager, { late_after_ms }]) => [{ manager }, late_after_ms / 1000]),
  );
  const help =
    'Failures of the process manager, in passes and in the work for single items, since its process took over.';
  openCounter(registry, { name: 'manager_failures_total', help, labelNames: ['manager'] }, () =>
    managersOf(roles).map(({ name, failures }) => [{ manager: name }, failures]),
  );
  const attempts = 'Attempts to deliver webhooks, by what the receiver did, since the process took the work over.';
  openCounter(registry, { name: 'webhook_attempts_total', help: attempts, labelNames: ['outcome'] }, () =>
    managersOf(roles).flatMap(({ name, sent = { taken: 0, refused: 0 } }) =>
      name === 'webhooks' ? Object.entries(sent).map(([outcome, number]) => [{ outcome }, number] as const) : [],
    ),
  );
  for (const [name, help, value] of OF_AUDIT) {
    gauge(name, help, [], () => {
      const sign = auditOf(roles);
      return valuesOf({}, sign && value(sign));
    });
  }

  const { issues } = options;
  const open_issues = issues && shared(() => issues.count({ status: 'open' }), monotonic);
  gauge('payment_issues_open', 'Issues about money that a person has to decide.', [], async () =>
    valuesOf({}, (await open_issues?.()) ?? null),
  );

  const { mails } = options;
  const of_mails =
    mails && shared(() => Promise.all(MAIL_STATES.map((status) => mails.count({ status }))), monotonic, SELDOM_MS);
  gauge('mails', 'Mails that are owed (due), sent, and dropped because nobody can receive them.', ['state'], async () =>
    ((await of_mails?.()) ?? []).map((number, n) => [{ state: MAIL_STATES[n]! }, number]),
  );
  gauge('certificate_days_left', 'Days until the certificate of a server or a file ends.', ['of'], () =>
    certificatesOf(['http', ...WORKERS].flatMap((role) => roles.alive(role))).map(({ of, ends_at }) => [
      { of },
      (Date.parse(ends_at) - now()) / DAY_MS,
    ]),
  );
  const apart = 'How far the clocks of the machines are apart from the one of this process, at the most.';
  gauge('service_clocks_apart_seconds', apart, [], () => roles.clocks_apart_ms() / 1000);
  gauge('disk_free_bytes', 'Free bytes on the disk of DATA_DIR, by role and machine.', ['role', 'machine'], () =>
    disksOf(roles, ({ free_bytes }) => free_bytes),
  );
  gauge('disk_size_bytes', 'Bytes of the disk of DATA_DIR, by role and machine.', ['role', 'machine'], () =>
    disksOf(roles, ({ size_bytes }) => size_bytes),
  );
  gauge(
    'disk_hours_left',
    'Hours until the disk of DATA_DIR is full at the rate of the last six hours, by role and machine; no value while its room does not shrink.',
    ['role', 'machine'],
    () => disksOf(roles, ({ hours_left }) => hours_left ?? null),
  );

  const { log_size } = options;
  const size = log_size && shared(log_size, monotonic, SELDOM_MS);
  for (const [name, help, value] of OF_LOG) {
    gauge(name, help, [], async () => {
      const found = (await size?.()) ?? null;
      return valuesOf({}, found && value(found));
    });
  }

  gauge(
    'service_dependency_up',
    '1 while the store or server answers a process that uses it, otherwise 0.',
    ['dependency'],
    () => {
      const signs = ['http', ...WORKERS].flatMap((role) => roles.alive(role));
      const states = [...stores(), ...signs.flatMap(({ dependencies = [] }) => dependencies)];
      const names = new Set(states.map(({ name }) => name));
      return Array.from(names, (dependency) => {
        const is_up = states.some(({ name, status }) => name === dependency && status === 'ok');
        return [{ dependency }, is_up ? 1 : 0] as const;
      });
    },
  );

  const started = shared(async () => {
    const newest = async (status: BackupDocument['status']) =>
      (await backups.find({ status }, { sort: { started_at: -1 }, limit: 1 }))[0]?.started_at;
    const [completed, failed] = await Promise.all([newest('completed'), newest('failed')]);
    return { completed, failed };
  }, monotonic);
  const { rehearsals } = options;
  const rehearsed =
    rehearsals && shared(() => rehearsals.find({}, { sort: { rehearsed_at: -1 }, limit: 1 }), monotonic);
  gauge(
    'backup_rehearsed_timestamp_seconds',
    'When a backup was last restored into an empty folder to try it, in Unix time. 0 before.',
    [],
    async () => {
      const found = await rehearsed?.();
      return found ? [[{}, found[0] ? Date.parse(found[0].rehearsed_at) / 1000 : 0]] : [];
    },
  );
  gauge(
    'backup_started_timestamp_seconds',
    'Start of the newest backup with this end, in Unix time: it has what the log had then. 0 without one.',
    ['status'],
    async () => {
      const found = await started();
      if (found === null) return [];
      return Object.entries(found).map(([status, at]) => [{ status }, at === undefined ? 0 : Date.parse(at) / 1000]);
    },
  );
}

/** No value for null. */
const valuesOf = (labels: Readonly<Record<string, string>>, value: number | null) =>
  value === null ? [] : [[labels, value] as const];

const MAIL_STATES = ['due', 'sent', 'dropped'] as const;
/** What is counted from many documents is counted this seldom. */
const SELDOM_MS = 15_000;

const disksOf = (roles: RoleWatch, value: (disk: DiskSign) => number | null) =>
  ['http', ...WORKERS].flatMap((role) =>
    roles.alive(role).flatMap(({ machine, disk }) => valuesOf({ role, machine }, disk ? value(disk) : null)),
  );

const WORKERS = ['projector', 'processes', 'checker'];

/** What the process that audits the ledger says of it; null while none does. */
const auditOf = (roles: RoleWatch) =>
  roles.alive('processes').find(({ ledger_audit }) => ledger_audit)?.ledger_audit ?? null;

/** Positions of SQLite are decimal; those of EventStoreDB begin with the commit position, 16 hexadecimal digits of 32. */
const numberOf = (position: string): number =>
  position.length > 16 ? Number(`0x${position.slice(0, 16)}`) : Number(position);

/** Asks once for all that want to know at a time. Null when the answer fails or takes too long. */
function shared<Answer>(
  ask: () => Promise<Answer>,
  monotonic: () => number,
  fresh_ms = FRESH_MS,
): () => Promise<Answer | null> {
  let asked_at = Number.NEGATIVE_INFINITY;
  let answer: Promise<Answer | null> = Promise.resolve(null);
  return () => {
    if (monotonic() - asked_at < fresh_ms) return answer;
    asked_at = monotonic();
    return (answer = within(ANSWER_MS, ask()));
  };
}
