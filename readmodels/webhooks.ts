// The read models of webhooks: the endpoints of a user with what is to be done about each, and the log of deliveries,
// which says what is to be sent and when.
import type {
  DisabledReason,
  GivenUpReason,
  WebhookAttempted,
  WebhookEvent,
  WebhookEventType,
} from '../events/webhook.ts';
import type { CollectionSpec, Document } from './documents.ts';

/** Gone when it is deleted, with its deliveries. */
export interface WebhookEndpointDocument extends Document {
  user_id: string;
  url: string;
  /** None means all. */
  events: WebhookEventType[];
  status: 'enabled' | 'disabled';
  disabled_reason: DisabledReason | null;
  created_at: string;
  /** When the first attempt failed since the last one that was answered with 2xx; null when none did. */
  failing_since: string | null;
  /** What a process has to do about it next: disable it, or tell its owner that it is disabled. */
  due: 'disable_gone' | 'disable_failing' | 'notice' | null;
}

export const webhookEndpoints: CollectionSpec<WebhookEndpointDocument> = {
  name: 'webhook_endpoints',
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
  /** How many there were; the last `KEPT_ATTEMPTS` are in `attempts`. */
  attempt_count: number;
  attempts: WebhookAttempt[];
  created_at: string;
  /** ISO 8601; null unless it is pending. */
  next_attempt_at: string | null;
}

export const KEPT_ATTEMPTS = 20;

export const webhookDeliveries: CollectionSpec<WebhookDeliveryDocument> = {
  name: 'webhook_deliveries',
  fields: { endpoint_id: 'string', status: 'string', created_at: 'string', next_attempt_at: 'string' },
  indexes: [
    { fields: { next_attempt_at: 1, endpoint_id: 1 } },
    { fields: { endpoint_id: 1, created_at: -1 } },
    { fields: { endpoint_id: 1, status: 1 } },
  ],
};
