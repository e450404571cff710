// The read models of webhooks. A completed job makes a delivery for each endpoint that its owner has at that place in the
// log: an endpoint that is made later hears nothing of it, whenever this runs.
import type { RecordedEvent } from '../events/event-store.ts';
import type { JobCompleted } from '../events/job.ts';
import { categoryOf, idOf } from '../events/streams.ts';
import {
  isDelivered,
  type WebhookAttempted,
  type WebhookDeliveryEvent,
  type WebhookEndpointsEvent,
  type WebhookEvent,
  webhookDeliveryId,
  webhookEventId,
} from '../events/webhook.ts';
import type { Collection } from '../readmodels/documents.ts';
import {
  KEPT_ATTEMPTS,
  type WebhookDeliveryDocument,
  type WebhookEndpointDocument,
  webhookDeliveries,
  webhookEndpoints,
} from '../readmodels/webhooks.ts';
import type { Projection } from './projection.ts';

/** An endpoint that fails for as long, without a success in between, is disabled. */
const FAILING_LIMIT_MS = 5 * 86_400_000;

/** Deliveries of a deleted endpoint that one transaction removes. */
const CLEARED_AT_ONCE = 1000;

interface Collections {
  endpoints: Collection<WebhookEndpointDocument>;
  deliveries: Collection<WebhookDeliveryDocument>;
}

export const webhooksProjection: Projection = {
  name: 'webhooks',
  version: 1,
  types: [
    'JobCompleted',
    'WebhookEndpointCreated',
    'WebhookEndpointDisabled',
    'WebhookEndpointOwnerNotified',
    'WebhookEndpointDeleted',
    'WebhookAttempted',
    'WebhookDelivered',
    'WebhookDeliveryGivenUp',
    'WebhookResendRequested',
  ],
  collections: [webhookEndpoints, webhookDeliveries],
  isHeavy: ({ type }) => type === 'WebhookEndpointDeleted',
  async clear({ data }, open) {
    const deliveries = await open(webhookDeliveries);
    const { endpoint_id } = data as { endpoint_id: string };
    const some = await deliveries.find(
      { endpoint_id },
      { sort: { endpoint_id: 1, created_at: -1 }, limit: CLEARED_AT_ONCE },
    );
    await deliveries.write(some.map(({ _id }) => ({ delete: _id })));
    return some.length === CLEARED_AT_ONCE;
  },
  async apply(events, open) {
    const collections = { endpoints: await open(webhookEndpoints), deliveries: await open(webhookDeliveries) };
    for (const event of events) {
      if (event.type === 'JobCompleted') await jobCompleted(event, collections);
      else if (categoryOf(event.stream) === 'webhook_endpoints') await endpointChanged(event, collections);
      else await deliveryChanged(event, collections);
    }
  },
};

async function jobCompleted(event: RecordedEvent, { endpoints, deliveries }: Collections): Promise<void> {
  const { owner_id, completed_urls, broken_urls } = event.data as JobCompleted;
  // Jobs that ended before there were endpoints.
  if (owner_id === undefined || broken_urls === undefined) return;
  const job_id = idOf(event.stream);
  const { at } = event.metadata;
  const type = 'job.completed';
  const told: WebhookEvent = {
    id: webhookEventId(job_id, type),
    type,
    created_at: at,
    // A job is complete when all its URLs are checked.
    data: { job_id, status: 'completed', total_urls: completed_urls, completed_urls, broken_urls },
  };
  const subscribed = (await endpoints.find({ user_id: owner_id, status: 'enabled' })).filter(
    ({ events }) => events.length === 0 || events.includes(type),
  );
  await deliveries.write(
    subscribed.map(({ _id: endpoint_id, user_id }) => ({
      replace: {
        _id: webhookDeliveryId(endpoint_id, told.id),
        endpoint_id,
        user_id,
        event: told,
        status: 'pending',
        given_up_reason: null,
        attempt_count: 0,
        attempts: [],
        created_at: at,
        next_attempt_at: at,
      },
    })),
  );
}

async function endpointChanged(event: RecordedEvent, { endpoints }: Collections): Promise<void> {
  const { type, data } = event as unknown as WebhookEndpointsEvent;
  const { at } = event.metadata;
  const { endpoint_id } = data;
  if (type === 'WebhookEndpointCreated') {
    const { user_id, url, events } = data;
    const fresh = { status: 'enabled', disabled_reason: null, failing_since: null, due: null } as const;
    await endpoints.write([{ replace: { _id: endpoint_id, user_id, url, events, created_at: at, ...fresh } }]);
  } else if (type === 'WebhookEndpointDisabled') {
    const disabled = { status: 'disabled', disabled_reason: data.reason, due: 'notice' };
    await endpoints.write([{ update: endpoint_id, set: { $set: disabled } }]);
  } else if (type === 'WebhookEndpointOwnerNotified') {
    await endpoints.write([{ update: endpoint_id, set: { $set: { due: null } } }]);
  } else {
    await endpoints.write([{ delete: endpoint_id }]);
  }
}

async function deliveryChanged(event: RecordedEvent, { endpoints, deliveries }: Collections): Promise<void> {
  const { type, data } = event as unknown as WebhookDeliveryEvent;
  const delivery = await deliveries.get(idOf(event.stream));
  // Its endpoint was deleted.
  if (!delivery) return;
  const { at } = event.metadata;
  if (type === 'WebhookAttempted') {
    const { next_attempt_at, ...attempt } = data;
    delivery.attempt_count = data.attempt;
    delivery.attempts = [...delivery.attempts, { ...attempt, at }].slice(-KEPT_ATTEMPTS);
    delivery.next_attempt_at = next_attempt_at;
    const endpoint = await endpoints.get(delivery.endpoint_id);
    if (endpoint?.status === 'enabled') await endpoints.write([{ replace: afterAttempt(endpoint, data, at) }]);
  } else if (type === 'WebhookDelivered') {
    delivery.status = 'delivered';
    delivery.next_attempt_at = null;
  } else if (type === 'WebhookDeliveryGivenUp') {
    delivery.status = 'given_up';
    delivery.given_up_reason = data.reason;
    delivery.next_attempt_at = null;
  } else {
    delivery.status = 'pending';
    delivery.given_up_reason = null;
    delivery.next_attempt_at = at;
  }
  await deliveries.write([{ replace: delivery }]);
}

function afterAttempt(
  endpoint: WebhookEndpointDocument,
  { status_code }: WebhookAttempted,
  at: string,
): WebhookEndpointDocument {
  if (isDelivered(status_code)) return { ...endpoint, failing_since: null, due: null };
  const failing_since = endpoint.failing_since ?? at;
  if (status_code === 410) return { ...endpoint, failing_since, due: 'disable_gone' };
  const is_over = Date.parse(at) - Date.parse(failing_since) >= FAILING_LIMIT_MS;
  return { ...endpoint, failing_since, due: is_over ? 'disable_failing' : endpoint.due };
}
