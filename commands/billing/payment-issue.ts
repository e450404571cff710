// The aggregate of one issue about money that a person has to decide. The same news again raise no second one. Decision 154 says why.
import { hash } from 'node:crypto';
import type { EventStore } from '../../events/event-store.ts';
import type { PaymentIssueEvent, PaymentIssueRaised } from '../../events/payment-issue.ts';
import { paymentIssueStream } from '../../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from '../aggregate.ts';

type PaymentIssue = 'none' | 'open' | 'resolved';
export type PaymentIssueCommand = { type: 'raise'; issue: PaymentIssueRaised } | { type: 'resolve'; note: string };

const initial = (): PaymentIssue => 'none';
const evolve = evolveBy<PaymentIssue, PaymentIssueEvent>({
  PaymentIssueRaised: () => 'open',
  PaymentIssueResolved: () => 'resolved',
});

export function decide(state: PaymentIssue, command: PaymentIssueCommand): Decision<PaymentIssueEvent> {
  if (command.type === 'raise') {
    return { events: state === 'none' ? [{ type: 'PaymentIssueRaised', data: command.issue }] : [] };
  }
  if (state === 'none') return { refused: { code: 'issue_not_found', message: 'There is no such issue.' } };
  return { events: state === 'open' ? [{ type: 'PaymentIssueResolved', data: { note: command.note } }] : [] };
}

/** @example issueId({ reason: 'second_plan', subject: 'sub_1' }).length // 32 */
export const issueId = ({ reason, subject }: Pick<PaymentIssueRaised, 'reason' | 'subject'>): string =>
  hash('sha256', `${reason} ${subject}`, 'hex').slice(0, 32);

export function openPaymentIssues(log: EventStore) {
  const aggregate = openAggregate<PaymentIssue, PaymentIssueEvent>(log, { initial, evolve });
  const run = (issue_id: string, command: PaymentIssueCommand, context: CommandContext) =>
    aggregate.handle(paymentIssueStream(issue_id), context, (state) => decide(state, command));
  return {
    raise: (issue: PaymentIssueRaised, context: CommandContext) =>
      run(issueId(issue), { type: 'raise', issue }, context),
    resolve: (issue_id: string, note: string, context: CommandContext) =>
      run(issue_id, { type: 'resolve', note }, context),
  };
}
export type PaymentIssues = ReturnType<typeof openPaymentIssues>;
