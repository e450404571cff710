// The streams `webhook_endpoints-{userId}` (where a user wants to hear of events; all of them in one stream, because
// there is a limit on their number) and `webhook_delivery-{deliveryId}` (how one event came to one endpoint).
import { type Static, Type } from 'typebox';
import { uuidV5 } from './ids.ts';
import { Nullable } from './nullable.ts';

const Count = Type.Integer({ minimum: 0 });
const Time = Type.String({ format: 'date-time' });

export const WEBHOOK_EVENT_TYPES = ['job.completed'] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** What a receiver is sent: the same at every attempt and for every endpoint. */
export const WebhookEvent = Type.Object({
  id: Type.String(),
  type: Type.Enum(WEBHOOK_EVENT_TYPES),
  created_at: Time,
  data: Type.Object({
    job_id: Type.String(),
    status: Type.Literal('completed'),
    total_urls: Count,
    completed_urls: Count,
    broken_urls: Count,
  }),
});
export type WebhookEvent = Static<typeof WebhookEvent>;

export const WebhookEndpointCreated = Type.Object({
  endpoint_id: Type.String(),
  user_id: Type.String(),
  url: Type.String(),
  /** What it hears of; none means all. */
  events: Type.Array(Type.Enum(WEBHOOK_EVENT_TYPES)),
});
/** `gone`: it answered 410. `failing`: nothing arrived for days. */
export const DISABLED_REASONS = ['gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];
export const WebhookEndpointDisabled = Type.Object({
  endpoint_id: Type.String(),
  reason: Type.Enum(DISABLED_REASONS),
});
/** The owner was sent a mail, or could not be: then `refused` says why. */
export const WebhookEndpointOwnerNotified = Type.Object({
  endpoint_id: Type.String(),
  refused: Nullable(Type.String()),
});
export const WebhookEndpointDeleted = Type.Object({ endpoint_id: Type.String() });

export const WebhookDeliveryRequested = Type.Object({
  delivery_id: Type.String(),
  endpoint_id: Type.String(),
  user_id: Type.String(),
  event: WebhookEvent,
});
export const WebhookAttempted = Type.Object({
  /** From 1, over all resends. */
  attempt: Type.Integer({ minimum: 1 }),
  /** Null when no answer came; then `error` says why. */
  status_code: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  /** The beginning of the answer's body. */
  response_excerpt: Type.String(),
  duration_ms: Count,
  /** Null after the last one. */
  next_attempt_at: Nullable(Time),
});
/** The attempt before it was answered with 2xx. */
export const WebhookDelivered = Type.Object({});
export const GIVEN_UP_REASONS = ['no_attempts_left', 'endpoint_gone', 'endpoint_disabled'] as const;
export type GivenUpReason = (typeof GIVEN_UP_REASONS)[number];
export const WebhookDeliveryGivenUp = Type.Object({ reason: Type.Enum(GIVEN_UP_REASONS) });
/** By its owner: it is due at once, and the schedule begins anew. */
export const WebhookResendRequested = Type.Object({});

export type WebhookEndpointCreated = Static<typeof WebhookEndpointCreated>;
export type WebhookEndpointDisabled = Static<typeof WebhookEndpointDisabled>;
export type WebhookEndpointOwnerNotified = Static<typeof WebhookEndpointOwnerNotified>;
export type WebhookDeliveryRequested = Static<typeof WebhookDeliveryRequested>;
export type WebhookAttempted = Static<typeof WebhookAttempted>;
export type WebhookDeliveryGivenUp = Static<typeof WebhookDeliveryGivenUp>;

export type WebhookEndpointsEvent =
  | { type: 'WebhookEndpointCreated'; data: WebhookEndpointCreated }
  | { type: 'WebhookEndpointDisabled'; data: WebhookEndpointDisabled }
  | { type: 'WebhookEndpointOwnerNotified'; data: WebhookEndpointOwnerNotified }
  | { type: 'WebhookEndpointDeleted'; data: Static<typeof WebhookEndpointDeleted> };
export type WebhookDeliveryEvent =
  | { type: 'WebhookDeliveryRequested'; data: WebhookDeliveryRequested }
  | { type: 'WebhookAttempted'; data: WebhookAttempted }
  | { type: 'WebhookDelivered'; data: Static<typeof WebhookDelivered> }
  | { type: 'WebhookDeliveryGivenUp'; data: WebhookDeliveryGivenUp }
  | { type: 'WebhookResendRequested'; data: Static<typeof WebhookResendRequested> };

/** There is one event of a type for a job, whoever hears of it and however often. */
export const webhookEventId = (job_id: string, type: WebhookEventType) => uuidV5(job_id, type);
/** And one delivery of it to an endpoint. */
export const webhookDeliveryId = (endpoint_id: string, event_id: string) => uuidV5(endpoint_id, event_id);

export const isDelivered = (status_code: number | null) =>
  status_code !== null && status_code >= 200 && status_code < 300;
