// The streams `webhook_endpoints-{userId}` (a user's endpoints; one stream holds them all, so that it decides the limit on
// their number) and `webhook_delivery-{deliveryId}` (the attempts to deliver one event to one endpoint).

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { uuidV5 } from './ids.ts';
import { FAILURE_REASONS, PAUSE_REASONS } from './job.ts';
import { ERASED, isSealed, personal } from './personal.ts';
import { Nullable, type Static, type TProperties, Type } from './schema.ts';

const Count = Type.Integer({ minimum: 0 });
const Time = Type.String({ format: 'date-time' });
/** The secret derives from a key for such secrets alone; absent in older events, whose secrets derive from the setting itself. */
const is_derived = Type.Optional(Type.Literal(true));

/** The event types that endpoints subscribe to. */
export const WEBHOOK_EVENT_TYPES = ['job.completed', 'job.paused', 'job.failed', 'job.cancelled'] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

const webhook = <const Name extends string, Data extends TProperties>(type: Name, data: Data) =>
  Type.Object({ id: Type.String(), type: Type.Literal(type), created_at: Time, data: Type.Object(data) });

const job = <const Status extends string>(status: Status) => ({
  job_id: Type.String(),
  status: Type.Literal(status),
  total_urls: Count,
});

/** The bodies of deliveries: the same at every attempt and for every endpoint. Only a completed job's counts are final. */
export const JobCompletedWebhook = webhook('job.completed', {
  ...job('completed'),
  completed_urls: Count,
  broken_urls: Count,
});
export const JobPausedWebhook = webhook('job.paused', {
  ...job('paused'),
  credits_allocated: Count,
  pause_reason: Type.Enum(PAUSE_REASONS),
});
export const JobFailedWebhook = webhook('job.failed', {
  ...job('failed'),
  failure_reason: Type.Enum(FAILURE_REASONS),
});
export const JobCancelledWebhook = webhook('job.cancelled', job('cancelled'));
/** Sent to one endpoint, when its owner asks for it. */
export const EndpointTestWebhook = webhook('endpoint.test', { endpoint_id: Type.String() });

export const WebhookEvent = Type.Union([
  JobCompletedWebhook,
  JobPausedWebhook,
  JobFailedWebhook,
  JobCancelledWebhook,
  EndpointTestWebhook,
]);
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
    is_derived,
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
  /** The owner enabled a disabled endpoint, for the `times`-th time, from 1. */
  WebhookEndpointEnabled: event({ endpoint_id: Type.String(), times: Type.Integer({ minimum: 1 }) }),
  /** The endpoint has a new secret, number `secret`; the first has number 1. Older ones sign as well, until `older_until`. */
  WebhookSecretRotated: event({
    endpoint_id: Type.String(),
    secret: Type.Integer({ minimum: 2 }),
    older_until: Time,
    is_derived,
  }),
  WebhookEndpointDeleted: event({ endpoint_id: Type.String() }),
};
/** Version 1 may hold the excerpt in clear, which no key erases: nobody is shown it any more. */
const withoutClearExcerpt = (v1: unknown) => {
  const attempted = v1 as { response_excerpt: string };
  return isSealed(attempted.response_excerpt) ? attempted : { ...attempted, response_excerpt: ERASED };
};

export const WEBHOOK_DELIVERY_EVENTS = {
  WebhookDeliveryRequested: event({
    delivery_id: Type.String(),
    endpoint_id: Type.String(),
    user_id: Type.String(),
    event: WebhookEvent,
  }),
  /** The first attempt was answered with 2xx: the one event of most streams. What was sent follows from the job's event. */
  WebhookDeliveredAtOnce: event({
    endpoint_id: Type.String(),
    user_id: Type.String(),
    event: Type.Object({ type: Type.Enum(WEBHOOK_EVENT_TYPES), job_id: Type.String() }),
    status_code: Type.Integer(),
    /** Absent where the answer had no body. */
    response_excerpt: Type.Optional(personal(Type.String(), 'endpoint')),
    duration_ms: Count,
  }),
  WebhookAttempted: event(
    {
      /** Number of the attempt, from 1; resends go on counting. */
      attempt: Type.Integer({ minimum: 1 }),
      /** Null when no answer came; then `error` says why. */
      status_code: Nullable(Type.Integer()),
      error: Nullable(Type.String()),
      /** The beginning of the answer's body; it reads as erased where an event of version 1 has it in clear. */
      response_excerpt: personal(Type.String(), 'endpoint'),
      /** Absent in older events. */
      endpoint_id: Type.Optional(Type.String()),
      duration_ms: Count,
      /** Null after the last attempt. */
      next_attempt_at: Nullable(Time),
    },
    withoutClearExcerpt,
  ),
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

/**
 * Id of a job's event: the same for every endpoint and attempt. A job pauses many times, so the revision of its stream tells
 * these events apart.
 */
export const webhookEventId = (job_id: string, type: WebhookEventType, revision?: number) =>
  uuidV5(job_id, revision === undefined ? type : `${type} ${revision}`);
/** Id of the only delivery of an event to an endpoint. */
export const webhookDeliveryId = (endpoint_id: string, event_id: string) => uuidV5(endpoint_id, event_id);

export const isDelivered = (status_code: number | null): status_code is number =>
  status_code !== null && status_code >= 200 && status_code < 300;
