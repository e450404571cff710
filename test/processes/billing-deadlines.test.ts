// What is due at a time: lots expire, graces end and trials begin, each once.

import test, { type ExecutionContext } from 'ava';
import { openBilling } from '../../commands/billing/billing.ts';
import { openSubscriptions } from '../../commands/billing/subscription.ts';
import { openTrials } from '../../commands/billing/trial.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import { creditsStream, jobStream, userStream } from '../../events/streams.ts';
import { GRACE_MS, subscriptionAt } from '../../events/subscription-state.ts';
import { type BillingDeadlinesOptions, billingDeadlines } from '../../processes/billing-deadlines.ts';
import { creditLots } from '../../readmodels/billing/credits.ts';
import { subscriptions as subscriptionDocuments } from '../../readmodels/billing/subscriptions.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { passesOf } from '../support/manager-pass.ts';
import { commandContext, openTestStores, project } from '../support/stores.ts';

const START = Date.parse('2026-01-31T09:00:00.000Z');
const DAY = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

async function world(t: ExecutionContext) {
  const stores = await openTestStores(t);
  const { log } = stores;
  const clock = { now: START };
  const context = () => ({ ...commandContext(), now: clock.now });
  const credits = openCredits(log);
  const subscriptions = openSubscriptions(log);
  const readmodels = openReadModels(stores.documents);
  const options = (): BillingDeadlinesOptions => ({
    credits: openCredits(log),
    subscriptions: openSubscriptions(log),
    trials: openTrials(log, credits, 50_000),
    context,
  });
  /** Passes of all that is due at times, with what they have put off. */
  function open(changed: Partial<BillingDeadlinesOptions> = {}, logger: Parameters<typeof passesOf>[2] = {}) {
    const now = () => clock.now;
    const all = billingDeadlines({ ...options(), ...changed }).map((one) =>
      passesOf(one, readmodels, { now, monotonic: now, ...logger }),
    );
    return async () => {
      for (const one of all) await one.pass();
    };
  }
  /** The earliest time at which more is due; null for none that is known. */
  async function next(): Promise<string | null> {
    const later = { $gt: iso(clock.now) };
    const [lot] = await readmodels.collection(creditLots).find({ due_at: later }, { sort: { due_at: 1 }, limit: 1 });
    const documents = readmodels.collection(subscriptionDocuments);
    const [grace] = await documents.find({ grace_until: later }, { sort: { grace_until: 1 }, limit: 1 });
    return [lot?.due_at, grace?.grace_until].filter((time) => time != null).sort()[0] ?? null;
  }
  return {
    ...{ log, credits, subscriptions, clock, context, billing: openBilling(log, credits, 'sandbox') },
    open,
    project: () => project(stores),
    async pass() {
      await project(stores);
      await open()();
      await project(stores);
      return next();
    },
    trialDue: () => readmodels.collection(subscriptionDocuments).find({ is_trial_due: true }),
    ledger: async (user_id: string) => {
      const events = await Array.fromAsync(log.readStream(creditsStream(user_id)));
      return events.map(({ type, data }) => [type, (data as { amount: number }).amount]);
    },
  };
}

const grant = (amount: number, expires_at: string | null, reference_id = `s${amount}`) =>
  ({ type: 'grant', transaction_type: 'subscription', reference_id, amount, expires_at }) as const;

test('a lot expires at its time, once, and the next pass is due with the next lot', async (t) => {
  const { credits, clock, context, pass, ledger } = await world(t);
  await credits.run('alice', grant(100, iso(START + 10 * DAY)), context());
  await credits.run('alice', grant(50, null), context());
  await credits.run('bob', grant(70, iso(START + 20 * DAY)), context());
  t.is(await pass(), iso(START + 10 * DAY));
  clock.now = START + 10 * DAY - 1;
  t.is(await pass(), iso(START + 10 * DAY));
  clock.now += 1;
  t.is(await pass(), iso(START + 20 * DAY));
  t.is(await pass(), iso(START + 20 * DAY));
  t.deepEqual((await ledger('alice')).at(-1), ['CreditsExpired', -100]);
  t.is((await ledger('alice')).length, 3);
  t.is((await ledger('bob')).length, 1);
});

test('a ledger that cannot be read holds up nobody else', async (t) => {
  const { credits, subscriptions, clock, context, project, open } = await world(t);
  const failure = { subscription_id: 'sub', payment_id: 'in_1', failed_at: iso(START) };
  await subscriptions.run('bob', { type: 'recordFailure', ...failure }, context());
  await credits.run('alice', grant(50, iso(START + DAY)), context());
  clock.now = START + GRACE_MS;
  await project();
  const broken = { ...credits, run: () => Promise.reject(new Error('the ledger is of a later service')) };
  const users: unknown[] = [];
  const logger = { error: ({ id }: { id?: string }) => void users.push(id) } as never;
  const pass = open({ credits: broken }, { logger });
  await pass();
  await pass();
  t.deepEqual(users, ['alice'], 'she is put off');
  const away = { ...subscriptions, run: () => Promise.reject(Object.assign(new Error(), { code: 'unavailable' })) };
  await t.throwsAsync(open({ subscriptions: away as never }));
  t.true((await subscriptions.read('bob')).unpaid[0]!.is_downgraded);
});

test('two passes at once over stale documents expire a lot once', async (t) => {
  const { credits, clock, context, project, pass, ledger } = await world(t);
  await credits.run('alice', grant(100, iso(START + DAY)), context());
  await project();
  clock.now = START + 2 * DAY;
  await Promise.all([pass(), pass(), pass()]);
  t.deepEqual(await ledger('alice'), [
    ['CreditsGranted', 100],
    ['CreditsExpired', -100],
  ]);
});

test('a job that holds a part of a lot gives it back, and that part expires then', async (t) => {
  const { credits, clock, context, pass, ledger } = await world(t);
  await credits.run('alice', grant(100, iso(START + DAY)), context());
  await credits.run('alice', { type: 'reserve', reservation_id: 'j:0', job_id: 'j', up_to: 60 }, context());
  clock.now = START + 2 * DAY;
  t.is(await pass(), null);
  await credits.run('alice', { type: 'refund', job_id: 'j', reservation_ids: ['j:0'], amount: 25 }, context());
  await pass();
  t.deepEqual(await ledger('alice'), [
    ['CreditsGranted', 100],
    ['CreditsReserved', -60],
    ['CreditsExpired', -40],
    ['CreditsRefunded', 25],
    ['CreditsExpired', -25],
  ]);
});

test('a plan whose payment fails stays for the grace, and comes back with the payment', async (t) => {
  const { billing, subscriptions, clock, context, pass } = await world(t);
  const period = {
    period_start: iso(START),
    period_end: iso(START + 28 * DAY),
    plan: 'pro',
    interval: 'month',
  } as const;
  const subscription = {
    subscription_id: 'sub',
    customer_id: null,
    status: 'active',
    cancel_at: null,
    ...period,
  } as const;
  const of = { user_id: 'alice', subscription_id: 'sub', payment_id: 'in_2' };
  const plan = async () => subscriptionAt(await subscriptions.read('alice'), clock.now)?.plan ?? 'free';
  await billing.take({ type: 'subscription_changed', at: iso(START), user_id: 'alice', subscription }, context());
  clock.now = START + 28 * DAY;
  await billing.take({ type: 'period_failed', at: iso(clock.now), ...of }, context());
  const failed_at = clock.now;
  t.is(await pass(), iso(failed_at + GRACE_MS));
  t.is(await plan(), 'pro');
  await billing.take({ type: 'period_failed', at: iso(clock.now + 3 * DAY), ...of }, context());
  clock.now = failed_at + GRACE_MS;
  t.is(await pass(), null);
  await pass();
  t.is(await plan(), 'free');
  t.true((await subscriptions.read('alice')).unpaid[0]!.is_downgraded);
  const paid = { customer_id: null, lines: [], amount_cents: 2900, currency: 'usd' };
  await billing.take({ type: 'period_paid', at: iso(clock.now), ...of, ...paid }, context());
  t.deepEqual((await subscriptions.read('alice')).unpaid, []);
});

const appendTo = (log: EventStore) => (stream: string, type: string, data: object, at: number) =>
  log.append(stream, 'no_stream', [
    {
      id: crypto.randomUUID(),
      ...{ type, data },
      metadata: { command_id: stream, causation_id: stream, actor: 'test', at: iso(at) },
    },
  ]);

test('the first completed job of an API key begins a month of pro, once in a life', async (t) => {
  const { log, subscriptions, clock, pass, ledger } = await world(t);
  const append = appendTo(log);
  const complete = (job_id: string, source: string, owner_id: string, at: number) =>
    append(jobStream(job_id), 'JobCompleted', { completed_urls: 1, broken_urls: 0, owner_id, source }, at);
  await append(userStream('alice'), 'SignupBonusApproved', {}, START - 10);
  await complete('upload', 'upload', 'alice', START - 5);
  await pass();
  t.deepEqual(await ledger('alice'), []);
  await complete('first', 'api', 'alice', START);
  await complete('second', 'api', 'alice', START + 1);
  await pass();
  await complete('third', 'api', 'alice', START + 2);
  await pass();
  t.deepEqual(await ledger('alice'), [['CreditsGranted', 50_000]]);
  const state = await subscriptions.read('alice');
  t.like(state.trial, { job_id: 'first', period_start: iso(START), period_end: '2026-02-28T09:00:00.000Z' });
  t.like(subscriptionAt(state, clock.now), { plan: 'pro', is_trial: true, status: 'trialing' });
  clock.now = Date.parse('2026-02-28T09:00:00.000Z');
  await pass();
  await complete('fourth', 'api', 'alice', clock.now);
  await pass();
  t.deepEqual((await ledger('alice')).at(-1), ['CreditsExpired', -50_000]);
  t.is(subscriptionAt(state, clock.now), null);
});

test('no trial begins without an approved signup bonus, and users without one hold up nobody', async (t) => {
  const { log, pass, ledger, trialDue } = await world(t);
  const append = appendTo(log);
  const job = { completed_urls: 1, broken_urls: 0, source: 'api' };
  for (const owner_id of ['withheld', 'undecided']) {
    await append(jobStream(`of ${owner_id}`), 'JobCompleted', { ...job, owner_id }, START);
  }
  await append(userStream('withheld'), 'SignupBonusWithheld', { reason: 'address_limit' }, START);
  await pass();
  t.deepEqual([await ledger('withheld'), await ledger('undecided')], [[], []]);
  t.deepEqual(await trialDue(), [], 'no pass reads them');
  await append(userStream('undecided'), 'SignupBonusApproved', {}, START + 1);
  await pass();
  t.deepEqual([await ledger('withheld'), await ledger('undecided')], [[], [['CreditsGranted', 50_000]]]);
});

test('a trial whose process was killed after its credits is recorded for the same job', async (t) => {
  const { log, credits, subscriptions, context, ledger } = await world(t);
  const job = { job_id: 'first', completed_at: iso(START) };
  const trials = openTrials(log, credits, 50_000);
  await credits.run(
    'alice',
    {
      type: 'grant',
      ...{ transaction_type: 'trial', reference_id: 'alice', amount: 50_000, expires_at: '2026-02-28T09:00:00.000Z' },
    },
    context(),
  );
  await Promise.all([
    trials.begin('alice', job, context()),
    openTrials(log, openCredits(log), 50_000).begin('alice', job, context()),
  ]);
  t.is((await ledger('alice')).length, 1);
  t.is((await subscriptions.read('alice')).trial?.job_id, 'first');
  t.is(await trials.begin('alice', { ...job, job_id: 'other' }, context()), null);
});
