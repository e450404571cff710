// The read model of mails about payments, plans, credits and reruns: those that the processes still owe, and what became of the others.
import type { MailKind } from '../events/mail.ts';
import type { BillingInterval, PlanName } from '../events/subscription.ts';
import { type Document, kept, type ReadModelSpec } from './documents.ts';

/** The facts that the text is made of; those that its kind has. */
export interface MailFacts {
  /** Money that came. */
  amount_cents?: number;
  /** What the customer's balance paid. */
  credited_cents?: number;
  currency?: string;
  credits?: number;
  /** The balance that was fallen below. */
  below?: number;
  plan?: PlanName;
  interval?: BillingInterval;
  /** The job that runs the failed one again. */
  job_id?: string;
  failed_job_id?: string;
  urls?: number;
  /** ISO 8601: until then the credits or the plan last. */
  until?: string;
}

/** `_id` is the mail's id. */
export interface MailDocument extends Document {
  user_id: string;
  kind: MailKind;
  facts: MailFacts;
  status: 'due' | 'sent' | 'dropped';
  /** The time of the event that the mail is about. */
  created_at: string;
}

export const mails: ReadModelSpec<MailDocument> = {
  name: 'mails',
  ...kept('200 a mail', 'never', 'in_file'),
  fields: { user_id: 'string', status: 'string', created_at: 'string' },
  indexes: [{ fields: { status: 1, created_at: 1 } }, { fields: { user_id: 1, created_at: 1 } }],
};
