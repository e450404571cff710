// What a process manager has put off survives a restart of the manager: neither is it tried at once again, nor does it begin to wait anew.
import test from 'ava';
import { openBilling } from '../../commands/billing/billing.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import { openUserAggregate, see } from '../../commands/users/user.ts';
import { userStream } from '../../events/streams.ts';
import { runProcesses } from '../../processes/processes.ts';
import type { CollectionSpec, Document } from '../../readmodels/documents.ts';
import { mails } from '../../readmodels/mails.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openLeases } from '../../roles/leases.ts';
import type { ManagerSign } from '../../roles/managers.ts';
import { oneQueue } from '../support/one-queue.ts';
import { commandContext, openTestStores, project, silent } from '../support/stores.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;

test('a mail that was put off is not tried at once when its manager is started again, and is still known to wait', async (t) => {
  const stores = await openTestStores(t);
  const queue = await (await oneQueue(t))();
  const billing = openBilling(stores.log, openCredits(stores.log), 'sandbox');
  async function buy(user_id: string): Promise<void> {
    const at = new Date().toISOString();
    const seen = { user_id, email: `${user_id}@example.com` };
    await openUserAggregate(stores.log).handle(userStream(user_id), commandContext(), (user) => see(user, seen));
    const paid = { at, payment_id: `pi_${user_id}`, user_id, customer_id: null, package_id: 'credits_5000' };
    const price = { credits: 5000, amount_cents: 500, currency: 'usd' };
    await billing.take({ type: 'purchase_paid', ...paid, ...price }, { ...commandContext(), now: Date.parse(at) });
    await project(stores);
  }
  await buy('alice');

  const clock = { ms: MINUTE_MS };
  const tried: string[] = [];
  let faults = 0;
  const readmodels = openReadModels(stores.documents, { log_id: () => identifyLog(stores.log, 'process:test', 0) });
  const failing = Object.create(readmodels, {
    collection: {
      value<T extends Document>(spec: CollectionSpec<T>) {
        const found = readmodels.collection(spec);
        if (spec.name !== mails.name || faults === 0) return found;
        faults--;
        return { find: async () => Promise.reject(new Error('of the manager, not of a store')) };
      },
    },
  }) as typeof readmodels;
  let signs = (): readonly ManagerSign[] => [];
  const sign = () => signs().find(({ name }) => name === 'mails');
  const ended = new AbortController();
  const running = runProcesses({
    ...{ log: stores.log, queue, logger: silent, stored_log: null as never, backup_progress: null as never },
    ...{ results_days: null, backup_retention: { keep: 1, days: null }, blobs: { delete: async () => {} } as never },
    ...{ job_commands: openJobs(stores.log), credits: openCredits(stores.log), readmodels: failing },
    ...{ sender: { close() {} } as never, webhook_key: Buffer.from('key'), trial_credits: 0, payments: null },
    ...{ expiring_credits_days: 7, account_url: 'https://urls.example/console/account' },
    ...{ ledger_heads: null, ledger_audit: null, leases: await openLeases(stores.documents) },
    mailer: {
      async send({ user_id }) {
        tried.push(user_id);
        throw new Error('the sender is refused');
      },
      erase: async () => {},
      close() {},
    },
    managing: (tell) => (signs = tell),
    ...{ signal: ended.signal, monotonic: () => clock.ms },
  });
  await until(() => sign()?.put_off === 1);
  t.deepEqual(tried, ['alice']);

  clock.ms += 1_000;
  faults = 1;
  await buy('bob');
  await until(() => faults === 0 && tried.includes('bob') && sign()?.put_off === 2);
  t.deepEqual(tried, ['alice', 'bob'], 'the manager that was started again leaves what is put off alone');
  t.true(sign()!.oldest_pending_ms >= 1_000, 'since when it waits is known');

  clock.ms += 5 * MINUTE_MS;
  await buy('carol');
  await until(() => tried.filter((user) => user === 'alice').length === 2);
  ended.abort();
  await running;
});
