// A year of payments ends in the same credits and the same plan, in whatever order, how late and how often the provider reports it.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { openBilling, type PaymentNotice } from '../../commands/billing/billing.ts';
import { openSubscriptions } from '../../commands/billing/subscription.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import { creditsStream, jobStream } from '../../events/streams.ts';
import { type Subscription, subscriptionAt } from '../../events/subscription-state.ts';
import { assertLedger } from '../support/ledger.ts';
import { assertBounded } from '../support/smaller.ts';
import { commandContext, openTestStores } from '../support/stores.ts';
import { iso, noticesOf, type Year, year } from './billing-year.ts';

/** `BILLING_RUNS` for more; the others to have one run again. */
const { BILLING_RUNS, PROPERTY_SEED, PROPERTY_PATH } = process.env;
const RUNS = Number(BILLING_RUNS ?? 12);
const DAY = 86_400_000;
const again = {
  ...(PROPERTY_SEED ? { seed: Number(PROPERTY_SEED) } : {}),
  ...(PROPERTY_PATH ? { path: PROPERTY_PATH } : {}),
};

interface Delivery {
  /** When it comes, in milliseconds since the epoch. */
  at: number;
  notice: PaymentNotice;
}
interface Use {
  at: number;
  job_id: string;
  up_to: number;
  /** Of what was reserved, in hundredths; given back ten days later. */
  unused: number;
}

/** Delivers the notices at their times, expires what is due every day, and lets jobs use credits. Returns what is left at the end. */
async function live(
  log: EventStore,
  user_id: string,
  deliveries: readonly Delivery[],
  until: number,
  uses: readonly Use[] = [],
) {
  const credits = openCredits(log);
  const billing = openBilling(log, credits, 'stripe');
  const subscriptions = openSubscriptions(log);
  const clock = { now: 0 };
  const context = () => ({ ...commandContext(), now: clock.now });
  const acts: { at: number; act: () => Promise<unknown> }[] = deliveries.map(({ at, notice }) => ({
    at,
    act: () => billing.take(notice, context()),
  }));
  for (const { at, job_id, up_to, unused } of uses) {
    const reservation_id = `${job_id}:0`;
    const held = async () => {
      const { state } = await credits.aggregate.read(creditsStream(user_id));
      return state.reservations.get(reservation_id)?.amount ?? 0;
    };
    const eventOf = (type: string, data: object) => {
      const { now: _, ...cause } = context();
      return { id: randomUUID(), type, data, metadata: { ...cause, at: iso(clock.now) } };
    };
    const reserve = async () => {
      await credits.run(user_id, { type: 'reserve', reservation_id, job_id, up_to }, context());
      const data = { owner_id: user_id, credits_allocated: await held(), reservation_id };
      if (data.credits_allocated > 0) await log.append(jobStream(job_id), 'no_stream', [eventOf('JobCreated', data)]);
    };
    const giveBack = async () => {
      const amount = Math.floor(((await held()) * unused) / 100);
      if (amount === 0) return;
      // Deleted, because it has no results.
      const ended = eventOf('JobCompleted', { completed_urls: (await held()) - amount });
      await log.append(jobStream(job_id), 0, [ended, eventOf('JobDeleted', {})]);
      await credits.run(user_id, { type: 'refund', job_id, reservation_ids: [reservation_id], amount }, context());
    };
    acts.push({ at, act: reserve }, { at: at + 10 * DAY, act: giveBack });
  }
  const expire = async () => {
    await credits.run(user_id, { type: 'expire' }, context());
    await subscriptions.run(user_id, { type: 'endGrace' }, context());
  };
  let expired_until = 0;
  for (const { at, act } of acts.sort((a, b) => a.at - b.at)) {
    clock.now = at;
    if (at - expired_until >= DAY) {
      await expire();
      expired_until = at;
    }
    await act();
  }
  clock.now = until;
  await expire();
  const { state } = await credits.aggregate.read(creditsStream(user_id));
  const plan = subscriptionAt(await subscriptions.read(user_id), until);
  return { state, plan };
}

const nameless = (id: string, user_id: string) => id.replaceAll(user_id, '');

function endOf(user_id: string, { state, plan }: Awaited<ReturnType<typeof live>>) {
  const lots = state.lots.map(({ lot_id, remaining, expires_at, reversed }) => {
    const taken_back = reversed.own + reversed.expired + reversed.others;
    return [nameless(lot_id, user_id), { remaining, expires_at, taken_back }] as const;
  });
  return {
    balance: state.balance,
    owed: state.owed,
    lots: Object.fromEntries(lots.sort(([a], [b]) => (a < b ? -1 : 1))),
    plan: plan && ({ ...plan, subscription_id: '' } satisfies Subscription),
  };
}

/** For each notice, drawn delays of its deliveries in days: one at the least. */
const delays = fc.array(fc.array(fc.double({ min: 0, max: 200, noNaN: true }), { minLength: 1, maxLength: 3 }), {
  minLength: 200,
  maxLength: 200,
});

function drawn(of: Year, user_id: string, late: readonly (readonly number[])[]) {
  const notices = noticesOf(of, user_id);
  const punctual = notices.map((notice) => ({ at: Date.parse(notice.at), notice }));
  const shuffled = punctual.flatMap(({ at, notice }, n) =>
    late[n % late.length]!.map((days) => ({ at: at + Math.floor(days * DAY), notice })),
  );
  const until = Math.max(...[...punctual, ...shuffled].map(({ at }) => at)) + 1;
  return { punctual, shuffled, until };
}

test('late, repeated and shuffled notices of a year end in the same credits and plan', async (t) => {
  const { log } = await openTestStores(t);
  let users = 0;
  const property = fc.asyncProperty(year, delays, async (of, late) => {
    const [a, b] = [`alice${++users}`, `bobby${users}`];
    const { until } = drawn(of, a, late);
    const right = endOf(a, await live(log, a, drawn(of, a, late).punctual, until));
    const wrong_order = endOf(b, await live(log, b, drawn(of, b, late).shuffled, until));
    t.deepEqual(wrong_order, right);
    // Once more, all of it at the end: nothing changes.
    const repeated = drawn(of, b, late).punctual.map(({ notice }) => ({ at: until, notice }));
    t.deepEqual(endOf(b, await live(log, b, repeated, until)), right);
  });
  await assertBounded(property, { numRuns: RUNS, ...again });
  await assertLedger(t, log);
});

test('with jobs in between, no credit is lost, made or spent after its period', async (t) => {
  const { log } = await openTestStores(t);
  const uses = fc.array(
    fc.record({
      on: fc.integer({ min: 0, max: 400 }),
      up_to: fc.integer({ min: 1, max: 60_000 }),
      unused: fc.integer({ min: 0, max: 100 }),
    }),
    { maxLength: 20 },
  );
  let users = 0;
  const property = fc.asyncProperty(year, delays, uses, async (of, late, jobs) => {
    const user_id = `carol${++users}`;
    const { shuffled, until } = drawn(of, user_id, late);
    const begin = Date.parse(of.start);
    const used = jobs.map(({ on, ...use }, n) => ({ ...use, at: begin + on * DAY, job_id: `${user_id}-${n}` }));
    const end = Math.max(until, ...used.map(({ at }) => at + 11 * DAY));
    const { state } = await live(log, user_id, shuffled, end, used);
    t.true(state.owed === 0 || state.balance === 0);
    t.deepEqual(
      state.lots.filter(({ remaining, expires_at }) => remaining > 0 && expires_at !== null && expires_at <= iso(end)),
      [],
    );
  });
  await assertBounded(property, { numRuns: RUNS, ...again });
  await assertLedger(t, log);
});
