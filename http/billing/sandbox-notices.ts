// What the sandbox reports, in the words of a payment provider.
import { addMonths } from '../../commands/billing/months.ts';
import { MONTHS } from '../../commands/billing/plans.ts';
import type { PaymentNotice, SandboxCheckout } from './payments.ts';

/** The notices of a checkout that is paid at `at`. A plan's subscription has the id of its first payment. */
export function paidNotices({ payment_id, user_id, item, currency }: SandboxCheckout, at: string): PaymentNotice[] {
  const paid = { at, payment_id, user_id, customer_id: null, currency, amount_cents: item.price_cents };
  if (item.kind === 'package') {
    const { package_id, credits } = item;
    return [{ type: 'purchase_paid', ...paid, package_id, credits }];
  }
  const { plan, interval } = item;
  return periodNotices({ subscription_id: payment_id, plan, interval, period_start: at }, paid);
}

interface Period {
  subscription_id: string;
  plan: Extract<SandboxCheckout['item'], { kind: 'plan' }>['plan'];
  interval: Extract<SandboxCheckout['item'], { kind: 'plan' }>['interval'];
  period_start: string;
}
type Paid = Pick<
  Extract<PaymentNotice, { type: 'period_paid' }>,
  'at' | 'payment_id' | 'user_id' | 'customer_id' | 'currency' | 'amount_cents'
>;

/** The notices of a period that is paid: the subscription as it is then, and the invoice. */
export function periodNotices({ subscription_id, plan, interval, period_start }: Period, paid: Paid): PaymentNotice[] {
  const { at, user_id, customer_id, amount_cents } = paid;
  const period = { plan, interval, period_start, period_end: addMonths(period_start, MONTHS[interval]) };
  const subscription = { subscription_id, customer_id, ...period, status: 'active', cancel_at: null } as const;
  return [
    { type: 'subscription_changed', at, user_id, subscription },
    { type: 'period_paid', ...paid, subscription_id, lines: [{ ...period, is_proration: false, amount_cents }] },
  ];
}
