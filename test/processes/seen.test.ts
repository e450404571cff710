// A process manager that fails is seen: in its heartbeat, the metrics, /readyz, /admin/services, an alert, and the runbook.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { Registry } from 'prom-client';
import type { Queue } from '../../checkers/queue.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { Parts } from '../../http/group.ts';
import { group } from '../../http/operations/admin-services.ts';
import { openReadiness } from '../../http/server/readiness.ts';
import { openWatchMetrics } from '../../http/server/watch-metrics.ts';
import type { ContinuousAudit } from '../../processes/ledger-audit.ts';
import { runProcesses } from '../../processes/processes.ts';
import type { Filter } from '../../readmodels/documents.ts';
import { openReadModels, type ReadModels } from '../../readmodels/read-models.ts';
import { openLeases } from '../../roles/leases.ts';
import { MANAGERS, type ManagerName, type ManagerSign } from '../../roles/managers.ts';
import { giveRoleSigns, openRoleWatch } from '../../roles/role-signs.ts';
import { until } from '../support/behind.ts';
import { oneQueue } from '../support/one-queue.ts';
import { over } from '../support/over.ts';
import { openTestStores, project, silent } from '../support/stores.ts';

const NAMES = Object.keys(MANAGERS) as ManagerName[];
const MINUTE_MS = 60_000;
const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');

/** The managers that look into a collection with such a filter. */
const OF_JOBS: Readonly<Record<string, ManagerName>> = {
  completion: 'completion',
  ceiling: 'ceilings',
  settlement: 'settlement',
  domains: 'domain checks',
};
const OF_COLLECTION: Readonly<Record<string, (filter: Filter) => ManagerName>> = {
  jobs: ({ due, results_kept_since }) =>
    due ? OF_JOBS[due as string]! : results_kept_since ? 'retention' : 'dispatch',
  pending: () => 'sweeper',
  webhook_deliveries: () => 'webhooks',
  webhook_endpoints: () => 'webhook endpoints',
  erasures: () => 'erasures',
  credit_lots: () => 'credit expiry',
  subscriptions: ({ grace_until }) => (grace_until ? 'plan grace' : 'trials'),
  payments: () => 'sandbox payments',
  credit_notices: ({ low_at }) => (low_at ? 'low balances' : 'expiring credits'),
  mails: () => 'mails',
  purges: () => 'purges',
};
const OF_LOG: Readonly<Record<string, ManagerName>> = {
  webhook_endpoints: 'endpoint keys',
  idempotency: 'key retirement',
};

test('each process manager that fails for a minute is seen in all places, and seen to work again', async (t) => {
  t.timeout(120_000);
  const stores = await openTestStores(t);
  const queue = await (await oneQueue(t))();
  await project(stores);
  const broken = new Set<ManagerName>(NAMES);
  const breaks = (name: ManagerName | undefined): null => {
    if (name && broken.has(name)) throw new Error(`secret of ${name}`);
    return null;
  };
  const log = over<EventStore>(stores.log, {
    readAll(options) {
      breaks(OF_LOG[options?.filter?.categories?.[0] ?? '']);
      return stores.log.readAll(options);
    },
  });
  const real = openReadModels(stores.documents, { log_id: () => identifyLog(stores.log, 'process:test', Date.now()) });
  const readmodels = over<ReadModels>(real, {
    collection(spec) {
      const documents = real.collection(spec);
      return over(documents, {
        async find(filter, options) {
          breaks(OF_COLLECTION[spec.name]?.(filter));
          return documents.find(filter, options);
        },
      });
    },
  });
  const listening = over<Queue>(queue, {
    async listen(...given) {
      breaks('progress');
      return queue.listen(...given);
    },
  });
  const audit = {
    pass: async () => breaks('ledger audit'),
    sign: () => null,
    close() {},
  } as unknown as ContinuousAudit;
  const heads = { last: async () => breaks('ledger heads') ?? breaks('ledger witness'), sign: async () => {} };
  const progress = {
    all: async () => breaks('backups') ?? [],
    read: async () => [],
    write: async () => {},
    remove: async () => {},
  };
  let later_ms = 0;
  const ended = new AbortController();
  const signs = giveRoleSigns({ ...stores, role: 'processes', every_ms: 20 });
  const running = runProcesses({
    ...{ log, readmodels, queue: listening, leases: await openLeases(stores.documents), logger: silent },
    ...{ stored_log: stores.log as never, backup_progress: progress, backup_retention: { keep: 1, days: null } },
    ...{ results_days: 30, blobs: { async *list() {}, delete: async () => {} } as never },
    ...{
      job_commands: openJobs(stores.log),
      credits: openCredits(stores.log),
      payments: { endSubscription: async () => {} },
      ...{ trial_credits: 1, expiring_credits_days: 7, account_url: 'https://urls.example/console/account' },
    },
    ...{ sender: { close() {} } as never, webhook_key: Buffer.from('key') },
    mailer: { send: async () => null, erase: async () => {}, close() {} },
    ...{ ledger_heads: { heads: heads as never, interval_ms: 1, witnesses: [] }, ledger_audit: audit },
    ...{ signal: ended.signal, managing: signs.managing, monotonic: () => performance.now() + later_ms },
  });
  signs.say('working');
  const roles = openRoleWatch(stores.documents);
  const registry = new Registry();
  const readiness = openReadiness({ ...{ head: stores.log.head, position: real.position }, roles, registry });
  t.teardown(async () => {
    readiness.close();
    ended.abort();
    await running;
    await signs.stop();
  });
  openWatchMetrics(registry, {
    ...{ followers: () => Promise.reject(), backups: { find: async () => [] } },
    roles,
    stores: () => [],
  });
  const seen = async (): Promise<readonly ManagerSign[]> => {
    await roles.look();
    return roles.alive('processes')[0]?.managers ?? [];
  };
  const failing = async () => (await seen()).filter(({ failing_ms }) => failing_ms !== null).map(({ name }) => name);
  await until(async () => (await failing()).length === NAMES.length);
  later_ms = MINUTE_MS;
  await until(async () => (await seen()).every(({ failing_ms }) => failing_ms! >= MINUTE_MS));

  const metrics = await registry.metrics();
  const { message: ready } = await t.throwsAsync(readiness.advisory.process_managers!());
  const status = async () => ({
    ...{ ready: {}, dependencies: [], followers: null, head: null },
    processes: roles.all(),
  });
  const [route] = group.open({
    status,
    maintenance: { current: { enabled: false } },
    now: Date.now,
  } as unknown as Parts);
  const shown = (await route!.handler({} as never, null as never)) as {
    body: { managers: { name: string; status: string; trouble: string }[] };
  };
  const runbook = read('docs/guides/runbook.md');
  for (const name of NAMES) {
    const value = (metric: string) =>
      Number(new RegExp(`^${metric}\\{manager="${name}"\\} (\\S+)$`, 'm').exec(metrics)?.[1]);
    t.true(value('manager_failing_seconds') >= 60 && value('manager_failures_total') >= 1, name);
    t.true(value('manager_oldest_pending_seconds') >= 60 && value('manager_put_off') === 0, name);
    t.regex(ready, new RegExp(`(^|; )${name}: fails since \\d+ s, so ${MANAGERS[name].stands}`));
    t.like(
      shown.body.managers.find((one) => one.name === name),
      { status: 'failing' },
    );
    t.true(
      runbook.includes(`\n| \`${name}\` | ${MANAGERS[name].stands} | `),
      `the runbook says what to do about ${name}`,
    );
  }
  t.notRegex(ready + JSON.stringify(shown.body), /secret/);
  for (const metric of ['manager_failing_seconds', 'manager_oldest_pending_seconds', 'manager_put_off'])
    t.regex(read('monitoring/alerts.yml'), new RegExp(`expr: max by \\(manager\\) \\(${metric}\\) > `));

  broken.delete('mails');
  await until(async () => !(await failing()).includes('mails'));
  t.true((await failing()).length > NAMES.length / 2, 'the others still fail');
  broken.clear();
  await until(async () => (await failing()).length === 0);
  await t.notThrowsAsync(readiness.advisory.process_managers!());
});
