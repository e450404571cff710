// The read models of credits: each user's balance, the lots that it consists of, and the transactions behind it.
import type { TransactionType } from '../../events/credits.ts';
import { correctedUsage, type Usage, type UsageCorrection, usageAt } from '../../events/usage.ts';
import { type Collection, type Document, kept, type ReadModelSpec, readById } from '../documents.ts';

export interface BalanceDocument extends Document {
  /** `_id` is the user's id. */
  balance: number;
  /** Credits taken back after they were spent: the next ones pay them off. */
  owed: number;
  /** The hash of the ledger's last entry. */
  hash: string;
  /** As of the last entry. */
  usage: Usage;
  /** An administrator's correction of one period's usage. */
  usage_correction: UsageCorrection | null;
}

export const balances = readById<BalanceDocument>('balances', kept('290 a user', 'never', 'in_file'));

/** The credits of one grant. `_id` is of the user and the lot. */
export interface LotDocument extends Document {
  user_id: string;
  /** The id of the transaction that opened it. */
  lot_id: string;
  transaction_type: TransactionType;
  /** The credits that it had at first. */
  credits: number;
  remaining: number;
  /** ISO 8601; null: never. */
  expires_at: string | null;
  /** When the processes have to expire it: null when it never expires, and when nothing remains. */
  due_at: string | null;
  created_at: string;
}

export const creditLots: ReadModelSpec<LotDocument> = {
  name: 'credit_lots',
  ...kept('300 a grant', 'never', 'in_file'),
  fields: { user_id: 'string', remaining: 'number', created_at: 'string', due_at: 'string' },
  indexes: [{ fields: { user_id: 1, created_at: 1 } }, { fields: { due_at: 1 } }],
};

export const lotDocumentId = (user_id: string, lot_id: string) => `${user_id}:${lot_id}`;

export interface TransactionDocument extends Document {
  user_id: string;
  /** The entry's place in the ledger, from 0. */
  number: number;
  transaction_id: string;
  transaction_type: TransactionType;
  amount: number;
  reference_id: string;
  balance_after: number;
  created_at: string;
}

export const transactions: ReadModelSpec<TransactionDocument> = {
  name: 'transactions',
  ...kept('340 an entry', 'never', 'in_file'),
  fields: { user_id: 'string', number: 'number', transaction_type: 'string' },
  indexes: [{ fields: { user_id: 1, number: -1 } }, { fields: { user_id: 1, transaction_type: 1, number: -1 } }],
};

export const balanceOf = async (
  collection: Pick<Collection<BalanceDocument>, 'get'>,
  user_id: string,
): Promise<number> => (await collection.get(user_id))?.balance ?? 0;

/** Returns the credits that a user has used in the current period, as an administrator corrected them. `now`: milliseconds since the epoch. */
export function usageOf(balance: BalanceDocument | null, now: number) {
  const usage = usageAt(balance?.usage ?? null, new Date(now).toISOString());
  const { period_start, period_end } = usage;
  return { period_start, period_end, credits_used: correctedUsage(usage, balance?.usage_correction ?? null) };
}
