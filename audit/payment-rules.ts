// The rules of payments: each is granted once, and what is taken back of its credits is what its reversals claim.
import type { CreditsGranted } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import type { PaymentEvent } from '../events/payment.ts';
import { idOf } from '../events/streams.ts';
import { type Place, placeOf, type ReportFinding } from './findings.ts';
import type { EntryOf, Pairing } from './pairing.ts';
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
  /** The newest news by reversal id, those in another currency included. `at`: by the provider's clock, in milliseconds. */
  made: Record<string, { cents: number; currency: string; at: number }>;
  /** When each was last found not to hold. */
  lifted: Record<string, number>;
  /** Credits that the ledger has taken back. */
  credits: number;
  at: number;
  place: Place;
}

export class PaymentRules implements Pairing {
  readonly #payments: SpillMap<Payment>;
  readonly #reversals: SpillMap<Reversals>;
  /** The payments that want a grant, and those of which the ledger has not taken back what their reversals claim. */
  readonly #ungranted: SpillMap<true>;
  readonly #unsettled: SpillMap<true>;
  readonly #say: ReportFinding;
  readonly entries: Pairing['entries'] = {
    CreditsGranted: (entry, of) => this.#grant(entry, of),
    CreditsReversed: ({ reference_id, own, expired, parts, owed }, of) =>
      this.#reversed(reference_id, own + expired + owed + parts.reduce((sum, part) => sum + part.amount, 0), of),
    CreditsRestored: ({ reference_id, own, expired, others, forgiven }, of) =>
      this.#reversed(reference_id, -(own + expired + others + forgiven), of),
  };

  /** `in_memory`: the values of each kind in memory. */
  constructor(spill: Spill, in_memory: number, say: ReportFinding) {
    this.#payments = spill.map('payments', in_memory);
    this.#reversals = spill.map('reversals', in_memory);
    this.#ungranted = spill.map('ungranted', in_memory);
    this.#unsettled = spill.map('unsettled', in_memory);
    this.#say = say;
  }

  pay(event: RecordedEvent, at: number): void {
    const { type, data } = event as unknown as PaymentEvent;
    const payment_id = idOf(event.stream);
    const place = placeOf(event);
    switch (type) {
      case 'PaymentReceived': {
        const { user_id, credits, amount_cents, currency, period } = data;
        const kind = period === null ? 'purchase' : 'subscription';
        this.#payments.set(payment_id, {
          ...{ user_id, credits, amount_cents, currency, kind, at, place },
          is_granted: credits === 0,
        });
        if (credits !== 0) this.#ungranted.set(payment_id, true);
        if (this.#reversals.get(payment_id)) this.#weigh(payment_id);
        return;
      }
      case 'PaymentReversed': {
        const { reversal_id, amount_cents: cents, currency, reversed_at } = data;
        const { made } = this.#reversalsOf(payment_id, at, place);
        const news = { cents, currency, at: Date.parse(reversed_at) };
        if (!(news.at <= (made[reversal_id]?.at ?? Number.NEGATIVE_INFINITY))) made[reversal_id] = news;
        this.#weigh(payment_id);
        return;
      }
      case 'PaymentReversalLifted': {
        const { lifted } = this.#reversalsOf(payment_id, at, place);
        const lifted_at = Date.parse(data.lifted_at);
        if (!(lifted_at <= (lifted[data.reversal_id] ?? Number.NEGATIVE_INFINITY)))
          lifted[data.reversal_id] = lifted_at;
        this.#weigh(payment_id);
      }
    }
  }

  #reversalsOf(payment_id: string, at: number, place: Place): Reversals {
    const of_payment = this.#reversals.get(payment_id) ?? { made: {}, lifted: {}, credits: 0, at, place };
    Object.assign(of_payment, { at, place });
    this.#reversals.set(payment_id, of_payment);
    return of_payment;
  }

  #reversed(payment_id: string, credits: number, { at, place }: EntryOf): void {
    this.#reversalsOf(payment_id, at, place).credits += credits;
    this.#weigh(payment_id);
  }

  #grant({ reference_id, transaction_type, amount }: CreditsGranted, { user_id, place }: EntryOf): void {
    if (transaction_type !== 'purchase' && transaction_type !== 'subscription') return;
    const payment = this.#payments.get(reference_id);
    if (!payment) {
      this.#say('payment', place, `${amount} are granted for payment ${reference_id}, which is unknown`);
      return;
    }
    const { credits, kind, user_id: payer } = payment;
    if (payer !== user_id) this.#say('payment', place, `payment ${reference_id} is of ${payer}`);
    if (kind !== transaction_type) this.#say('payment', place, `payment ${reference_id} is for a ${kind}`);
    if (credits !== amount)
      this.#say('payment', place, `payment ${reference_id} is for ${credits} credits, ${amount} are granted`);
    if (payment.is_granted) this.#say('payment', place, `payment ${reference_id} was granted before`);
    payment.is_granted = true;
    this.#ungranted.delete(reference_id);
  }

  /**
   * The credits that the payment's reversals claim: the share of the money that went back, rounded once in the user's favour. `before`: by the
   * rule of earlier services, which rounded each part. Null for an unknown payment.
   */
  #claimedOf(payment_id: string, { made, lifted }: Reversals): { now: number; before: number } | null {
    const payment = this.#payments.get(payment_id);
    if (!payment) return null;
    const { credits, currency } = payment;
    const stand = Object.entries(made)
      .filter(([id, each]) => each.currency === currency && !(each.at <= (lifted[id] ?? Number.NEGATIVE_INFINITY)))
      .map(([, { cents }]) => cents);
    const creditsOf = (cents: number) => Math.floor((credits * cents) / Math.max(1, payment.amount_cents));
    const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);
    return {
      now: Math.min(credits, creditsOf(sumOf(stand))),
      before: Math.min(credits, sumOf(stand.map(creditsOf))),
    };
  }

  #weigh(payment_id: string): void {
    const of_payment = this.#reversals.get(payment_id)!;
    const { now, before } = this.#claimedOf(payment_id, of_payment) ?? { now: 0, before: 0 };
    if (now === of_payment.credits || before === of_payment.credits) this.#unsettled.delete(payment_id);
    else this.#unsettled.set(payment_id, true);
  }

  finish(isLate: (at: number) => boolean): number {
    let open = 0;
    for (const [id] of this.#ungranted.entries()) {
      const { at, place, credits } = this.#payments.get(id)!;
      if (isLate(at)) this.#say('payment', place, `payment ${id} for ${credits} credits has no grant`);
      else open += 1;
    }
    for (const [id] of this.#unsettled.entries()) {
      const of_payment = this.#reversals.get(id)!;
      const { credits, at, place } = of_payment;
      const claimed = this.#claimedOf(id, of_payment);
      if (claimed === null) {
        this.#say('payment', place, `${credits} credits are taken back of payment ${id}, which is unknown`);
      } else if (isLate(at)) {
        this.#say('payment', place, `of payment ${id} ${claimed.now} credits went back, ${credits} are taken back`);
      } else open += 1;
    }
    return open;
  }
}
