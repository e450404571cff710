// The probes /healthz, /readyz and /metrics: their answers, for the routes of http and for METRICS_PORT.
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { EventStore } from '../../events/event-store.ts';
import { limitedTo } from '../../events/log-size.ts';
import { paymentIssues } from '../../readmodels/billing/payment-issues.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { mails } from '../../readmodels/mails.ts';
import { backupRehearsals, backups } from '../../readmodels/operations/backups.ts';
import type { ReadModels } from '../../readmodels/read-models.ts';
import { diskOf } from '../../roles/disk.ts';
import { openRoleWatch, type RoleWatch } from '../../roles/role-signs.ts';
import { VERSION } from '../../roles/version.ts';
import type { Maintenance } from '../frame/maintenance.ts';
import { openProcessMetrics } from '../frame/metrics.ts';
import type { Reply } from '../frame/route.ts';
import { openFollowers } from './followers.ts';
import { NotReady, openReadiness, type Readiness, type ReadinessOptions } from './readiness.ts';
import { openWatchMetrics } from './watch-metrics.ts';

export interface ProbeOptions {
  log: Logger;
  registry: Registry;
  /** The conditions of readiness by name. Each throws when it does not hold. */
  readiness: Readonly<Record<string, () => Promise<unknown>>>;
  /** Conditions that `/readyz` shows in the same way, and that leave the service ready. */
  advisory?: ProbeOptions['readiness'];
  /** `/readyz` shows maintenance mode, which leaves the service ready. */
  maintenance?: Pick<Maintenance, 'current'>;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

const READY_MS = 2000;
/** Each process asks itself every second: a check that fails for hours has a line a minute, and one whenever its detail changes by more than its numbers. */
const SAME_LINE_MS = 60_000;
/** By the checks of a process: the last line of each check that fails. */
const lines = new WeakMap<object, Map<string, { kind: string; at_ms: number }>>();

export type ProbeReply = Reply & { body: object | string };

/** The answers by path. */
export const PROBES: Readonly<Record<string, (options: ProbeOptions) => Promise<ProbeReply>>> = {
  '/healthz': async () => ({ body: { status: 'ok' } }),
  async '/readyz'(options) {
    const checks = await checkAll(options);
    const failed = Object.keys(options.readiness).filter((name) => !checks[name]!.ok);
    const maintenance = options.maintenance?.current ?? null;
    const body = { checks, ...(maintenance && { maintenance }) };
    if (failed.length === 0) return { body: { status: 'ok', ...body } };
    return { status: 503, body: { status: 'unavailable', failed, ...body }, headers: { 'retry-after': '5' } };
  },
  '/metrics': async ({ registry }) => ({
    body: await registry.metrics(),
    headers: { 'content-type': registry.contentType },
  }),
};

interface Check {
  ok: boolean;
  detail?: string;
}

/** Runs all checks. A check that takes longer than 2 s fails. */
async function checkAll(options: ProbeOptions): Promise<Record<string, Check>> {
  const { log, readiness, advisory = {}, monotonic = () => performance.now() } = options;
  const last = lines.get(readiness) ?? new Map<string, { kind: string; at_ms: number }>();
  lines.set(readiness, last);
  const outcomes = Object.entries({ ...readiness, ...advisory }).map(
    async ([name, check]): Promise<[string, Check]> => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new NotReady(`no answer within ${READY_MS} ms`)), READY_MS);
      });
      try {
        await Promise.race([check(), late]);
        last.delete(name);
        return [name, { ok: true }];
      } catch (error) {
        // Other errors may name addresses, so only the log shows them.
        const detail = error instanceof NotReady ? error.message : 'it does not work';
        const kind = detail.replaceAll(/\d+/g, '');
        const line = last.get(name);
        const at_ms = monotonic();
        if (line?.kind !== kind || at_ms - line.at_ms >= SAME_LINE_MS) {
          last.set(name, { kind, at_ms });
          log.warn(
            { check: name, ...(error instanceof NotReady ? { detail } : { err: error }) },
            Object.hasOwn(advisory, name) ? 'something does not work, and leaves the service ready' : 'not ready',
          );
        }
        return [name, { ok: false, detail }];
      } finally {
        clearTimeout(timer);
      }
    },
  );
  return Object.fromEntries(await Promise.all(outcomes));
}

/** Watches the stores and the roles, and registers their metrics. The caller closes the watch. */
export function openWatch(
  { log, documents }: { log: EventStore; documents: Documents },
  readmodels: ReadModels,
  {
    registry,
    kinds,
    log_max_mb,
    data_dir,
  }: {
    registry: Registry;
    kinds?: ReadinessOptions['kinds'];
    /** EVENT_LOG_MAX_MB. */
    log_max_mb: number | null;
    data_dir: string;
  },
): Readiness & { roles: RoleWatch } {
  openProcessMetrics(registry, VERSION);
  const roles = openRoleWatch(documents);
  const { position } = readmodels;
  const readiness = openReadiness({
    ...{ head: () => log.head(), position, roles, registry, ...(kinds && { kinds }) },
    freeBytes: async () => (await diskOf(data_dir))?.free_bytes ?? 0,
  });
  // Of the events that a follower lacks, the age of the first is enough.
  const followers = openFollowers({ log, documents, now: Date.now, count_to: 1 });
  const issues = readmodels.collection(paymentIssues);
  openWatchMetrics(registry, {
    followers,
    issues,
    mails: readmodels.collection(mails),
    backups: readmodels.collection(backups),
    rehearsals: readmodels.collection(backupRehearsals),
    roles,
    stores: readiness.stores,
    ...(log.size && { log_size: async () => limitedTo(await log.size!(), log_max_mb) }),
  });
  return { ...readiness, roles };
}
