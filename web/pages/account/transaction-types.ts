// The types of credit transactions in the words of their owner.
import type { AnswerOf } from '../../api/ask.ts';

type TransactionType = AnswerOf<'GET /users/me/credit-transactions'>['items'][number]['transaction_type'];

export const TRANSACTION_LABELS: Readonly<Record<TransactionType, string>> = {
  signup_bonus: 'Welcome credits',
  purchase: 'Purchase',
  subscription: 'Plan',
  trial: 'Trial',
  reservation: 'Reserved for a job',
  refund: 'Refund from a job',
  release: 'Reservation undone',
  adjustment: 'Correction',
  expiry: 'Expired',
  reversal: 'Refunded or disputed payment',
  restoration: 'Payment restored',
  recovery: 'Paid off credits owed',
};
