// The aggregate of one mail: it is sent, or dropped, once.
import type { EventStore } from '../events/event-store.ts';
import type { MailEvent, MailKind } from '../events/mail.ts';
import { mailStream } from '../events/streams.ts';
import { type CommandContext, type Decision, type Done, evolveBy, openAggregate } from './aggregate.ts';

export type MailState = 'due' | 'sent' | 'dropped';

export const initial = (): MailState => 'due';
export const evolve = evolveBy<MailState, MailEvent>({ MailSent: () => 'sent', MailDropped: () => 'dropped' });

export interface MailOutcome {
  user_id: string;
  kind: MailKind;
  /** Null: the mail was sent. */
  dropped: string | null;
}

export function decide(state: MailState, { user_id, kind, dropped }: MailOutcome): Decision<MailEvent> {
  if (state !== 'due') return { events: [] };
  if (dropped === null) return { events: [{ type: 'MailSent', data: { user_id, kind } }] };
  return { events: [{ type: 'MailDropped', data: { user_id, kind, reason: dropped } }] };
}

export interface Mails {
  stateOf(mail_id: string): Promise<MailState>;
  record(mail_id: string, outcome: MailOutcome, context: CommandContext): Promise<Done>;
}

export function openMails(log: EventStore): Mails {
  const aggregate = openAggregate<MailState, MailEvent>(log, { initial, evolve });
  return {
    stateOf: async (mail_id) => (await aggregate.read(mailStream(mail_id))).state,
    record: (mail_id, outcome, context) =>
      aggregate.handle(mailStream(mail_id), context, (state) => decide(state, outcome)),
  };
}
