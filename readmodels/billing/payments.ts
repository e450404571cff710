// The read model of payments: what each user paid, and what went back.
import type { PaymentProviderName, ReversalKind } from '../../events/payment.ts';
import type { BillingInterval, PlanName } from '../../events/subscription.ts';
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

/** `_id` is the payment's id. */
export interface PaymentDocument extends Document {
  /** Null while only a reversal of it is known. */
  user_id: string | null;
  provider: PaymentProviderName | null;
  /** A payment of the sandbox of which no issue is raised. */
  is_sandbox_untold: boolean;
  paid_at: string | null;
  package_id: string | null;
  plan: PlanName | null;
  interval: BillingInterval | null;
  period_start: string | null;
  period_end: string | null;
  credits: number;
  currency: string;
  amount_cents: number;
  tax_cents: number;
  /** Money that came; the rest of the amount was paid by a balance, or is still owed. */
  paid_cents: number;
  /** The newest news of each. */
  reversals: { reversal_id: string; kind: ReversalKind; currency: string; amount_cents: number; at: string }[];
  /** When each was last lifted. */
  lifted: { reversal_id: string; at: string }[];
}

export const payments: ReadModelSpec<PaymentDocument> = {
  name: 'payments',
  ...kept('500 a payment', 'never', 'derived'),
  fields: { user_id: 'string', paid_at: 'string', is_sandbox_untold: 'boolean' },
  indexes: [{ fields: { user_id: 1, paid_at: -1, _id: -1 } }, { fields: { is_sandbox_untold: 1 } }],
};

/** The money that is back with the customer. */
export const returnedCents = ({ reversals, lifted, currency }: PaymentDocument): number =>
  reversals
    .filter((each) => each.currency === currency)
    .filter(({ reversal_id, at }) => !lifted.some((each) => each.reversal_id === reversal_id && each.at >= at))
    .reduce((sum, { amount_cents }) => sum + amount_cents, 0);
