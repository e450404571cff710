// A drawn year of users, their jobs and their money: the events of the log, and beside them the plain facts by which a test counts again.

import { addMonths as laterMonths } from '../../commands/billing/months.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import { openRandom, type Random } from '../torture/random.ts';

export const FIRST_DAY = '2027-02-01';
export const DAYS = 365;
const DAY_MS = 86_400_000;
const START_MS = Date.parse(FIRST_DAY);
const CENTS = { starter: 900, pro: 2_900, agency: 9_900 } as const;
type Plan = keyof typeof CENTS;

/** Days count from 0, the first day of the year. */
export interface DrawnUser {
  user_id: string;
  signed_up: number;
  steps: Set<string>;
  /** The day of each job. */
  jobs: number[];
  /** The times of paywall events in ms, and whether each was a view. */
  paywall: { at_ms: number; is_view: boolean }[];
  /** The provider's times of the payments of more than nothing, in ms. */
  paid_ms: number[];
  /** MRR at the end of each day, by currency. */
  mrr: { usd: number[]; eur: number[] };
  erased: number | null;
}
export interface Money {
  day: number;
  currency: 'usd' | 'eur';
  kind: 'packages' | 'subscriptions' | 'refunds' | 'disputes';
  cents: number;
}
export interface DrawnYear {
  /** In the order of the log. */
  events: LogEvent[];
  users: DrawnUser[];
  money: Money[];
  checked: { day: number; urls: number; broken: number; soft_404: number }[];
}

export const dayAt = (day: number) => new Date(START_MS + day * DAY_MS).toISOString().slice(0, 10);
const iso = (ms: number) => new Date(ms).toISOString();

export function drawYear(seed: number, count: number): DrawnYear {
  const random = openRandom(seed);
  const drawn: { logged_ms: number; event: LogEvent }[] = [];
  const year: DrawnYear = { events: [], users: [], money: [], checked: [] };
  let numbers = 0;
  /** `late_ms`: the log takes it so much later than its own time says. */
  const log = (stream: string, type: LogEvent['type'], at_ms: number, data: object, late_ms = 0) => {
    const metadata = { command_id: '', causation_id: '', actor: 'test', at: iso(at_ms) };
    const event = { id: `e${numbers++}`, stream, type, revision: 0, position: '', data, metadata };
    drawn.push({ logged_ms: at_ms + late_ms, event: event as unknown as LogEvent });
  };
  for (let n = 0; n < count; n++) drawUser(random.fork(`user${n}`), `user-${n}`, log, year);
  drawn.sort((a, b) => a.logged_ms - b.logged_ms);
  return { ...year, events: drawn.map(({ event }) => event) };
}

type Log = (stream: string, type: LogEvent['type'], at_ms: number, data: object, late_ms?: number) => void;

function drawUser(random: Random, user_id: string, log: Log, year: DrawnYear): void {
  const signed_up = random.between(0, DAYS - 1);
  const signed_up_ms = START_MS + signed_up * DAY_MS + random.between(0, DAY_MS - 1);
  const end_ms = START_MS + DAYS * DAY_MS;
  const mrr = { usd: Array<number>(DAYS).fill(0), eur: Array<number>(DAYS).fill(0) };
  const user: DrawnUser = {
    ...{ user_id, signed_up, steps: new Set(), jobs: [], paywall: [], paid_ms: [], mrr, erased: null },
  };
  year.users.push(user);
  const dayOfMs = (ms: number) => Math.floor((ms - START_MS) / DAY_MS);
  const anyTime = () => random.between(signed_up_ms + 1, end_ms - 1);
  log(`user-${user_id}`, 'UserRegistered', signed_up_ms, { user_id, email: null });
  if (random.chance(0.8) && signed_up_ms + 2 < end_ms) {
    const at = Math.min(end_ms - 1, signed_up_ms + random.between(1, 3 * DAY_MS));
    for (let again = random.between(1, 2); again > 0; again--) log(`user-${user_id}`, 'FingerprintRecorded', at, {});
    user.steps.add('fingerprint');
  }
  if (random.chance(0.25)) {
    log(`api_keys-${user_id}`, 'ApiKeyCreated', anyTime(), { user_id });
    user.steps.add('api_key');
  }
  // Some come daily for a while, most now and then.
  const busy_days = random.chance(0.2) ? random.between(5, 60) : 0;
  const job_days = [
    ...Array.from({ length: busy_days }, (_, day) => signed_up + 1 + day),
    ...Array.from({ length: random.between(0, 6) }, () => dayOfMs(anyTime())),
  ].filter((day) => day < DAYS);
  for (const [n, day] of job_days.entries()) {
    const at = Math.max(signed_up_ms + 1, START_MS + day * DAY_MS + random.between(0, DAY_MS - 1));
    if (at >= end_ms) continue;
    user.jobs.push(dayOfMs(at));
    user.steps.add('first_job');
    // The clock of the process that took it was up to a day behind.
    log(`job-${user_id}-${n}`, 'JobCreated', at, { owner_id: user_id }, random.chance(0.05) ? DAY_MS : 0);
    drawChecks(random, `${user_id}-${n}`, at, log, year);
  }
  if (random.chance(0.4)) {
    for (let n = random.between(1, 5); n > 0; n--) {
      const [at_ms, is_view] = [anyTime(), random.chance(0.7)];
      user.paywall.push({ at_ms, is_view });
      const event = is_view ? random.pick(['paywall_shown', 'viewed']) : 'dismissed';
      log('intake-day-0', 'PaywallEventReceived', at_ms, { event_id: '', user_id, event, properties: '{}' });
    }
  }
  if (random.chance(0.15)) drawPackages(random, user, anyTime, log, year);
  if (random.chance(0.3)) drawPlan(random, user, anyTime(), log, year);
  if (random.chance(0.03)) {
    user.erased = DAYS - 1;
    log(`user-${user_id}`, 'UserErased', end_ms - 1, {}, 4 * DAY_MS);
    log(`user-${user_id}`, 'UserForgotten', end_ms - 1, {}, 4 * DAY_MS + 1);
    for (const levels of [mrr.usd, mrr.eur]) levels[DAYS - 1] = 0;
  }
}

function drawChecks(random: Random, job_id: string, at_ms: number, log: Log, year: DrawnYear): void {
  const day = Math.min(DAYS - 1, Math.floor((at_ms + 60_000 - START_MS) / DAY_MS));
  const domains = Array.from({ length: random.between(1, 3) }, () => {
    const checks = random.between(1, 50);
    const [failures, soft_404] = [random.between(0, checks), random.between(0, 3)];
    year.checked.push({ day, urls: checks, broken: failures, soft_404 });
    return { checks, failures, verdicts: soft_404 === 0 ? { ok: 1 } : { soft_404 } };
  });
  const checked_ms = Math.min(at_ms + 60_000, START_MS + DAYS * DAY_MS - 1);
  log(`domain_checks-${job_id}`, 'DomainsChecked', checked_ms, { job_id, domains, last: true });
}

/** The news of a payment comes up to three days after it. */
const lateness = (random: Random) => (random.chance(0.1) ? random.between(1, 3 * DAY_MS) : 0);

function drawPackages(random: Random, user: DrawnUser, anyTime: () => number, log: Log, year: DrawnYear): void {
  for (let n = random.between(1, 3); n > 0; n--) {
    const [at, cents] = [anyTime(), random.pick([0, 500, 2_000, 6_000])];
    const currency = random.chance(0.1) ? 'eur' : 'usd';
    const payment_id = `pi-${n}-${user.user_id}`;
    if (cents > 0) user.steps.add('purchase');
    pay(random, user, { payment_id, at, cents, currency, kind: 'packages', period: null }, log, year);
  }
}

interface Paid {
  payment_id: string;
  at: number;
  cents: number;
  currency: 'usd' | 'eur';
  kind: 'packages' | 'subscriptions';
  period: object | null;
}

function pay(random: Random, user: DrawnUser, paid: Paid, log: Log, year: DrawnYear): void {
  const { payment_id, at, cents, currency, kind, period } = paid;
  const { user_id } = user;
  const day = Math.floor((at - START_MS) / DAY_MS);
  const late = lateness(random);
  const package_id = period === null ? 'p' : null;
  const data = { user_id, amount_cents: cents, currency, package_id, period, paid_at: iso(at) };
  log(`payment-${payment_id}`, 'PaymentReceived', at + late, data);
  if (cents === 0) return;
  year.money.push({ day, currency, kind, cents });
  user.paid_ms.push(at);
  if (!random.chance(0.1)) return;
  const [back, back_ms] = [random.between(1, cents), at + random.between(0, 20) * DAY_MS];
  const is_dispute = random.chance(0.3);
  const [reversal_id, reversal_kind] = [`r-${payment_id}`, is_dispute ? 'dispute' : 'refund'];
  const reversal = { reversal_id, kind: reversal_kind, amount_cents: back, currency, reversed_at: iso(back_ms) };
  // It may come before the payment.
  log(`payment-${payment_id}`, 'PaymentReversed', back_ms, reversal);
  const moneyName = is_dispute ? 'disputes' : 'refunds';
  year.money.push({ day: Math.floor((back_ms - START_MS) / DAY_MS), currency, kind: moneyName, cents: back });
  // Money of another currency does not count against the payment.
  log(`payment-${payment_id}`, 'PaymentReversed', back_ms, { ...reversal, reversal_id: 'other', currency: 'gbp' });
  if (!random.chance(0.3)) return;
  const lifted_ms = back_ms + 10 * DAY_MS;
  log(`payment-${payment_id}`, 'PaymentReversalLifted', lifted_ms, { reversal_id, lifted_at: iso(lifted_ms) });
  year.money.push({ day: Math.floor((lifted_ms - START_MS) / DAY_MS), currency, kind: moneyName, cents: -back });
}

/** A plan from its first payment on: renewed, changed, let down by a card, cancelled, or simply not heard of any more. */
function drawPlan(random: Random, user: DrawnUser, first_ms: number, log: Log, year: DrawnYear): void {
  const { user_id } = user;
  const end_ms = START_MS + DAYS * DAY_MS;
  const currency = random.chance(0.1) ? 'eur' : 'usd';
  const levels = user.mrr[currency];
  const subscription_id = `sub-${user_id}`;
  let plan: Plan = random.pick(['starter', 'pro']);
  const interval = random.chance(0.2) ? 'year' : 'month';
  const months = interval === 'year' ? 12 : 1;
  const monthly = () => Math.round((CENTS[plan] * (interval === 'year' ? 10 : 12)) / 12);
  /** From now on the customer's MRR is this, as far as the year goes. */
  const levelFrom = (ms: number, cents: number) => {
    for (let day = Math.floor((ms - START_MS) / DAY_MS); day < DAYS; day++) levels[day] = cents;
  };
  const change = (at: number, status: string, cancel_at: number | null = null) =>
    log(`subscription-${user_id}`, 'SubscriptionChanged', at, {
      ...{ subscription_id, customer_id: null, plan, interval, status, period_start: '', period_end: '' },
      ...{ cancel_at: cancel_at === null ? null : iso(cancel_at), changed_at: iso(at) },
    });
  const paid = (payment_id: string, at: number, period_end: number, cents: number) => {
    const period = {
      ...{ subscription_id, plan, interval, period_start: iso(at), period_end: iso(period_end) },
      ...(random.chance(0.9) || cents !== CENTS[plan] * (interval === 'year' ? 10 : 1)
        ? { monthly_cents: monthly() }
        : {}),
    };
    const of = { payment_id, at, cents, currency, kind: 'subscriptions', period } as const;
    pay(random, user, of, log, year);
    user.steps.add('subscription');
    levelFrom(at, monthly());
  };
  if (random.chance(0.2)) {
    // A trial is no MRR.
    log(`subscription-${user_id}`, 'TrialStarted', first_ms, { plan: 'pro', credits: 1 });
    change(first_ms, 'trialing');
  }
  let start = first_ms;
  for (let n = 0; start < end_ms; n++) {
    const period_end = Date.parse(laterMonths(iso(start), months));
    const payment_id = `in-${n}-${user_id}`;
    let at = start;
    if (n > 0 && random.chance(0.15)) {
      // The card fails; seven days later the plan is down.
      change(start, 'past_due');
      const down = start + 7 * DAY_MS;
      if (down >= end_ms) return;
      log(`subscription-${user_id}`, 'SubscriptionDowngraded', down, { subscription_id, payment_id });
      levelFrom(down, 0);
      const fate = random.pick(['canceled', 'unpaid', 'paid later', 'paid before'] as const);
      if (fate === 'canceled' || fate === 'unpaid') {
        change(Math.min(end_ms - 1, down + DAY_MS), fate);
        return;
      }
      // The news of a payment before the end of the grace may come after it.
      at = fate === 'paid later' ? down + 3 * DAY_MS : down - DAY_MS;
      if (at >= end_ms) return;
    }
    if (n > 0 && random.chance(0.15)) plan = random.pick(['starter', 'pro', 'agency']);
    paid(payment_id, at, period_end, CENTS[plan] * (interval === 'year' ? 10 : 1));
    change(at, 'active');
    if (random.chance(0.1) && plan !== 'agency' && at + 5 * DAY_MS < Math.min(end_ms, period_end)) {
      plan = 'agency';
      paid(`up-${n}-${user_id}`, at + 5 * DAY_MS, period_end, 1_234);
    }
    const ended_ms = drawEnd(random.next(), at, period_end);
    if (ended_ms !== null) {
      levelFrom(ended_ms, 0);
      return;
    }
    start = period_end;
  }

  /** Returns when the plan counts no more; null when it is renewed. */
  function drawEnd(chance: number, at: number, period_end: number): number | null {
    // Nothing is heard of it any more: it counts until seven days after its period.
    if (chance < 0.05) return period_end + 7 * DAY_MS;
    const said = at + 7 * DAY_MS;
    if (chance > 0.15 || said >= end_ms) return null;
    if (chance < 0.1) {
      // Cancelled for the end of the period, of which the provider's own news is lost.
      change(said, 'active', period_end);
      return period_end;
    }
    change(said, 'canceled');
    return said;
  }
}
