// The read model of mails about credits that are to be requested: which balances have fallen, and which credits expire.
import type { CreditMails } from '../../events/user.ts';
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

/** Credits that expire. */
export interface ExpiringLot {
  lot_id: string;
  remaining: number;
  expires_at: string;
}

/** `_id` is the user's id. Times are in ISO 8601. */
export interface CreditNoticesDocument extends Document {
  wanted: CreditMails;
  is_erased: boolean;
  balance: number;
  /** Credits of the last bonus, purchase, period or trial; 0 before the first. */
  last_grant: number;
  /** Whether the balance is below the threshold. */
  is_low: boolean;
  /** The number of the ledger's entry by which it last fell below. */
  low_entry: number | null;
  /** When the user is to be told; null when the mail is requested, and when the balance is not low. */
  low_at: string | null;
  /** Lots whose time has not come. */
  lots: ExpiringLot[];
  /** The times of expiry for which a mail is requested. */
  announced: string[];
  /** When the next credits expire for which none is; null for none. */
  expiring_at: string | null;
}

export const creditNotices: ReadModelSpec<CreditNoticesDocument> = {
  name: 'credit_notices',
  ...kept('300 a user, and 80 for each grant that expires', 'never', 'derived'),
  fields: { low_at: 'string', expiring_at: 'string' },
  indexes: [{ fields: { low_at: 1 } }, { fields: { expiring_at: 1 } }],
};

/** Below this balance the user is told; 0: never. */
export const thresholdOf = ({ wanted, last_grant }: CreditNoticesDocument): number =>
  wanted.low_balance ?? Math.ceil(last_grant / 10);

/** What the mails are about: one of a kind for each. */
export const fallOf = ({ _id, low_entry }: CreditNoticesDocument) => `${_id}/${low_entry}`;
export const expiryOf = (user_id: string, expires_at: string) => `${user_id}/${expires_at}`;
