// The streams `mail-{mailId}`: what became of a mail about payments, plans, credits and reruns. Its text is made of the event that it is about.
// A mail about credits is about no single event: a process manager requests it here.
import { type EventsOf, event } from './event-spec.ts';
import { uuidV5 } from './ids.ts';
import { personal } from './personal.ts';
import { Type } from './schema.ts';

export const CREDIT_MAIL_KINDS = ['low_balance', 'expiring_credits'] as const;
export const MAIL_KINDS = [
  ...(['receipt', 'payment_failed', 'plan_ended', 'trial_started', 'job_rerun'] as const),
  ...CREDIT_MAIL_KINDS,
] as const;
export type MailKind = (typeof MAIL_KINDS)[number];

const about = { user_id: Type.String(), kind: Type.Enum(MAIL_KINDS) };

export const MAIL_EVENTS = {
  /** `low_balance`: the user's balance fell below `below`, to `credits`. `expiring_credits`: that many expire at `until`. */
  MailRequested: event({
    user_id: Type.String(),
    kind: Type.Enum(CREDIT_MAIL_KINDS),
    credits: Type.Integer({ minimum: 0 }),
    below: Type.Optional(Type.Integer({ minimum: 1 })),
    until: Type.Optional(Type.String({ format: 'date-time' })),
  }),
  /** The mail server took the mail. */
  MailSent: event(about),
  /** The mail will not be sent: the server refused it for good, the user has no address, or it was too late for it. */
  MailDropped: event({ ...about, reason: personal(Type.String(), 'user') }),
};

export type MailEvent = EventsOf<typeof MAIL_EVENTS>;

const MAILS = '5a6c1c1e-0f1b-4c57-9c39-6d2b8f5f3a01';
/** Id of the only mail of a kind about a payment, a user, a job, a fall of a balance or a time at which credits expire. */
export const mailId = (kind: MailKind, about_id: string) => uuidV5(MAILS, `${kind}/${about_id}`);
