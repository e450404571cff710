// The rules of payments: each is granted once, and what is taken back of its credits is what its reversals claim.
import type { CreditsEvent } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import type { PaymentEvent } from '../events/payment.ts';
import { idOf } from '../events/streams.ts';
import { type Place, placeOf, type Say } from './findings.ts';
import type { Spill, SpillMap } from './spill.ts';

interface Payment {
  user_id: string;
  credits: number;
  amount_cents: number;
  currency: string;
  kind: 'purchase' | 'subscription';
  at: number;
  place: Place;
  is_granted: boolean;
}
/** Money that went back may come before its payment. */
interface Reversals {
  /** Cents by reversal id, those in another currency included. */
  made: Record<string, { cents: number; currency: string }>;
  lifted: string[];
  /** Credits that the ledger has taken back. */
  credits: number;
  at: number;
  place: Place;
}

/** `in_memory`: the values of each kind in memory. */
export function openPaymentRules(spill: Spill, in_memory: number, say: Say) {
  const payments: SpillMap<Payment> = spill.map('payments', in_memory);
  const reversals: SpillMap<Reversals> = spill.map('reversals', in_memory);
  /** The payments that want a grant, and those of which the ledger has not taken back what their reversals claim. */
  const ungranted: SpillMap<true> = spill.map('ungranted', in_memory);
  const unsettled: SpillMap<true> = spill.map('unsettled', in_memory);

  function pay(event: RecordedEvent, at: number): void {
    const { type, data } = event as unknown as PaymentEvent;
    const payment_id = idOf(event.stream);
    const place = placeOf(event);
    switch (type) {
      case 'PaymentReceived': {
        const { user_id, credits, amount_cents, currency, period } = data;
        const kind = period === null ? 'purchase' : 'subscription';
        payments.set(payment_id, {
          ...{ user_id, credits, amount_cents, currency, kind, at, place },
          is_granted: credits === 0,
        });
        if (credits !== 0) ungranted.set(payment_id, true);
        if (reversals.get(payment_id)) weigh(payment_id);
        return;
      }
      case 'PaymentReversed': {
        const { reversal_id, amount_cents: cents, currency } = data;
        const of_payment = reversalsOf(payment_id, at, place);
        of_payment.made[reversal_id] = { cents, currency };
        weigh(payment_id);
        return;
      }
      case 'PaymentReversalLifted':
        reversalsOf(payment_id, at, place).lifted.push(data.reversal_id);
        weigh(payment_id);
    }
  }

  function reversalsOf(payment_id: string, at: number, place: Place): Reversals {
    const of_payment = reversals.get(payment_id) ?? { made: {}, lifted: [], credits: 0, at, place };
    Object.assign(of_payment, { at, place });
    reversals.set(payment_id, of_payment);
    return of_payment;
  }

  function reversed(payment_id: string, credits: number, at: number, place: Place): void {
    reversalsOf(payment_id, at, place).credits += credits;
    weigh(payment_id);
  }

  function grant(data: Extract<CreditsEvent, { type: 'CreditsGranted' }>['data'], user_id: string, place: Place): void {
    const { reference_id, transaction_type, amount } = data;
    const payment = payments.get(reference_id);
    if (!payment) {
      say('payment', place, `${amount} are granted for payment ${reference_id}, which is unknown`);
      return;
    }
    const { credits, kind, user_id: payer } = payment;
    if (payer !== user_id) say('payment', place, `payment ${reference_id} is of ${payer}`);
    if (kind !== transaction_type) say('payment', place, `payment ${reference_id} is for a ${kind}`);
    if (credits !== amount)
      say('payment', place, `payment ${reference_id} is for ${credits} credits, ${amount} are granted`);
    if (payment.is_granted) say('payment', place, `payment ${reference_id} was granted before`);
    payment.is_granted = true;
    ungranted.delete(reference_id);
  }

  /** The credits that the payment's reversals claim: each its share, rounded in the user's favour. Null for an unknown payment. */
  function claimedOf(payment_id: string, { made, lifted }: Reversals): number | null {
    const payment = payments.get(payment_id);
    if (!payment) return null;
    const claims = Object.entries(made)
      .filter(([id, { currency }]) => currency === payment.currency && !lifted.includes(id))
      .map(([, { cents }]) => Math.floor((payment.credits * cents) / Math.max(1, payment.amount_cents)));
    return Math.min(
      payment.credits,
      claims.reduce((sum, claim) => sum + claim, 0),
    );
  }

  function weigh(payment_id: string): void {
    const of_payment = reversals.get(payment_id)!;
    if ((claimedOf(payment_id, of_payment) ?? 0) === of_payment.credits) unsettled.delete(payment_id);
    else unsettled.set(payment_id, true);
  }

  /**
   * Returns how many payments want steps that the service is not late with. May be called at any time, and again. `isLate`: of a time in
   * milliseconds since the epoch.
   */
  function finish(isLate: (at: number) => boolean): number {
    let open = 0;
    for (const [id] of ungranted.entries()) {
      const { at, place, credits } = payments.get(id)!;
      if (isLate(at)) say('payment', place, `payment ${id} for ${credits} credits has no grant`);
      else open += 1;
    }
    for (const [id] of unsettled.entries()) {
      const of_payment = reversals.get(id)!;
      const { credits, at, place } = of_payment;
      const claimed = claimedOf(id, of_payment);
      if (claimed === null) {
        say('payment', place, `${credits} credits are taken back of payment ${id}, which is unknown`);
      } else if (isLate(at)) {
        say('payment', place, `of payment ${id} ${claimed} credits went back, ${credits} are taken back`);
      } else open += 1;
    }
    return open;
  }

  return { pay, reversed, grant, finish };
}
