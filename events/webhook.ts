// The streams `webhook_endpoints-{userId}` (a user's endpoints; one stream holds them all, so that it decides the limit on
// their number) and `webhook_delivery-{deliveryId}` (the attempts to deliver one event to one endpoint).

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { uuidV5 } from './ids.ts';
import { Nullable } from './nullable.ts';
import { personal } from './personal.ts';
import { type Static, Type } from './schema.ts';

const Count = Type.Integer({ minimum: 0 });
const Time = Type.String({ format: 'date-time' });

export const WEBHOOK_EVENT_TYPES = ['job.completed'] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** The body of a delivery: the same at every attempt and for every endpoint. */
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

/** `gone`: the endpoint answered 410. `failing`: every attempt failed for days. */
export const DISABLED_REASONS = ['gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];
export const GIVEN_UP_REASONS = ['no_attempts_left', 'endpoint_gone', 'endpoint_disabled'] as const;
export type GivenUpReason = (typeof GIVEN_UP_REASONS)[number];

export const WEBHOOK_ENDPOINTS_EVENTS = {
  WebhookEndpointCreated: event({
    endpoint_id: Type.String(),
    user_id: Type.String(),
    url: personal(Type.String(), 'user'),
    /** The event types that the endpoint subscribes to; an empty list subscribes to all. */
    events: Type.Array(Type.Enum(WEBHOOK_EVENT_TYPES)),
  }),
  WebhookEndpointDisabled: event({
    endpoint_id: Type.String(),
    reason: Type.Enum(DISABLED_REASONS),
  }),
  /** The processes mailed the owner, or the mail was refused: then `refused` says why. */
  WebhookEndpointOwnerNotified: event({
    endpoint_id: Type.String(),
    refused: personal(Nullable(Type.String()), 'user'),
  }),
  WebhookEndpointDeleted: event({ endpoint_id: Type.String() }),
};

export const WEBHOOK_DELIVERY_EVENTS = {
  WebhookDeliveryRequested: event({
    delivery_id: Type.String(),
    endpoint_id: Type.String(),
    user_id: Type.String(),
    event: WebhookEvent,
  }),
  WebhookAttempted: event({
    /** Number of the attempt, from 1; resends go on counting. */
    attempt: Type.Integer({ minimum: 1 }),
    /** Null when no answer came; then `error` says why. */
    status_code: Nullable(Type.Integer()),
    error: Nullable(Type.String()),
    /** The beginning of the answer's body. */
    response_excerpt: Type.String(),
    duration_ms: Count,
    /** Null after the last attempt. */
    next_attempt_at: Nullable(Time),
  }),
  /** The endpoint answered the previous attempt with 2xx. */
  WebhookDelivered: event({}),
  WebhookDeliveryGivenUp: event({ reason: Type.Enum(GIVEN_UP_REASONS) }),
  /** The owner asked for a resend: the next attempt runs at once, and the retry schedule starts again. */
  WebhookResendRequested: event({}),
};

export type WebhookEndpointCreated = DataOf<typeof WEBHOOK_ENDPOINTS_EVENTS.WebhookEndpointCreated>;
export type WebhookDeliveryRequested = DataOf<typeof WEBHOOK_DELIVERY_EVENTS.WebhookDeliveryRequested>;
export type WebhookAttempted = DataOf<typeof WEBHOOK_DELIVERY_EVENTS.WebhookAttempted>;

export type WebhookEndpointsEvent = EventsOf<typeof WEBHOOK_ENDPOINTS_EVENTS>;
export type WebhookDeliveryEvent = EventsOf<typeof WEBHOOK_DELIVERY_EVENTS>;

/** Id of the only event of a type for a job: the same for every endpoint and attempt. */
export const webhookEventId = (job_id: string, type: WebhookEventType) => uuidV5(job_id, type);
/** Id of the only delivery of an event to an endpoint. */
export const webhookDeliveryId = (endpoint_id: string, event_id: string) => uuidV5(endpoint_id, event_id);

export const isDelivered = (status_code: number | null) =>
  status_code !== null && status_code >= 200 && status_code < 300;
