// The aggregate of one mail: it is requested, unless another event owes it; then it is sent, or dropped, once.

import type { DataOf } from '../events/event-spec.ts';
import type { EventStore } from '../events/event-store.ts';
import type { MAIL_EVENTS, MailEvent, MailKind } from '../events/mail.ts';
import { mailStream } from '../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from './aggregate.ts';

/** `due` before the first event, too: most mails are owed by an event of another stream. */
export type MailState = 'due' | 'requested' | 'sent' | 'dropped';

export const initial = (): MailState => 'due';
export const evolve = evolveBy<MailState, MailEvent>({
  MailRequested: () => 'requested',
  MailSent: () => 'sent',
  MailDropped: () => 'dropped',
});
const isOpen = (state: MailState) => state === 'due' || state === 'requested';

export type MailRequest = DataOf<typeof MAIL_EVENTS.MailRequested>;

/** Of two requests for one mail the first counts. */
export const request = (state: MailState, data: MailRequest): Decision<MailEvent> => ({
  events: state === 'due' ? [{ type: 'MailRequested', data }] : [],
});

export interface MailOutcome {
  user_id: string;
  kind: MailKind;
  /** Null: the mail was sent. */
  dropped: string | null;
}

export function decide(state: MailState, { user_id, kind, dropped }: MailOutcome): Decision<MailEvent> {
  if (!isOpen(state)) return { events: [] };
  if (dropped === null) return { events: [{ type: 'MailSent', data: { user_id, kind } }] };
  return { events: [{ type: 'MailDropped', data: { user_id, kind, reason: dropped } }] };
}

export type Mails = ReturnType<typeof openMails>;

export function openMails(log: EventStore) {
  const aggregate = openAggregate<MailState, MailEvent>(log, { initial, evolve });
  return {
    isOpen: async (mail_id: string) => isOpen((await aggregate.read(mailStream(mail_id))).state),
    request: (mail_id: string, data: MailRequest, context: CommandContext) =>
      aggregate.handle(mailStream(mail_id), context, (state) => request(state, data)),
    record: (mail_id: string, outcome: MailOutcome, context: CommandContext) =>
      aggregate.handle(mailStream(mail_id), context, (state) => decide(state, outcome)),
  };
}
