// The processes and the projector take no lease whose work they could not do, and say why.
import test, { type ExecutionContext } from 'ava';
import type { Queue } from '../../checkers/queue.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import type { EventStore } from '../../events/event-store.ts';
import { runProcesses } from '../../processes/processes.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import { runProjector } from '../../projections/projector/projector.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import type { ReportState } from '../../roles/holding.ts';
import { openLeases } from '../../roles/leases.ts';
import { until } from '../support/behind.ts';
import { oneQueue } from '../support/one-queue.ts';
import { openTestStores, project, silent, type TestStores } from '../support/stores.ts';

const LEASE_MS = 60_000;
const cut = async () => Promise.reject(new Error('cut'));
const without = <Store extends object>(store: Store, method: keyof Store): Store =>
  Object.create(store, { [method]: { value: cut } });

/** Runs the role until its lease is asked for or it says why not. */
async function said(
  t: ExecutionContext,
  stores: TestStores,
  lease: string,
  run: (role: {
    leases: Awaited<ReturnType<typeof openLeases>>;
    say: ReportState;
    signal: AbortSignal;
  }) => Promise<void>,
): Promise<string | undefined> {
  const ended = new AbortController();
  const heard: [string, string?][] = [];
  const leases = await openLeases(stores.documents);
  const running = run({ leases, say: (...words) => void heard.push(words), signal: ended.signal });
  await until(() => heard.length > 0);
  const other = await openLeases(stores.documents, { process: null });
  const is_free = await other.hold(lease, LEASE_MS);
  await other.release(lease);
  ended.abort();
  await running;
  const [[state, reason]] = heard as [[string, string?]];
  t.is(state, 'waiting');
  t.is(is_free, reason !== 'it takes the work over', 'a lease is free while its role says that it cannot work');
  return reason;
}

const processesOf =
  (stores: TestStores, queue: Queue, log: EventStore = stores.log) =>
  (role: { leases: Awaited<ReturnType<typeof openLeases>>; say: ReportState; signal: AbortSignal }) =>
    runProcesses({
      ...role,
      ...{ log, queue, logger: silent, stored_log: null as never, backup_progress: null as never },
      ...{ results_days: null, backup_retention: { keep: 1, days: null }, blobs: { delete: async () => {} } as never },
      readmodels: openReadModels(stores.documents, {
        log_id: () => identifyLog(stores.log, 'process:test', Date.now()),
      }),
      ...{ job_commands: openJobs(log), credits: openCredits(log) },
      ...{ sender: { close() {} } as never, webhook_key: Buffer.from('key'), trial_credits: 0, payments: null },
      ...{ expiring_credits_days: 7, account_url: 'https://urls.example/console/account' },
      ...{ ledger_heads: null, ledger_audit: null, mailer: { send: cut, erase: cut, close() {} } },
    });

test('processes that are cut from the log or the queue, or have no documents, leave their lease alone', async (t) => {
  const stores = await openTestStores(t);
  const queue = await (await oneQueue(t))();
  const ask = (log: EventStore, queue: Queue) => said(t, stores, 'processes', processesOf(stores, queue, log));
  t.is(await ask(stores.log, queue), 'no projector has made documents yet');
  await project(stores);
  t.is(await ask(without(stores.log, 'head'), queue), 'the event log does not answer');
  t.is(await ask(stores.log, without(queue, 'depth')), 'the queue does not answer');
});

test('a projector that is cut from the log leaves its lease alone', async (t) => {
  const stores = await openTestStores(t);
  const ask = (log: EventStore) =>
    said(t, stores, 'projector', (role) =>
      runProjector({
        ...role,
        ...{ log, documents: stores.documents, projections: ALL_PROJECTIONS, logger: silent },
        log_id: () => identifyLog(stores.log, 'process:test', Date.now()),
      }),
    );
  t.is(await ask(without(stores.log, 'head')), 'the event log does not answer');
  t.is(await ask(stores.log), 'it takes the work over');
});
