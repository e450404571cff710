// A webhook endpoint in words: what it is told, and whether it is.
import type { AnswerOf } from '../api/ask.ts';

export type Endpoint = AnswerOf<'GET /webhooks/endpoints/{id}'>;

/** "It is told when a job …" */
export const EVENT_LABELS: Readonly<Record<Endpoint['events'][number], string>> = {
  'job.completed': 'completes',
  'job.paused': 'pauses',
  'job.failed': 'fails',
  'job.cancelled': 'is cancelled',
};

/** @example eventsText(['job.completed', 'job.failed']) // 'completes, fails' */
export const eventsText = (events: Endpoint['events']): string =>
  events.length === 0 ? 'all' : events.map((name) => EVENT_LABELS[name]).join(', ');

const REASONS = { gone: 'it answered 410', failing: 'it failed for five days' } as const;

export function EndpointStatus({ endpoint: { status, disabled_reason } }: { endpoint: Endpoint }) {
  return (
    <span class={`badge is-${status}`}>
      {status}
      {disabled_reason && `: ${REASONS[disabled_reason]}`}
    </span>
  );
}
