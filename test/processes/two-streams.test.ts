// Work over two streams of every kind, killed between them: it is found, and finished or undone, and the audit tells of it when it is late.
import test, { type ExecutionContext } from 'ava';
import { openLedgerAudit } from '../../audit/ledger-audit.ts';
import { openBackups } from '../../commands/backups.ts';
import { openBilling, type PaymentNotice } from '../../commands/billing/billing.ts';
import { openTrials } from '../../commands/billing/trial.ts';
import { openDeleteJob } from '../../commands/jobs/delete-job.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { openAccounts } from '../../commands/users/accounts.ts';
import { openSessions } from '../../commands/users/sessions.ts';
import { openErasures } from '../../commands/users/user.ts';
import { openWebhookEndpoints } from '../../commands/webhook-endpoints.ts';
import type { EventStore } from '../../events/event-store.ts';
import {
  AUDITED_WORK,
  managerOf,
  SWEPT_WORK,
  typesOf,
  WORK,
  WORK_NAMES,
  type WorkName,
} from '../../events/two-streams.ts';
import { managersOf } from '../../processes/managers.ts';
import type { ManagingOptions } from '../../processes/options.ts';
import { openRemovals } from '../../processes/removals.ts';
import { pending } from '../../readmodels/jobs/pending.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { passesOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project, silent, type TestStores } from '../support/stores.ts';
import { grant, LEASE_MS, NOW, openProcess } from '../support/submitting-process.ts';

const AT = '2026-01-31T09:00:00.000Z';
const LINE = { plan: 'pro', interval: 'month', period_start: AT, period_end: '2026-02-28T09:00:00.000Z' } as const;
const PERIOD: PaymentNotice = {
  ...{ type: 'period_paid', at: AT, user_id: 'alice', customer_id: null, payment_id: 'in_1', subscription_id: 'sub_1' },
  ...{
    lines: [{ ...LINE, is_proration: false, amount_cents: 2900, quantity: 3 }],
    amount_cents: 2900,
    currency: 'usd',
  },
};
const FINGERPRINT = { os: 'Linux', device_type: 'desktop', screen_size: '1920x1080' };
const JOB_ID = '019aad3c-1f3e-7c04-9a37-3b1d9f0c2e51';

type Step = (log: EventStore, again: boolean) => Promise<unknown>;
interface Half {
  /** What was done before; it returns the work itself, which is killed, and done again where its repeat finishes it. */
  prepare(stores: TestStores): Promise<Step>;
}

const accountsOf = (log: EventStore, bonus_at: 'first_sight' | 'fingerprint' = 'first_sight') =>
  openAccounts(log, openCredits(log), { signup_credits: 300, bonus_at });
const after = (prepared: (stores: TestStores) => Promise<Step>): Half => ({ prepare: prepared });
const step = (work: Step): Half => ({ prepare: async () => work });
const take = (notice: PaymentNotice) =>
  step((log) => openBilling(log, openCredits(log), 'stripe').take(notice, commandContext(Date.parse(AT))));

const submission = after(async ({ log }) => {
  await openFiller(log).buy('alice', 'pi', 10);
  return (dying) =>
    openSubmitJob(
      dying,
      openJobs(dying),
      openCredits(dying),
    )(
      {
        ...{ job_id: JOB_ID, owner_id: 'alice', owner_email: null, source: 'api', filename: null, blob_key: null },
        ...{ needs_credits: true, pages: pagesOf(['https://a.example/']) },
        counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
      },
      commandContext(),
    );
});
async function* pagesOf(urls: string[]) {
  yield { urls };
}

const HALVES: Readonly<Record<WorkName, Half>> = {
  listing: submission,
  reservation: submission,
  refund: after(async ({ log }) => {
    const filler = openFiller(log);
    await filler.buy('alice', 'pi', 10);
    const job_id = await filler.job('alice', 10, 0, 'running');
    return (dying) => openJobs(dying).run(job_id, { type: 'cancel' }, commandContext());
  }),
  deletion: after(async ({ log }) => {
    const filler = openFiller(log);
    await filler.buy('alice', 'pi', 10);
    const job_id = await filler.job('alice', 10, 0, 'failed');
    const ended = { job_id, owner_id: 'alice', credits_allocated: 10, completed_urls: 0 };
    return (dying) => openDeleteJob(openJobs(dying), openCredits(dying), async () => ended)(job_id, commandContext());
  }),
  payment: take({
    ...{ type: 'purchase_paid', at: AT, user_id: 'alice', customer_id: null, payment_id: 'pi' },
    ...{ package_id: 'p', credits: 10, amount_cents: 10, currency: 'usd' },
  }),
  'paid period': take(PERIOD),
  'payment issue': take(PERIOD),
  trial: after(async ({ log }) => {
    const filler = openFiller(log);
    await accountsOf(log).see({ user_id: 'alice', email: null }, commandContext());
    await filler.buy('alice', 'pi', 10);
    const job_id = await filler.job('alice', 10, 10, 'completed');
    return (dying) =>
      openTrials(dying, openCredits(dying), 50).begin('alice', { job_id, completed_at: AT }, commandContext());
  }),
  'bonus claim': after(async ({ log }) => {
    await accountsOf(log, 'fingerprint').see({ user_id: 'alice', email: null }, commandContext());
    const claim = { address: 'a1', site: null, user: 'u1', fingerprint: 'f1' };
    const seen = { user_id: 'alice', fingerprint: FINGERPRINT, claim };
    return (dying) => accountsOf(dying, 'fingerprint').recordFingerprint(seen, commandContext());
  }),
  'signup bonus': step((log) => accountsOf(log).see({ user_id: 'alice', email: null }, commandContext())),
  'sign-in': step(async (log) => {
    const context = commandContext();
    await accountsOf(log).see({ user_id: 'alice', email: null }, context);
    const session = { user_id: 'alice', email: null, is_admin: false, endings: 0, expires_at: AT };
    await openSessions(log).begin('s1', session as never, context);
  }),
  request: after(async ({ log }) => {
    await grant(openProcess(log), 10);
    return (dying, again) => openProcess(dying).submit({ now: NOW + (again ? LEASE_MS : 0) });
  }),
  disabling: after(async ({ log }) => {
    const [endpoint_id, context] = ['e1', commandContext()];
    const endpoint = { endpoint_id, user_id: 'alice', url: 'https://a.example/', events: [] };
    await openWebhookEndpoints(log).run('alice', { type: 'create', endpoint }, context);
    await openFiller(log).buy('alice', 'pi', 10);
    await openFiller(log).job('alice', 10, 10, 'cancelled');
    const disable = { type: 'disable', endpoint_id, reason: 'failing', enablings: 0 } as const;
    return (dying) => openWebhookEndpoints(dying).run('alice', disable, commandContext());
  }),
  erasure: after(async ({ log }) => {
    await accountsOf(log).see({ user_id: 'alice', email: null }, commandContext());
    await openFiller(log).job('alice', 10, 0, 'running');
    return (dying) => openErasures(dying).erase('alice', commandContext());
  }),
  backup: step((log) => openBackups(log).start('b1', commandContext())),
};

/** A log in which nothing of these types can be stored. */
const without = (log: EventStore, types: ReadonlySet<string>): EventStore =>
  new Proxy(log, {
    get(of, key) {
      if (key === 'append')
        return (...args: Parameters<EventStore['append']>) =>
          args[2].some(({ type }) => types.has(type))
            ? Promise.reject(Object.assign(new Error('killed'), { code: 'unavailable' }))
            : of.append(...args);
      const value: unknown = Reflect.get(of, key);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });

const idsOf = async (log: EventStore, types: readonly string[]) =>
  new Set((await Array.fromAsync(log.readAll({ filter: { types: [...types] } }))).map(({ id }) => id));

/** A pass of the manager, a day after it first saw the work. */
async function passLater(name: string, { log, documents }: TestStores): Promise<void> {
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  let elapsed_ms = 0;
  const monotonic = () => elapsed_ms;
  const readmodels = openReadModels(documents);
  const options = {
    ...{ log, readmodels, job_commands, credits, removals: openRemovals(), logger: silent, monotonic },
    ...{ now: Date.now, steady: Date.now, results_days: null, trial_credits: 50, payments: null },
    ...{ expiring_credits_days: 7, account_url: 'https://urls.example/console/account' },
    ...{ blobs: { delete: async () => {} }, mailer: { send: async () => null, erase: async () => {} } },
  } as unknown as ManagingOptions;
  const manager = managersOf(options).find((one) => one.name === name);
  if (!manager) throw new Error(`there is no manager ${name}`);
  const passes = passesOf(manager, readmodels, { monotonic });
  for (const at_ms of [0, 86_400_000]) {
    elapsed_ms = at_ms;
    await project({ log, documents });
    await passes.pass();
  }
}

async function finish(name: WorkName, stores: TestStores, work: Step): Promise<void> {
  const manager = managerOf(name);
  if (manager === null) await work(stores.log, true);
  else await passLater(manager, stores);
}

/** What an audit finds. `grace_ms`: −1 makes all that is half done late. */
async function audit(log: EventStore, grace_ms?: number) {
  const rules: string[] = [];
  const found = ({ rule }: { rule: string }) => void rules.push(rule);
  const auditing = openLedgerAudit({ found, ...(grace_ms !== undefined && { grace_ms }) });
  for await (const event of log.readAll())
    if (/^(credits|job|checks|payment)-/.test(event.stream)) auditing.take(event);
  const { open } = auditing.finish();
  auditing.close();
  return { rules, open };
}

async function halved(t: ExecutionContext, name: WorkName) {
  const stores = await openTestStores(t);
  const { log } = stores;
  const second = typesOf(name, 'second');
  const work = await HALVES[name].prepare(stores);
  const [firsts, seconds] = [await idsOf(log, typesOf(name, 'first')), await idsOf(log, second)];
  await work(without(log, new Set(second)), false).catch(() => {});
  t.true((await idsOf(log, typesOf(name, 'first'))).size > firsts.size, 'the first event is stored');
  t.is((await idsOf(log, second)).size, seconds.size, 'the second is not');
  return { stores, work, hasEnded: async () => (await idsOf(log, second)).size > seconds.size };
}

for (const name of WORK_NAMES) {
  test(`${name}: what is killed between its two streams is finished or undone`, async (t) => {
    const { stores, work, hasEnded } = await halved(t, name);
    await finish(name, stores, work);
    t.true(await hasEnded());
  });
}

for (const name of SWEPT_WORK) {
  test(`${name}: the read model of pending work has it until it ends`, async (t) => {
    const { stores } = await halved(t, name);
    const kinds = async () => {
      await project(stores);
      return (await openReadModels(stores.documents).collection(pending).find({})).map(({ kind }) => kind);
    };
    t.true((await kinds()).includes(name));
    await passLater('sweeper', stores);
    t.deepEqual(await kinds(), []);
  });
}

for (const name of AUDITED_WORK) {
  test(`${name}: the audit counts a half-done one, and reports it when it is late`, async (t) => {
    const { stores, work } = await halved(t, name);
    const { as } = WORK[name].audited;
    const early = await audit(stores.log);
    t.deepEqual([early.rules, early.open[as]], [[], 1]);
    t.is((await audit(stores.log, -1)).rules.length, 1);
    await finish(name, stores, work);
    const done = await audit(stores.log, -1);
    t.deepEqual([done.rules, done.open[as]], [[], 0]);
  });
}
