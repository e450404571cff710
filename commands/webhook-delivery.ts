// The aggregate of one delivery, of one event to one endpoint: its attempts and the time of the next one.
import type { EventStore } from '../events/event-store.ts';
import { webhookDeliveryStream } from '../events/streams.ts';
import {
  type GivenUpReason,
  isDelivered,
  type WebhookAttempted,
  type WebhookDeliveryEvent,
  type WebhookDeliveryRequested,
} from '../events/webhook.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from './aggregate.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The delays after the first failed attempt, the second, and so on. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
];
/** The random share of each delay, up or down, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;
/** A receiver's Retry-After is followed up to the schedule's longest delay. */
const RETRY_AFTER_CAP_MS = 10 * HOUR;

export interface WebhookDelivery {
  /** Empty before the request. */
  endpoint_id: string;
  status: 'none' | 'pending' | 'delivered' | 'given_up';
  attempts: number;
  /** The number of attempts since the last request or resend: the place in the schedule. */
  tries: number;
}

export const initial = (): WebhookDelivery => ({ endpoint_id: '', status: 'none', attempts: 0, tries: 0 });
export const evolve = evolveBy<WebhookDelivery, WebhookDeliveryEvent>({
  WebhookDeliveryRequested: (delivery, { endpoint_id }) => ({ ...delivery, endpoint_id, status: 'pending' }),
  WebhookDeliveredAtOnce: (_, { endpoint_id }) => ({ endpoint_id, status: 'delivered', attempts: 1, tries: 1 }),
  WebhookAttempted: (delivery, { attempt }) => ({ ...delivery, attempts: attempt, tries: delivery.tries + 1 }),
  WebhookDelivered: (delivery) => ({ ...delivery, status: 'delivered' }),
  WebhookDeliveryGivenUp: (delivery) => ({ ...delivery, status: 'given_up' }),
  WebhookResendRequested: (delivery) => ({ ...delivery, status: 'pending', tries: 0 }),
});

export interface AttemptOutcome extends Pick<WebhookAttempted, 'status_code' | 'error' | 'response_excerpt'> {
  duration_ms: number;
  /** The receiver's Retry-After. */
  retry_after_ms: number | null;
}

interface RecordAttempt {
  type: 'recordAttempt';
  /** Begins the stream of a delivery that nothing was recorded of. */
  delivery: WebhookDeliveryRequested;
  /** The attempt's number, from 1; a recorded attempt is not recorded again. */
  attempt: number;
  outcome: AttemptOutcome;
  /** In [0, 1). */
  random: number;
}

export type WebhookDeliveryCommand =
  | { type: 'request'; delivery: WebhookDeliveryRequested }
  | RecordAttempt
  | { type: 'giveUp'; delivery: WebhookDeliveryRequested; reason: GivenUpReason }
  | { type: 'resend' };

export const NO_SUCH_DELIVERY = { code: 'delivery_not_found', message: 'There is no such delivery of this endpoint.' };

/** `now`: milliseconds since the epoch. */
export function decide(
  delivery: Readonly<WebhookDelivery>,
  command: WebhookDeliveryCommand,
  now: number,
): Decision<WebhookDeliveryEvent> {
  const { status, attempts, tries } = delivery;
  switch (command.type) {
    case 'request':
      return { events: requested(delivery, command.delivery) };
    case 'recordAttempt':
      if (!isOpen(delivery) || command.attempt !== attempts + 1) return { events: [] };
      return { events: status === 'none' ? first(command, now) : attempted(tries, command, now) };
    case 'giveUp': {
      if (!isOpen(delivery)) return { events: [] };
      const given_up = { type: 'WebhookDeliveryGivenUp', data: { reason: command.reason } } as const;
      return { events: [...requested(delivery, command.delivery), given_up] };
    }
    case 'resend':
      if (status === 'none') {
        return { refused: NO_SUCH_DELIVERY };
      }
      // A delivery that has not been tried since its last request is due already.
      return { events: status === 'pending' && tries === 0 ? [] : [{ type: 'WebhookResendRequested', data: {} }] };
  }
}

/** Whether an attempt may be made. */
export const isOpen = ({ status }: Readonly<WebhookDelivery>) => status === 'none' || status === 'pending';

const requested = ({ status }: Readonly<WebhookDelivery>, data: WebhookDeliveryRequested): WebhookDeliveryEvent[] =>
  status === 'none' ? [{ type: 'WebhookDeliveryRequested', data }] : [];

/** Nearly every delivery succeeds at once, and leaves one event. */
function first(command: RecordAttempt, now: number): WebhookDeliveryEvent[] {
  const { endpoint_id, user_id, event } = command.delivery;
  const { status_code, response_excerpt, duration_ms } = command.outcome;
  if (!isDelivered(status_code) || event.type === 'endpoint.test') {
    return [...requested(initial(), command.delivery), ...attempted(0, command, now)];
  }
  const data = {
    ...{ endpoint_id, user_id, event: { type: event.type, job_id: event.data.job_id } },
    ...{ status_code, ...(response_excerpt !== '' && { response_excerpt }), duration_ms },
  };
  return [{ type: 'WebhookDeliveredAtOnce', data }];
}

function attempted(
  tries_before: number,
  { delivery: { endpoint_id }, attempt, outcome, random }: RecordAttempt,
  now: number,
): WebhookDeliveryEvent[] {
  const { retry_after_ms, ...recorded } = outcome;
  const is_delivered = isDelivered(outcome.status_code);
  const is_gone = outcome.status_code === 410;
  const delay_ms = is_delivered || is_gone ? null : retryDelay(tries_before + 1, retry_after_ms, random);
  const next_attempt_at = delay_ms === null ? null : new Date(now + delay_ms).toISOString();
  const data: WebhookAttempted = { attempt, endpoint_id, ...recorded, next_attempt_at };
  const events: WebhookDeliveryEvent[] = [{ type: 'WebhookAttempted', data }];
  if (is_delivered) events.push({ type: 'WebhookDelivered', data: {} });
  else if (delay_ms === null) {
    const reason = is_gone ? 'endpoint_gone' : 'no_attempts_left';
    events.push({ type: 'WebhookDeliveryGivenUp', data: { reason } });
  }
  return events;
}

/** The delay in milliseconds after `failures` failed attempts, from 1; null after the last one. `random` in [0, 1). */
export function retryDelay(failures: number, retry_after_ms: number | null, random: number): number | null {
  const delay_ms = RETRY_DELAYS_MS[failures - 1];
  if (delay_ms === undefined) return null;
  const scheduled_ms = delay_ms * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(scheduled_ms, Math.min(retry_after_ms ?? 0, RETRY_AFTER_CAP_MS)));
}

export type WebhookDeliveries = ReturnType<typeof openWebhookDeliveries>;

export function openWebhookDeliveries(log: EventStore) {
  const aggregate = openAggregate<WebhookDelivery, WebhookDeliveryEvent>(log, { initial, evolve });
  return {
    read: (delivery_id: string) => aggregate.read(webhookDeliveryStream(delivery_id)),
    run: (delivery_id: string, command: WebhookDeliveryCommand, context: CommandContext) =>
      aggregate.handle(webhookDeliveryStream(delivery_id), context, (delivery) =>
        decide(delivery, command, context.now),
      ),
  };
}
