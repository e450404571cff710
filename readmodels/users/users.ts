// The read model of users: the profile that each sees, and what administrators decide by.
import type { CreditMails, Fingerprint, WithheldReason } from '../../events/user.ts';
import { type Document, kept, type ReadModelSpec } from '../documents.ts';

export interface UserDocument extends Document {
  /** `_id` is the user's id. */
  email: string | null;
  name: string | null;
  /** ISO 8601. */
  registered_at: string;
  fingerprint: (Fingerprint & { recorded_at: string }) | null;
  /** `reason` when the bonus is withheld. */
  bonus: { status: 'pending' | 'granted' | 'withheld'; reason: WithheldReason | null; at: string | null };
  /** The limit of an administrator: the most credits that the user's jobs may use in a period. */
  custom_limit: number | null;
  /** The user's own; absent before the first. */
  spending_limit?: number | null;
  /** Absent before the first choice. */
  credit_mails?: CreditMails;
  /** What administrators wrote of the user. */
  notes: string | null;
  jobs_created: number;
  last_job_at: string | null;
  /** When the user's erasure was asked for; the personal fields are null from then on. */
  erased_at: string | null;
}

export const users: ReadModelSpec<UserDocument> = {
  name: 'users',
  ...kept('500 a user', "never; a user's personal fields with the erasure", 'in_file'),
  fields: { email: 'string', registered_at: 'string', last_job_at: 'string', erased_at: 'string' },
  indexes: [{ fields: { registered_at: -1 } }, { fields: { email: 1 } }],
};
