// The read models of webhooks: the users' endpoints with the next step that the processes owe each, and the deliveries with the
// time of their next attempt.
import type {
  DisabledReason,
  GivenUpReason,
  WebhookAttempted,
  WebhookEvent,
  WebhookEventType,
} from '../events/webhook.ts';
import { type Document, kept, type ReadModelSpec } from './documents.ts';

/** Deleting an endpoint deletes this document and the endpoint's deliveries. */
export interface WebhookEndpointDocument extends Document {
  user_id: string;
  url: string;
  /** Empty: the endpoint subscribes to all events. */
  events: WebhookEventType[];
  status: 'enabled' | 'disabled';
  disabled_reason: DisabledReason | null;
  created_at: string;
  /** The time of the first failed attempt after the last 2xx answer; null while there is none. */
  failing_since: string | null;
  /** How often the owner has enabled the endpoint again; absent for never. */
  enablings?: number;
  /** The time until which older secrets sign as well; absent when the secret was never changed. */
  older_secrets_until?: string;
  /** The next step of the processes: disable the endpoint, or notify its owner that it is disabled. */
  due: 'disable_gone' | 'disable_failing' | 'notice' | null;
}

export const webhookEndpoints: ReadModelSpec<WebhookEndpointDocument> = {
  name: 'webhook_endpoints',
  ...kept('under 1 kB an endpoint', 'when its owner deletes it', 'in_file'),
  fields: { user_id: 'string', status: 'string', created_at: 'string', due: 'string' },
  indexes: [{ fields: { user_id: 1, created_at: -1 } }, { fields: { due: 1 } }],
};

export type WebhookAttempt = Omit<WebhookAttempted, 'next_attempt_at'> & { at: string };

export interface WebhookDeliveryDocument extends Document {
  endpoint_id: string;
  user_id: string;
  event: WebhookEvent;
  status: 'pending' | 'delivered' | 'given_up';
  given_up_reason: GivenUpReason | null;
  /** The number of attempts; `attempts` holds the last `KEPT_ATTEMPTS`. */
  attempt_count: number;
  attempts: WebhookAttempt[];
  created_at: string;
  /** ISO 8601; null unless the delivery is pending. */
  next_attempt_at: string | null;
}

export const KEPT_ATTEMPTS = 20;

export const webhookDeliveries: ReadModelSpec<WebhookDeliveryDocument> = {
  name: 'webhook_deliveries',
  ...kept('under 1 kB a delivery, which keeps its last 20 attempts', 'with the endpoint', 'in_file'),
  fields: { endpoint_id: 'string', status: 'string', created_at: 'string', next_attempt_at: 'string' },
  indexes: [
    { fields: { next_attempt_at: 1, endpoint_id: 1 } },
    { fields: { endpoint_id: 1, created_at: -1 } },
    { fields: { endpoint_id: 1, status: 1 } },
  ],
};
