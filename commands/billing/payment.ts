// The aggregate of one payment. Its facts may come in any order: a refund before its payment waits for it, and the same fact again
// makes no event. `ledgerCommandsOf` says what the payment means for the credits of its user.
import type { EventStore } from '../../events/event-store.ts';
import type { PaymentEvent, PaymentReceived, PaymentReversed } from '../../events/payment.ts';
import { paymentStream } from '../../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from '../aggregate.ts';
import type { CreditsCommand } from '../ledger/credits.ts';

export interface Payment {
  received: PaymentReceived | null;
  is_declined: boolean;
  /** The newest news of each, by id, in order of arrival. */
  reversals: Map<string, PaymentReversed>;
  /** When each was last found not to hold, by id, whether or not the reversal itself is known. */
  lifted: Map<string, string>;
}

export const initial = (): Payment => ({
  received: null,
  is_declined: false,
  reversals: new Map(),
  lifted: new Map(),
});

export const evolve = evolveBy<Payment, PaymentEvent>({
  PaymentReceived: (payment, received) => ({ ...payment, received }),
  PaymentDeclined: (payment) => ({ ...payment, is_declined: true }),
  PaymentReversed(payment, reversal) {
    const known = payment.reversals.get(reversal.reversal_id);
    if (!known || isAfter(reversal.reversed_at, known.reversed_at)) {
      payment.reversals.set(reversal.reversal_id, reversal);
    }
    return payment;
  },
  PaymentReversalLifted(payment, { reversal_id, lifted_at }) {
    const known = payment.lifted.get(reversal_id);
    if (known === undefined || isAfter(lifted_at, known)) payment.lifted.set(reversal_id, lifted_at);
    return payment;
  },
});

const isAfter = (a: string, b: string) => Date.parse(a) > Date.parse(b);

/** Whether money is back with the customer by the newest news of a reversal. A dispute that was won may be lost after all. */
export function stands({ reversal_id, reversed_at }: PaymentReversed, { lifted }: Pick<Payment, 'lifted'>): boolean {
  const lifted_at = lifted.get(reversal_id);
  return lifted_at === undefined || isAfter(reversed_at, lifted_at);
}

export type PaymentCommand =
  | { type: 'receive'; payment: PaymentReceived }
  | { type: 'decline'; user_id: string; declined_at: string }
  | { type: 'reverse'; reversal: PaymentReversed }
  | { type: 'lift'; reversal_id: string; lifted_at: string };

export function decide(payment: Readonly<Payment>, command: PaymentCommand): Decision<PaymentEvent> {
  switch (command.type) {
    case 'receive':
      // Also after a decline: whoever has paid gets the credits.
      return { events: payment.received ? [] : [{ type: 'PaymentReceived', data: command.payment }] };
    case 'decline': {
      const { user_id, declined_at } = command;
      if (payment.received || payment.is_declined) return { events: [] };
      return { events: [{ type: 'PaymentDeclined', data: { user_id, declined_at } }] };
    }
    case 'reverse': {
      const { reversal } = command;
      const known = payment.reversals.get(reversal.reversal_id);
      // Of a dispute each step is recorded, because older ones may come later; of a refund one that failed is final.
      const is_news = !known || (reversal.kind === 'dispute' && isAfter(reversal.reversed_at, known.reversed_at));
      if (!is_news) return { events: [] };
      return { events: [{ type: 'PaymentReversed', data: reversal }] };
    }
    case 'lift': {
      const { reversal_id, lifted_at } = command;
      const known = payment.lifted.get(reversal_id);
      if (known !== undefined && !isAfter(lifted_at, known)) return { events: [] };
      return { events: [{ type: 'PaymentReversalLifted', data: { reversal_id, lifted_at } }] };
    }
  }
}

/**
 * Returns the commands that bring the ledger of the payment's user up to the payment. The ledger takes each of them once, so that all
 * of them may be given again.
 */
export function ledgerCommandsOf(payment_id: string, payment: Readonly<Payment>): CreditsCommand[] {
  const { received, reversals } = payment;
  if (!received || received.credits === 0) return [];
  const { credits: amount, currency, expires_at, period } = received;
  // A payment of nothing, by a coupon, has nothing to give back.
  const amount_cents = Math.max(1, received.amount_cents);
  const transaction_type = period === null ? 'purchase' : 'subscription';
  const commands: CreditsCommand[] = [
    { type: 'grant', transaction_type, reference_id: payment_id, amount, expires_at },
  ];
  const lot_id = `${transaction_type}:${payment_id}`;
  const reversed_cents = [...reversals.values()]
    .filter((reversal) => reversal.currency === currency && stands(reversal, payment))
    .reduce((sum, reversal) => sum + reversal.amount_cents, 0);
  // Rounded once, in the user's favour: any parts of the whole take the whole.
  const target = Math.min(amount, Math.floor((amount * reversed_cents) / amount_cents));
  if (reversals.size > 0) commands.push({ type: 'reverse', payment_id, lot_id, target });
  return commands;
}

export type Payments = ReturnType<typeof openPayments>;

export function openPayments(log: EventStore) {
  const aggregate = openAggregate<Payment, PaymentEvent>(log, { initial, evolve });
  return {
    run: (payment_id: string, command: PaymentCommand, context: CommandContext) =>
      aggregate.handle(paymentStream(payment_id), context, (payment) => decide(payment, command)),
    read: (payment_id: string) => aggregate.read(paymentStream(payment_id)),
  };
}
