// The streams `mail-{mailId}`: what became of a mail about payments, plans and reruns. Its text is made of the event that it is about.
import { type EventsOf, event } from './event-spec.ts';
import { uuidV5 } from './ids.ts';
import { personal } from './personal.ts';
import { Type } from './schema.ts';

export const MAIL_KINDS = ['receipt', 'payment_failed', 'plan_ended', 'trial_started', 'job_rerun'] as const;
export type MailKind = (typeof MAIL_KINDS)[number];

const about = { user_id: Type.String(), kind: Type.Enum(MAIL_KINDS) };

export const MAIL_EVENTS = {
  /** The mail server took the mail. */
  MailSent: event(about),
  /** The mail will not be sent: the server refused it for good, the user has no address, or it was too late for it. */
  MailDropped: event({ ...about, reason: personal(Type.String(), 'user') }),
};

export type MailEvent = EventsOf<typeof MAIL_EVENTS>;

const MAILS = '5a6c1c1e-0f1b-4c57-9c39-6d2b8f5f3a01';
/** Id of the only mail of a kind about a payment, a user or a job. */
export const mailId = (kind: MailKind, about_id: string) => uuidV5(MAILS, `${kind}/${about_id}`);
