// What a notice of the payment provider means: facts of a payment or of a subscription, and then the credits that follow from them.
// Every step may run again, also beside another process that takes the same notice: whoever is last brings the ledger up to all facts.
import type { EventStore, Position } from '../events/event-store.ts';
import type { PaymentProviderName, PaymentReversed } from '../events/payment.ts';
import type { BillingInterval, PlanName, SubscriptionChanged } from '../events/subscription.ts';
import { type CommandContext, notRefused } from './aggregate.ts';
import type { CreditsLedger } from './credits.ts';
import { addMonths } from './months.ts';
import { ledgerCommandsOf, openPayments, type Payment, type PaymentCommand } from './payment.ts';
import { creditsOf, MONTHS } from './plans.ts';
import { openSubscriptions } from './subscription.ts';

/** A line of an invoice: a plan for a period, or for the rest of one. */
export interface PaidLine {
  plan: PlanName;
  interval: BillingInterval;
  period_start: string;
  period_end: string;
  /** Whether the line is of a change within a period: it counts by its share of the time. */
  is_proration: boolean;
  /** Negative for time of a former plan that is given back. */
  amount_cents: number;
}

/** A fact that the provider reports. `at` is the provider's own time. All times are ISO 8601. */
export type PaymentNotice = { at: string } & (
  | {
      type: 'purchase_paid';
      payment_id: string;
      user_id: string;
      customer_id: string | null;
      package_id: string;
      credits: number;
      amount_cents: number;
      currency: string;
    }
  | {
      type: 'period_paid';
      payment_id: string;
      user_id: string;
      customer_id: string | null;
      subscription_id: string;
      lines: PaidLine[];
      amount_cents: number;
      currency: string;
    }
  | { type: 'declined'; payment_id: string; user_id: string }
  | { type: 'period_failed'; payment_id: string; user_id: string; subscription_id: string }
  | { type: 'subscription_changed'; user_id: string; subscription: Omit<SubscriptionChanged, 'changed_at'> }
  | { type: 'reversed'; payment_id: string; reversal: Omit<PaymentReversed, 'reversed_at'> }
  | { type: 'lifted'; payment_id: string; reversal_id: string }
);
type PeriodPaid = Extract<PaymentNotice, { type: 'period_paid' }>;

/**
 * Returns the credits that an invoice pays. A change of the plan pays the share of the new plan, less that of the former one; a change
 * to a smaller plan pays none.
 */
function creditsOfLines(lines: readonly PaidLine[]): number {
  const credits = lines.map((line) => {
    const { plan, interval, is_proration, amount_cents } = line;
    const whole = creditsOf(plan, interval);
    if (!is_proration) return amount_cents >= 0 ? whole : 0;
    return Math.sign(amount_cents) * whole * shareOfPeriod(line);
  });
  return Math.max(0, Math.round(credits.reduce((sum, each) => sum + each, 0)));
}

/** The share of a whole period that a line is of. */
function shareOfPeriod({ interval, period_start, period_end }: PaidLine): number {
  const [start, end] = [Date.parse(period_start), Date.parse(period_end)];
  const period_ms = end - Date.parse(addMonths(period_end, -MONTHS[interval]));
  return Math.max(0, Math.min(1, (end - start) / period_ms));
}

/** Returns what a line's plan costs a month, less the invoice's discount. An amount above that of the lines is taxes. */
function monthlyCents(line: PaidLine, lines: readonly PaidLine[], amount_cents: number): number {
  const listed_cents = lines.reduce((sum, each) => sum + each.amount_cents, 0);
  const paid_share = listed_cents > 0 ? Math.min(1, amount_cents / listed_cents) : 1;
  const share = line.is_proration ? shareOfPeriod(line) : 1;
  return share === 0 ? 0 : Math.round((line.amount_cents * paid_share) / share / MONTHS[line.interval]);
}

/** The line that says what the user has from now on: the last one that costs something. */
function newestLine(lines: readonly PaidLine[]): PaidLine | undefined {
  const paid = lines.filter(({ amount_cents }) => amount_cents >= 0);
  return paid.toSorted((a, b) => (a.period_end < b.period_end ? 1 : -1))[0];
}

export interface Billing {
  /** Takes a notice, once or again. Returns the position of the last event that it led to. */
  take(notice: PaymentNotice, context: CommandContext): Promise<Position | null>;
}

export function openBilling(log: EventStore, credits: CreditsLedger, provider: PaymentProviderName): Billing {
  const payments = openPayments(log);
  const subscriptions = openSubscriptions(log);

  async function record(payment_id: string, command: PaymentCommand, context: CommandContext): Promise<Position> {
    const { position } = notRefused(await payments.run(payment_id, command, context));
    return (await settle(payment_id, context)) ?? position;
  }

  /** Brings the ledger up to the payment, and again when the payment has new facts by then. */
  async function settle(payment_id: string, context: CommandContext): Promise<Position | null> {
    let reached: Position | null = null;
    for (let settled = ''; ; ) {
      const { state } = await payments.read(payment_id);
      const facts = factsOf(state);
      if (settled === facts || !state.received) return reached;
      settled = facts;
      for (const command of ledgerCommandsOf(payment_id, state)) {
        reached = notRefused(await credits.run(state.received.user_id, command, context)).position;
      }
    }
  }

  return {
    async take(notice, context) {
      switch (notice.type) {
        case 'purchase_paid': {
          const { type: _, payment_id, at: paid_at, ...paid } = notice;
          const payment = { ...paid, provider, expires_at: null, period: null, paid_at };
          return record(payment_id, { type: 'receive', payment }, context);
        }
        case 'period_paid': {
          const { payment_id, user_id, subscription_id, at: paid_at } = notice;
          const paid = { type: 'recordPaid', subscription_id, payment_id, paid_at } as const;
          const renewed = await subscriptions.run(user_id, paid, context);
          const payment = paymentOf(notice, provider);
          if (payment === null) return renewed.ok ? renewed.position : null;
          const settled = await record(payment_id, { type: 'receive', payment }, context);
          return renewed.ok && renewed.position > settled ? renewed.position : settled;
        }
        case 'declined':
          return record(
            notice.payment_id,
            { type: 'decline', user_id: notice.user_id, declined_at: notice.at },
            context,
          );
        case 'period_failed': {
          const { user_id, subscription_id, payment_id, at: failed_at } = notice;
          const failure = { type: 'recordFailure', subscription_id, payment_id, failed_at } as const;
          const failed = await subscriptions.run(user_id, failure, context);
          return failed.ok ? failed.position : null;
        }
        case 'subscription_changed': {
          const subscription = { ...notice.subscription, changed_at: notice.at };
          const changed = await subscriptions.run(notice.user_id, { type: 'change', subscription }, context);
          return changed.ok ? changed.position : null;
        }
        case 'reversed': {
          const reversal = { ...notice.reversal, reversed_at: notice.at };
          return record(notice.payment_id, { type: 'reverse', reversal }, context);
        }
        case 'lifted': {
          const { payment_id, reversal_id, at: lifted_at } = notice;
          return record(payment_id, { type: 'lift', reversal_id, lifted_at }, context);
        }
      }
    },
  };
}

/** Facts of a payment are only added, so their numbers tell one state from the next. */
const factsOf = ({ received, reversals, lifted }: Readonly<Payment>) =>
  `${received !== null} ${reversals.size} ${lifted.size}`;

/** Null for an invoice that pays no plan. */
function paymentOf(notice: PeriodPaid, provider: PaymentProviderName) {
  const { user_id, customer_id, subscription_id, lines, amount_cents, currency, at: paid_at } = notice;
  const line = newestLine(lines);
  if (!line) return null;
  const { plan, interval, period_start, period_end } = line;
  const monthly_cents = monthlyCents(line, lines, amount_cents);
  const period = { subscription_id, plan, interval, period_start, period_end, monthly_cents };
  const facts = { user_id, provider, customer_id, amount_cents, currency, credits: creditsOfLines(lines) };
  return { ...facts, expires_at: period_end, package_id: null, period, paid_at };
}
