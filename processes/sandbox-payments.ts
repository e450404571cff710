// Payments of the sandbox in the log of a service that takes money: somebody has credits for which nobody paid. A person decides about each.
import type { CommandContext } from '../commands/aggregate.ts';
import { notRefused } from '../commands/aggregate.ts';
import type { PaymentIssues } from '../commands/billing/payment-issue.ts';
import { payments } from '../readmodels/billing/payments.ts';
import { type AnyManager, processManager } from './process-manager.ts';

export interface SandboxPaymentsOptions {
  issues: PaymentIssues;
  context: (payment_id: string) => CommandContext;
}

export const sandboxPayments = ({ issues, context }: SandboxPaymentsOptions): AnyManager =>
  processManager({
    name: 'sandbox payments',
    finds: { in: payments, where: { is_sandbox_untold: true } },
    order: '_id',
    async work({ _id: subject, user_id, amount_cents, currency }) {
      const issue = { reason: 'sandbox_data', subject, user_id, amount_cents, currency } as const;
      return notRefused(await issues.raise(issue, context(subject))).position;
    },
    fails: 'a payment of the sandbox cannot be told now; the others are',
  });
