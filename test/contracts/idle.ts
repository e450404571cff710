// The reads of roles over idle stores. Each kind of stores enrols.
import type { ExecutionContext, TestFn } from 'ava';
import type { Queue } from '../../checkers/queue.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import type { EventStore } from '../../events/event-store.ts';
import { runProcesses } from '../../processes/processes.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import { runProjector } from '../../projections/projector/projector.ts';
import type { Documents, Reading } from '../../readmodels/documents.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openLeases } from '../../roles/leases.ts';
import { until } from '../support/behind.ts';
import { commandContext, silent } from '../support/stores.ts';

export interface IdleStores {
  max_reads_per_s: number;
  log: EventStore;
  documents: Documents;
  queue: Queue;
}

/** The measurement lasts for this number of renewals of both leases: about five seconds. */
const RENEWALS = 6;
const MAX_WINDOWS = 10;

export function idleContract(test: TestFn, name: string, open: (t: ExecutionContext) => Promise<IdleStores>): void {
  test(`${name}: a role reads an idle store seldom, and a new event wakes it`, async (t) => {
    const { log, documents, queue, max_reads_per_s } = await open(t);
    const counts = new Map<string, number>();
    let renewals = 0;
    const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
    const of = (role: string) => ({
      log: counted(log, ['readStream', 'readAll', 'head', 'subscribe'], () => count(`${role} log`)),
      documents: countedDocuments(documents, () => count(`${role} documents`)),
      queue: counted(queue, ['depth', 'publish'], () => count(`${role} queue`)),
    });
    const ended = new AbortController();
    const common = { logger: silent, signal: ended.signal };
    const leases = await openLeases(documents);
    const hold: typeof leases.hold = (...held) => {
      renewals++;
      return leases.hold(...held);
    };
    const renewing = {
      ...leases,
      hold,
    };
    const projector = of('projector');
    const processes = of('processes');
    let projected = '';
    const roles = [
      runProjector({
        ...common,
        ...projector,
        projections: ALL_PROJECTIONS,
        leases: renewing,
        log_id: () => identifyLog(log, 'process:test', Date.now()),
        advanced: (position) => (projected = position),
      }),
      runProcesses({
        ...common,
        ...processes,
        leases: renewing,
        readmodels: openReadModels(processes.documents),
        stored_log: null as never,
        backup_progress: null as never,
        results_days: null,
        backup_retention: { keep: 1, days: null },
        blobs: { delete: async () => {} } as never,
        job_commands: openJobs(processes.log),
        credits: openCredits(processes.log),
        sender: { send: async () => t.fail('nothing is sent') as never, close() {} },
        webhook_key: Buffer.from('the key of tests'),
        ...{ trial_credits: 50_000, expiring_credits_days: 7, account_url: 'https://urls.example/console/account' },
        payments: null,
        ledger_heads: null,
        ledger_audit: null,
        mailer: { send: async () => null, erase: async () => {}, close() {} },
      }),
    ];
    try {
      await until(async () => projected !== '' && projected === (await log.head()));
      await until(() => renewals >= 4);
      // On a busy machine the passes of the start may reach into the first windows.
      let elapsed_s = 0;
      const tooOften = () => [...counts].filter(([, reads]) => reads / elapsed_s > max_reads_per_s);
      for (let windows = 1; windows === 1 || tooOften().length > 0; windows++) {
        if (windows > MAX_WINDOWS) {
          t.fail(
            tooOften()
              .map(([what, reads]) => `${what}: ${reads} reads in ${elapsed_s} s`)
              .join(),
          );
          break;
        }
        counts.clear();
        const [since, renewed] = [performance.now(), renewals];
        await until(() => renewals >= renewed + RENEWALS);
        elapsed_s = (performance.now() - since) / 1000;
      }
      t.log([...counts].map(([what, reads]) => `${what} ${(reads / elapsed_s).toFixed(1)}/s`).join(', '));
      counts.clear();
      await openCredits(log).run(
        'alice',
        {
          type: 'grant',
          ...{ transaction_type: 'purchase', reference_id: 'p', amount: 1, expires_at: null },
        } as never,
        commandContext(),
      );
      await until(async () => projected === (await log.head()));
      await until(() => (counts.get('processes documents') ?? 0) >= 4);
      t.pass();
    } finally {
      ended.abort();
      await Promise.all(roles);
    }
  });
}

/** Wraps the object so that it calls `count` before each of these methods. */
function counted<T extends object>(target: T, methods: readonly (keyof T)[], count: () => void): T {
  return new Proxy(target, {
    get(object, name) {
      const value = Reflect.get(object, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (methods.includes(name as keyof T)) count();
        return value.apply(object, args);
      };
    },
  });
}

const READS = ['get', 'getMany', 'find', 'slice', 'stream', 'count'] as const;

/** Counts the reads outside of transactions; a transaction counts once. */
function countedDocuments(documents: Documents, count: () => void): Documents {
  return new Proxy(documents, {
    get(object, name) {
      const value = Reflect.get(object, name);
      if (name === 'reading') return (spec: never) => counted<Reading<never>>(object.reading(spec), READS, count);
      if (name === 'collection') {
        return async (spec: never) => counted<Reading<never>>(await object.collection(spec), READS, count);
      }
      if (name === 'transaction') count();
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
}
