// What a notice of the payment provider means: facts of a payment or of a subscription, and then the credits that follow from them.
// Every step may run again, also beside another process that takes the same notice: whoever is last brings the ledger up to all facts.
// Decision 153 says why.
import type { EventStore, Position } from '../../events/event-store.ts';
import type { PaymentProviderName, PaymentReceived, PaymentReversed } from '../../events/payment.ts';
import type { PaymentIssueRaised } from '../../events/payment-issue.ts';
import { userStream } from '../../events/streams.ts';
import type { SubscriptionChanged } from '../../events/subscription.ts';
import { openSubscriptionsAt, type SubscriptionState } from '../../events/subscription-state.ts';
import { type CommandContext, notRefused } from '../aggregate.ts';
import type { CreditsLedger } from '../ledger/credits.ts';
import { isErased } from '../users/user.ts';
import { creditsOfLines, monthlyCents, newestLine, type PaidLine, quantityOf } from './paid-lines.ts';
import { ledgerCommandsOf, openPayments, type Payment, type PaymentCommand } from './payment.ts';
import { openPaymentIssues } from './payment-issue.ts';
import { openSubscriptions } from './subscription.ts';

export type { PaidLine } from './paid-lines.ts';

/** How an amount was settled; all of it was paid when absent. Their sum is the amount. */
export interface Settled {
  /** Money that came. */
  paid_cents: number;
  /** What the customer's balance at the provider paid. */
  credited_cents: number;
  /** What is still owed; negative where the payment settled an older debt too. */
  outstanding_cents: number;
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
      tax_cents?: number;
      settled?: Settled;
      currency: string;
    }
  | {
      type: 'period_paid';
      payment_id: string;
      user_id: string;
      customer_id: string | null;
      subscription_id: string;
      lines: PaidLine[];
      /** The invoice's total. */
      amount_cents: number;
      /** The total without taxes; `amount_cents` when absent. */
      net_cents?: number;
      settled?: Settled;
      currency: string;
    }
  | { type: 'declined'; payment_id: string; user_id: string }
  | { type: 'period_failed'; payment_id: string; user_id: string; subscription_id: string }
  | { type: 'subscription_changed'; user_id: string; subscription: Omit<SubscriptionChanged, 'changed_at'> }
  | { type: 'reversed'; payment_id: string; reversal: Omit<PaymentReversed, 'reversed_at'> }
  | { type: 'lifted'; payment_id: string; reversal_id: string }
  /** The provider's adapter cannot take something, and a person has to know. */
  | { type: 'questioned'; issue: PaymentIssueRaised }
);
type PeriodPaid = Extract<PaymentNotice, { type: 'period_paid' }>;

export type Billing = ReturnType<typeof openBilling>;

export function openBilling(log: EventStore, credits: CreditsLedger, provider: PaymentProviderName) {
  const payments = openPayments(log);
  const subscriptions = openSubscriptions(log);
  const issues = openPaymentIssues(log);

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
      for (const issue of issuesOf(payment_id, state)) await issues.raise(issue, context);
      if (isErased((await credits.users.read(userStream(state.received.user_id))).state)) {
        await issues.raise({ reason: 'erased_user', subject: payment_id, ...moneyIn(state.received) }, context);
      }
    }
  }

  /** Whoever pays two plans is told, and so are administrators. */
  async function questionOthers(user_id: string, state: Readonly<SubscriptionState>, context: CommandContext) {
    for (const { subscription_id } of openSubscriptionsAt(state, context.now).slice(1)) {
      const issue = {
        reason: 'second_plan',
        subject: subscription_id,
        user_id,
        amount_cents: null,
        currency: null,
      } as const;
      await issues.raise(issue, context);
    }
  }

  return {
    /** Takes a notice, once or again. Returns the position of the last event that it led to. */
    async take(notice: PaymentNotice, context: CommandContext): Promise<Position | null> {
      switch (notice.type) {
        case 'purchase_paid': {
          const { type: _, payment_id, at: paid_at, settled, ...paid } = notice;
          const payment = { ...paid, ...settled, provider, expires_at: null, period: null, paid_at };
          return record(payment_id, { type: 'receive', payment }, context);
        }
        case 'period_paid': {
          const { payment_id, user_id, subscription_id, lines, at: paid_at } = notice;
          const { plan, interval } = newestLine(lines) ?? {};
          const paid = { type: 'recordPaid', subscription_id, payment_id, paid_at, plan, interval } as const;
          const renewed = await subscriptions.run(user_id, paid, context);
          if (renewed.ok) await questionOthers(user_id, renewed.state, context);
          const payment = paymentOf(notice, provider);
          if (payment === null) {
            const issue = { reason: 'unknown_price', subject: payment_id, ...moneyIn(notice) } as const;
            if (notice.amount_cents > 0) await issues.raise(issue, context);
            return renewed.ok ? renewed.position : null;
          }
          const is_late = payment.credits > 0 && Date.parse(payment.expires_at) <= context.now;
          // Before the payment is recorded, because afterwards it is old by right.
          if (is_late && (await payments.read(payment_id)).state.received === null) {
            await issues.raise({ reason: 'expired_on_arrival', subject: payment_id, ...moneyIn(payment) }, context);
          }
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
          if (changed.ok) await questionOthers(notice.user_id, changed.state, context);
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
        case 'questioned':
          return notRefused(await issues.raise(notice.issue, context)).position;
      }
    },
  };
}

/** Tells one state of a payment from the next. */
const factsOf = ({ received, reversals, lifted }: Readonly<Payment>) =>
  JSON.stringify([received !== null, [...reversals.values()], [...lifted]]);

const moneyIn = ({
  user_id,
  amount_cents,
  currency,
}: Pick<PaymentReceived, 'user_id' | 'amount_cents' | 'currency'>) => ({
  ...{ user_id, amount_cents, currency },
});

/** What of a payment a person has to decide. */
function issuesOf(payment_id: string, { received, reversals }: Readonly<Payment>): PaymentIssueRaised[] {
  if (!received) return [];
  const { period, currency, user_id } = received;
  const issues: PaymentIssueRaised[] = [];
  const of_payment = { subject: payment_id, ...moneyIn(received) };
  if (received.credits === 0 && received.amount_cents > 0) issues.push({ reason: 'unknown_price', ...of_payment });
  if ((period?.quantity ?? 1) > 1) issues.push({ reason: 'several_of_a_plan', ...of_payment });
  for (const { reversal_id, amount_cents, currency: other } of reversals.values()) {
    if (other === currency) continue;
    issues.push({ reason: 'other_currency', subject: reversal_id, user_id, amount_cents, currency: other });
  }
  return issues;
}

/** A period that was paid after its end lasts as long from the payment on. */
function expiryOf({ period_start, period_end }: PaidLine, paid_at: string): string {
  const [start, end, paid] = [Date.parse(period_start), Date.parse(period_end), Date.parse(paid_at)];
  return paid < end ? period_end : new Date(paid + end - start).toISOString();
}

/** Null for an invoice that pays no plan. */
function paymentOf(notice: PeriodPaid, provider: PaymentProviderName) {
  const { user_id, customer_id, subscription_id, lines, amount_cents, currency, at: paid_at } = notice;
  const line = newestLine(lines);
  if (!line) return null;
  const { plan, interval, period_start, period_end } = line;
  const monthly_cents = monthlyCents(line, lines, notice.net_cents ?? amount_cents);
  const quantity = quantityOf(line);
  const period = {
    ...{ subscription_id, plan, interval, period_start, period_end, monthly_cents },
    ...(quantity !== 1 && { quantity }),
  };
  const tax_cents = Math.max(0, amount_cents - Math.max(0, notice.net_cents ?? amount_cents));
  const tax = tax_cents > 0 && { tax_cents };
  const facts = { user_id, provider, customer_id, amount_cents, ...tax, ...notice.settled, currency };
  return {
    ...facts,
    credits: creditsOfLines(lines),
    expires_at: expiryOf(line, paid_at),
    package_id: null,
    period,
    paid_at,
  };
}
