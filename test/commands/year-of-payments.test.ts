// A year of two customers, with every event that the provider sends of it: in random order, repeatedly, over two processes that are killed. What
// is left is what the same events make in their order, and what an accountant computes of them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openStripe } from '../../adapters/payments/stripe.ts';
import { openBilling, type PaymentNotice } from '../../commands/billing/billing.ts';
import { PLAN_PRICES } from '../../commands/billing/plans.ts';
import { openSubscriptions } from '../../commands/billing/subscription.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import { creditsStream, idOf } from '../../events/streams.ts';
import { bound, dyingAt } from '../support/dying.ts';
import { type FakeStripe, openFakeStripe, stripeEvent, WEBHOOK_SECRET } from '../support/fake-stripe.ts';
import { assertLedger } from '../support/ledger.ts';
import { commandContext } from '../support/stores.ts';

/** `YEAR_RUNS` for more, from `YEAR_SEED` on. The turns of the processes are those of the machine. */
const RUNS = Number(process.env.YEAR_RUNS ?? 4);
const FIRST_SEED = Number(process.env.YEAR_SEED ?? 1);
const USERS = ['alice', 'bob'];
const START_S = Date.UTC(2027, 0, 31, 9) / 1000;
const DAY_S = 86_400;
/** After the year: credits of plans have expired, those of packages are left. */
const AFTER_MS = (START_S + 400 * DAY_S) * 1000;
const monthsOn = (n: number) => Date.UTC(2027, n + 1, 0, 9) / 1000;

const randomOf = (seed: number) => {
  let state = seed * 7_919 + 1;
  return (below: number) => (state = (state * 48_271) % 2_147_483_647) % below;
};

interface Sent {
  type: string;
  object: object;
  created: number;
}

/** What Stripe sends of one customer, in its order. */
function yearOf(user_id: string, prices: { starter: string; pro: string }, fake: FakeStripe): Sent[] {
  const sent: Sent[] = [];
  const send = (created: number, type: string, object: object) => void sent.push({ type, object, created });
  const [customer, subscription] = [`cus_${user_id}`, `sub_${user_id}`];
  const parent = { subscription_details: { subscription, metadata: { user_id } } };
  const line = (price: string, amount: number, start: number, end: number, proration = false) => ({
    ...{ amount, currency: 'usd', period: { start, end }, pricing: { price_details: { price } } },
    parent: { subscription_item_details: { proration } },
  });
  const invoice = (id: string, total: number, lines: object[]) => ({
    ...{ id, customer, total, currency: 'usd', parent, lines: { has_more: false, data: lines } },
  });
  const state = (price: string, status: string, start: number, end: number, more = {}) => ({
    ...{ id: subscription, customer, status, cancel_at: null, cancel_at_period_end: false, metadata: { user_id } },
    items: { data: [{ price: { id: price }, current_period_start: start, current_period_end: end }] },
    ...more,
  });
  const refund = (of: string, amount: number, status: string) => ({
    ...{ id: `re_${of}`, payment_intent: of, amount, currency: 'usd', status },
  });
  const dispute = (of: string, amount: number, status: string) => ({
    ...{ id: `dp_${of}`, payment_intent: of, amount, currency: 'usd', status },
  });
  send(START_S, 'customer.subscription.created', state(prices.starter, 'active', monthsOn(0), monthsOn(1)));
  for (let month = 0; month < 12; month += 1) {
    const [start, end] = [monthsOn(month), monthsOn(month + 1)];
    const [price, cents] = month < 6 ? [prices.starter, 900] : [prices.pro, 2900];
    const id = `in_${user_id}_${month}`;
    fake.invoices.set(`pi_${id}`, id);
    const paid = invoice(id, cents, [line(price, cents, start, end)]);
    if (month > 0) send(start, 'customer.subscription.updated', state(price, 'active', start, end));
    if (month % 4 === 3) {
      send(start + 60, 'invoice.payment_failed', paid);
      send(start + 61, 'customer.subscription.updated', state(price, 'past_due', start, end));
      send(start + 3 * DAY_S, 'customer.subscription.updated', state(price, 'active', start, end));
    }
    send(start + 3 * DAY_S + 1, 'invoice.paid', paid);
    if (month === 5) {
      const at = start + 10 * DAY_S;
      const changes = [line(prices.starter, -600, at, end, true), line(prices.pro, 1933, at, end, true)];
      send(at, 'customer.subscription.updated', state(prices.pro, 'active', start, end));
      send(at + 1, 'invoice.paid', invoice(`in_${user_id}_up`, 1333, changes));
    }
    const intent = `pi_${user_id}_${month}`;
    const session = {
      ...{ id: `cs_${intent}`, mode: 'payment', payment_status: 'paid', payment_intent: intent, customer },
      ...{ amount_total: 500, currency: 'usd', metadata: { user_id, package_id: 'credits_5000', credits: '5000' } },
    };
    send(
      start + 5,
      month % 3 === 0 ? 'checkout.session.async_payment_succeeded' : 'checkout.session.completed',
      session,
    );
    if (month % 3 === 1) {
      send(start + 6, 'refund.created', refund(intent, 100 + month, 'pending'));
      send(start + 7, 'refund.updated', refund(intent, 100 + month, 'succeeded'));
      if (month === 4) send(start + 8, 'refund.failed', refund(intent, 100 + month, 'failed'));
    }
    if (month % 3 === 2) {
      send(start + 6, 'charge.dispute.created', dispute(intent, 500, 'needs_response'));
      send(start + 7, 'charge.dispute.funds_withdrawn', dispute(intent, 500, 'under_review'));
      send(start + 8, 'charge.dispute.closed', dispute(intent, 500, month === 5 ? 'lost' : 'won'));
      // Won, and lost after all.
      if (month === 8) send(start + 9, 'charge.dispute.updated', dispute(intent, 500, 'lost'));
    }
    if (month === 2) send(start + 4 * DAY_S, 'refund.created', refund(`pi_${id}`, 450, 'succeeded'));
  }
  const [start, end] = [monthsOn(11), monthsOn(12)];
  send(
    start + DAY_S,
    'customer.subscription.updated',
    state(prices.pro, 'active', start, end, { cancel_at_period_end: true }),
  );
  send(end, 'customer.subscription.deleted', state(prices.pro, 'canceled', start, end));
  return sent;
}

/** The packages that stay: 12 of 5,000 credits for 5.00, less the share that went back for good. */
const backOf = (month: number) => (month === 5 || month === 8 ? 500 : month % 3 === 1 && month !== 4 ? 100 + month : 0);
const EXPECTED = Array.from({ length: 12 }, (_, month) => 5000 - Math.floor((5000 * backOf(month)) / 500)).reduce(
  (sum, credits) => sum + credits,
  0,
);

async function noticesOfYear(t: ExecutionContext): Promise<PaymentNotice[][]> {
  const fake = await openFakeStripe();
  t.teardown(fake.close);
  const stripe = openStripe({
    secret_key: 'sk_test_1',
    webhook_secret: WEBHOOK_SECRET,
    api_url: fake.url,
    prices: PLAN_PRICES,
  });
  const priceOf = async (plan: 'starter' | 'pro', price_cents: number) => {
    const item = { kind: 'plan', plan, interval: 'month', name: plan, credits: 1, price_cents } as const;
    const order = {
      user_id: 'x',
      email: null,
      customer_id: null,
      currency: 'usd',
      item,
      success_url: 'a',
      cancel_url: 'b',
    };
    await stripe.checkout(order);
    return fake.posted.at(-1)!.form['line_items[0][price]']!;
  };
  const prices = { starter: await priceOf('starter', 900), pro: await priceOf('pro', 2900) };
  const sent = USERS.flatMap((user_id) => yearOf(user_id, prices, fake)).sort((a, b) => a.created - b.created);
  const types = new Set(sent.map(({ type }) => type));
  t.is(types.size, 14);
  return Promise.all(
    sent.map(async ({ type, object, created }) => {
      const { raw, headers } = stripeEvent(type, object, created);
      return (await stripe.read(raw, (name) => (headers as Record<string, string>)[name] ?? ''))!.notices;
    }),
  );
}

async function openLog(t: ExecutionContext, path: string): Promise<EventStore> {
  const log = await openSqliteEventStore({ path });
  t.teardown(() => log.close());
  return log;
}

const context = () => commandContext(AFTER_MS);

/** What the log says in the end, whatever the order was in which it learned it. */
async function figuresOf(log: EventStore) {
  const payments = new Map<string, Set<string>>();
  const issues = new Set<string>();
  for await (const { stream, type, data } of log.readAll({ filter: { categories: ['payment', 'payment_issue'] } })) {
    if (stream.startsWith('payment_issue-')) issues.add(JSON.stringify(data));
    else if (type === 'PaymentReceived') payments.set(idOf(stream), new Set([JSON.stringify(data)]));
  }
  const of_users = await Promise.all(
    USERS.map(async (user_id) => {
      await openCredits(log).run(user_id, { type: 'expire' }, context());
      const { state } = await openCredits(log).aggregate.read(creditsStream(user_id));
      const { subscriptions, unpaid, paid } = await openSubscriptions(log).read(user_id);
      const lots = state.lots
        .filter(({ remaining }) => remaining > 0)
        .map(({ lot_id, remaining }) => [lot_id, remaining]);
      return {
        balance: state.balance,
        owed: state.owed,
        lots: lots.sort(),
        subscriptions,
        unpaid,
        paid: paid.toSorted(),
      };
    }),
  );
  return { payments: [...payments].sort(), issues: [...issues].sort(), of_users };
}

test('a year of every event, in any order over two processes that are killed, ends as in its own order', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'year-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const deliveries = await noticesOfYear(t);
  const ordered = await openLog(t, join(folder, 'ordered.db'));
  const billing = openBilling(ordered, openCredits(ordered), 'stripe');
  for (const notices of deliveries) for (const notice of notices) await billing.take(notice, context());
  const expected = await figuresOf(ordered);
  for (const { balance, owed, subscriptions } of expected.of_users) {
    t.is(balance, EXPECTED);
    t.is(owed, 0);
    t.is(subscriptions[0]!.status, 'canceled');
  }

  let deaths = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed += 1) {
    const random = randomOf(seed);
    const path = join(folder, `${seed}.db`);
    const processes = [await openLog(t, path), await openLog(t, path)];
    const queue = deliveries.flatMap((notices) => Array.from({ length: 1 + random(2) }, () => notices));
    for (let n = queue.length - 1; n > 0; n -= 1) {
      const other = random(n + 1);
      [queue[n], queue[other]] = [queue[other]!, queue[n]!];
    }
    /** Delivers one event after the other, as the provider does to one process: until the process answers. */
    async function play(log: EventStore): Promise<void> {
      for (let notices = queue.pop(); notices !== undefined; notices = queue.pop()) {
        const is_killed = random(4) === 0;
        const killing = dyingAt(1 + random(3), random(2) === 0 ? 'before' : 'after');
        const store = bound(log);
        const dying = is_killed ? { ...store, append: killing(store.append) } : store;
        const process = openBilling(dying, openCredits(dying), 'stripe');
        try {
          for (const notice of notices) await process.take(notice, context());
        } catch (error) {
          if ((error as Error).message !== 'killed') throw error;
          deaths += 1;
          queue.splice(random(queue.length + 1), 0, notices);
        }
      }
    }
    await Promise.all(processes.flatMap((log) => [play(log), play(log)]));
    t.deepEqual(await figuresOf(processes[0]!), expected, `YEAR_SEED=${seed}`);
    await assertLedger(t, processes[1]!);
  }
  t.true(deaths > RUNS);
});
