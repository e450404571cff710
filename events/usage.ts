// The usage of credits in a period: a subscription's or trial's period, else the calendar month (UTC). The ledger decides limits by
// it, and the read model shows it.
import { TRANSACTIONS, type TransactionType } from './credits.ts';

export interface Usage {
  /** ISO 8601. */
  period_start: string;
  period_end: string;
  /** The credits that jobs reserved in the period, less what was refunded of them in it. */
  used: number;
}

/** An administrator's correction of one period's usage: credits to add, mostly negative. */
export interface UsageCorrection {
  period_start: string;
  added: number;
}

/** The clocks of processes differ by less. A period that begins later than this was opened before a clock was set back. */
const CLOCKS_DIFFER_MS = 86_400_000;

/** The usage at a time (ISO 8601); a period that has ended is followed by the rest of the calendar month. */
export function usageAt(usage: Usage | null, at: string): Usage {
  const time = new Date(at);
  const is_ahead = usage !== null && Date.parse(usage.period_start) - time.getTime() > CLOCKS_DIFFER_MS;
  if (usage && at < usage.period_end && !is_ahead) return usage;
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  const month_start = new Date(Date.UTC(year, month)).toISOString();
  const period_end = new Date(Date.UTC(year, month + 1)).toISOString();
  if (is_ahead) return { period_start: month_start, period_end, used: usage.used };
  const period_start = usage && usage.period_end > month_start ? usage.period_end : month_start;
  return { period_start, period_end, used: 0 };
}

/** The usage after an entry of the ledger. A grant of a subscription opens a period, unless that ended before or ends with the current one. */
export function usageAfter(
  usage: Usage | null,
  entry: { transaction_type: TransactionType; amount: number; expires_at?: string | null; of_period?: number },
  at: string,
): Usage {
  const before = usageAt(usage, at);
  const { transaction_type, amount, expires_at, of_period = amount } = entry;
  // A later service may know more types.
  const effect = TRANSACTIONS[transaction_type]?.usage_effect;
  if (effect === 'counts') return { ...before, used: Math.max(0, before.used - of_period) };
  if (effect !== 'opens' || !expires_at) return before;
  const period_end = new Date(expires_at).toISOString();
  // The news of a former period's payment came late.
  if (period_end <= at) return before;
  return period_end === before.period_end ? before : { period_start: at, period_end, used: 0 };
}

/**
 * Tells how many of the `amount` refunded at `at` were reserved in the current period, unless all were. A refund of an earlier period's
 * reservation must not let jobs use more than the limit in this one. The last reservations are refunded first.
 */
export function ofPeriod(
  usage: Usage | null,
  reservations: readonly { at?: string; amount: number }[],
  amount: number,
  at: string,
): { of_period?: number } {
  const { period_start } = usageAt(usage, at);
  let missing = amount;
  let of_period = 0;
  for (const { at: reserved_at = period_start, amount: reserved } of reservations.toReversed()) {
    const refunded = Math.min(reserved, missing);
    missing -= refunded;
    if (reserved_at >= period_start) of_period += refunded;
  }
  return of_period === amount ? {} : { of_period };
}

/** The usage with an administrator's correction of the same period. */
export function correctedUsage({ period_start, used }: Usage, correction: UsageCorrection | null): number {
  return Math.max(0, used + (correction?.period_start === period_start ? correction.added : 0));
}
