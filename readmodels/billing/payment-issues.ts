// The read model of what a person has to decide about money.
import type { IssueReason } from '../../events/payment-issue.ts';
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

/** `_id` is the issue's id. */
export interface PaymentIssueDocument extends Document {
  reason: IssueReason;
  subject: string;
  user_id: string | null;
  amount_cents: number | null;
  currency: string | null;
  status: 'open' | 'resolved';
  raised_at: string;
  resolved_at: string | null;
  resolved_by: string | null;
  note: string | null;
}

export const paymentIssues: ReadModelSpec<PaymentIssueDocument> = {
  name: 'payment_issues',
  ...kept('400 an issue', 'never', 'administration'),
  fields: { status: 'string', raised_at: 'string' },
  indexes: [{ fields: { status: 1, raised_at: -1 } }, { fields: { raised_at: -1 } }],
};
