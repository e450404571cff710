// What each process knows of the whole service, as metrics: the log, its followers, the work that was handed out, backups. While a store
// is away its metrics have no values, and `service_ready` says so.
import type { Registry } from 'prom-client';
import type { BackupDocument } from '../../readmodels/backups.ts';
import type { Reading } from '../../readmodels/documents.ts';
import { within } from '../../roles/dependencies.ts';
import { type LedgerAuditSign, type RoleWatch, workOf } from '../../roles/role-signs.ts';
import type { Followers } from '../followers.ts';
import { openGauge, type Values } from './metrics.ts';
import type { Readiness } from './readiness.ts';

export interface WatchMetricsOptions {
  followers: () => Promise<Followers>;
  backups: Pick<Reading<BackupDocument>, 'find'>;
  roles: RoleWatch;
  stores: Readiness['stores'];
  monotonic?: () => number;
}

/** A store gets this long for an answer. */
const ANSWER_MS = 1_500;
/** Scrapes within this time share one answer, however many there are. */
const FRESH_MS = 1_000;

export function openWatchMetrics(registry: Registry, options: WatchMetricsOptions): void {
  const { backups, roles, stores, monotonic = () => performance.now() } = options;
  const gauge = (name: string, help: string, labelNames: readonly string[], read: () => Values | Promise<Values>) =>
    openGauge(registry, { name, help, labelNames }, read);
  const followers = shared(options.followers, monotonic);

  /** `value`: null for a follower without one. */
  const ofFollowers = async (value: (row: Followers['followers'][number]) => number | null): Promise<Values> => {
    const rows = (await followers())?.followers ?? [];
    return rows.flatMap((row) => {
      const found = value(row);
      return found === null ? [] : [[{ projection: row.projection, state: row.state }, found] as const];
    });
  };
  const FOLLOWER = ['projection', 'state'] as const;
  gauge('log_position', 'Position of the end of the event log, in the units of its store.', [], async () => {
    const head = (await followers())?.head;
    return head === undefined ? [] : [[{}, numberOf(head)]];
  });
  gauge('projection_position', 'Position of the log up to which the projection has applied the events.', FOLLOWER, () =>
    ofFollowers(({ position }) => numberOf(position)),
  );
  gauge(
    'projection_lag_seconds',
    'Age of the oldest event of the log that the projection has not applied.',
    FOLLOWER,
    () => ofFollowers(({ lag_ms }) => lag_ms && lag_ms / 1000),
  );
  gauge(
    'projection_parked_events',
    'Events that the projection could not apply. Its read model lacks them until a rebuild.',
    FOLLOWER,
    () => ofFollowers(({ parked_events }) => parked_events),
  );

  const work = (value: (handed_out: NonNullable<ReturnType<typeof workOf>>) => number | null) => (): Values => {
    const handed_out = workOf(roles);
    const found = handed_out && value(handed_out);
    return found === null ? [] : [[{}, found]];
  };
  gauge(
    'queue_messages',
    'Messages that wait in the queue for a checker.',
    [],
    work(({ queue_depth }) => queue_depth),
  );
  gauge(
    'dispatched_jobs',
    'Jobs that are being checked.',
    [],
    work(({ jobs }) => jobs),
  );
  gauge(
    'dispatched_batches',
    'Batches that were handed out and have no results yet.',
    [],
    work(({ batches }) => batches),
  );
  gauge(
    'dispatched_urls',
    'URLs of the batches that were handed out.',
    [],
    work(({ urls }) => urls),
  );
  gauge(
    'dispatched_oldest_batch_age_seconds',
    'Time since the oldest of these batches was handed out; 0 without one.',
    [],
    work(({ oldest }) => (oldest?.for_ms ?? 0) / 1000),
  );

  const audit = (value: (sign: LedgerAuditSign) => number | null) => (): Values => {
    const sign = auditOf(roles);
    const found = sign && value(sign);
    return found === null ? [] : [[{}, found]];
  };
  gauge(
    'ledger_audit_violations',
    'Violations that the continuous audit of the ledger knows of.',
    [],
    audit(({ violations }) => violations),
  );
  gauge(
    'ledger_audit_entries',
    'Ledger entries that the continuous audit has replayed.',
    [],
    audit(({ entries }) => entries),
  );
  gauge(
    'ledger_audit_position',
    'Position of the log up to which the ledger is audited.',
    [],
    audit(({ position }) => numberOf(position)),
  );
  gauge(
    'ledger_audit_completed_timestamp_seconds',
    'When the audit of the ledger last reached the end of the log, in Unix time; 0 before.',
    [],
    audit(({ completed_at }) => (completed_at === null ? 0 : Date.parse(completed_at) / 1000)),
  );

  gauge(
    'service_dependency_up',
    '1 while the store or server answers a process that uses it, otherwise 0.',
    ['dependency'],
    () => {
      const states = [...stores(), ...signsOf(roles).flatMap(({ dependencies = [] }) => dependencies)];
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

const WORKERS = ['projector', 'processes', 'checker'];
const signsOf = (roles: RoleWatch) => WORKERS.flatMap((role) => roles.alive(role));

/** What the process that audits the ledger says of it; null while none does. */
const auditOf = (roles: RoleWatch) =>
  roles.alive('processes').find(({ ledger_audit }) => ledger_audit)?.ledger_audit ?? null;

/** Positions of SQLite are decimal; those of EventStoreDB begin with the commit position, 16 hexadecimal digits of 32. */
const numberOf = (position: string): number =>
  position.length > 16 ? Number(`0x${position.slice(0, 16)}`) : Number(position);

/** Asks once for all that want to know at a time. Null when the answer fails or takes too long. */
function shared<Answer>(ask: () => Promise<Answer>, monotonic: () => number): () => Promise<Answer | null> {
  let asked_at = Number.NEGATIVE_INFINITY;
  let answer: Promise<Answer | null> = Promise.resolve(null);
  return () => {
    if (monotonic() - asked_at < FRESH_MS) return answer;
    asked_at = monotonic();
    return (answer = within(ANSWER_MS, ask()));
  };
}
