// The read models of webhooks. A completed job makes a delivery for each endpoint that its owner has at that position in the
// log. An endpoint created later gets no delivery, whenever the projection runs.
import { idOf } from '../events/streams.ts';
import type { LogEvent } from '../events/vocabulary.ts';
import {
  isDelivered,
  type WebhookAttempted,
  type WebhookEvent,
  webhookDeliveryId,
  webhookEventId,
} from '../events/webhook.ts';
import type { Collection, Write } from '../readmodels/documents.ts';
import {
  KEPT_ATTEMPTS,
  type WebhookDeliveryDocument,
  type WebhookEndpointDocument,
  webhookDeliveries,
  webhookEndpoints,
} from '../readmodels/webhooks.ts';
import { type Projection, projection } from './projection.ts';

/** An endpoint that fails for this long without a success is disabled. */
const FAILING_LIMIT_MS = 5 * 86_400_000;

/** Deliveries of a deleted endpoint that one transaction removes. */
const CLEARED_AT_ONCE = 1000;

interface Collections {
  /** The enabled endpoints of owners with completed jobs in this page; an endpoint's event empties it. */
  enabled: Map<string, WebhookEndpointDocument[]>;
  endpoints: Collection<WebhookEndpointDocument>;
  deliveries: Collection<WebhookDeliveryDocument>;
}

export const webhooksProjection: Projection = projection({
  name: 'webhooks',
  version: 1,
  collections: [webhookEndpoints, webhookDeliveries],
  covers: ['webhook_endpoints', 'webhook_delivery'],
  // JobCompleted writes the delivery's document.
  ignores: ['WebhookDeliveryRequested'],
  isHeavy: ({ type }) => type === 'WebhookEndpointDeleted',
  async clear({ type, data }, open) {
    if (type !== 'WebhookEndpointDeleted') return false;
    const deliveries = await open(webhookDeliveries);
    const some = await deliveries.find(
      { endpoint_id: data.endpoint_id },
      { sort: { endpoint_id: 1, created_at: -1 }, limit: CLEARED_AT_ONCE },
    );
    await deliveries.write(some.map(({ _id }) => ({ delete: _id })));
    return some.length === CLEARED_AT_ONCE;
  },
  begin: async (open): Promise<Collections> => ({
    enabled: new Map(),
    endpoints: await open(webhookEndpoints),
    deliveries: await open(webhookDeliveries),
  }),
  on: {
    JobCompleted: requestDeliveries,
    async WebhookEndpointCreated({ data, metadata: { at } }, collections) {
      const { endpoint_id: _id, ...endpoint } = data;
      const fresh = { status: 'enabled', disabled_reason: null, failing_since: null, due: null } as const;
      await writeEndpoints(collections, [{ replace: { _id, ...endpoint, created_at: at, ...fresh } }]);
    },
    async WebhookEndpointDisabled({ data: { endpoint_id, reason } }, collections) {
      const disabled = { status: 'disabled', disabled_reason: reason, due: 'notice' };
      await writeEndpoints(collections, [{ update: endpoint_id, set: { $set: disabled } }]);
    },
    WebhookEndpointOwnerNotified: ({ data: { endpoint_id } }, collections) =>
      writeEndpoints(collections, [{ update: endpoint_id, set: { $set: { due: null } } }]),
    WebhookEndpointDeleted: ({ data: { endpoint_id } }, collections) =>
      writeEndpoints(collections, [{ delete: endpoint_id }]),
    async WebhookAttempted(event, collections) {
      const { data, metadata } = event;
      const { next_attempt_at, ...attempt } = data;
      const delivery = await changeDelivery(event, collections, ({ attempts }) => ({
        attempt_count: data.attempt,
        attempts: [...attempts, { ...attempt, at: metadata.at }].slice(-KEPT_ATTEMPTS),
        next_attempt_at,
      }));
      const endpoint = delivery && (await collections.endpoints.get(delivery.endpoint_id));
      if (endpoint?.status !== 'enabled') return;
      await writeEndpoints(collections, [{ replace: afterAttempt(endpoint, data, metadata.at) }]);
    },
    WebhookDelivered: (event, collections) =>
      changeDelivery(event, collections, () => ({ status: 'delivered', next_attempt_at: null })),
    async WebhookDeliveryGivenUp(event, collections) {
      const { reason: given_up_reason } = event.data;
      await changeDelivery(event, collections, () => ({ status: 'given_up', given_up_reason, next_attempt_at: null }));
    },
    async WebhookResendRequested(event, collections) {
      const next_attempt_at = event.metadata.at;
      await changeDelivery(event, collections, () => ({ status: 'pending', given_up_reason: null, next_attempt_at }));
    },
  },
});

function writeEndpoints({ endpoints, enabled }: Collections, writes: Write<WebhookEndpointDocument>[]): Promise<void> {
  enabled.clear();
  return endpoints.write(writes);
}

async function requestDeliveries(event: LogEvent<'JobCompleted'>, { endpoints, enabled, deliveries }: Collections) {
  const { owner_id, completed_urls, broken_urls } = event.data;
  // Events from before there were endpoints lack these fields.
  if (owner_id === undefined || broken_urls === undefined) return;
  const job_id = idOf(event.stream);
  const { at } = event.metadata;
  const type = 'job.completed';
  const payload: WebhookEvent = {
    id: webhookEventId(job_id, type),
    type,
    created_at: at,
    // A job is complete when all its URLs are checked.
    data: { job_id, status: 'completed', total_urls: completed_urls, completed_urls, broken_urls },
  };
  let of_owner = enabled.get(owner_id);
  if (!of_owner) {
    of_owner = await endpoints.find({ user_id: owner_id, status: 'enabled' });
    enabled.set(owner_id, of_owner);
  }
  const subscribed = of_owner.filter(({ events }) => events.length === 0 || events.includes(type));
  await deliveries.write(
    subscribed.map(({ _id: endpoint_id, user_id }) => ({
      replace: {
        _id: webhookDeliveryId(endpoint_id, payload.id),
        endpoint_id,
        user_id,
        event: payload,
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

/** Returns the changed delivery; null when the delivery was deleted with its endpoint. */
async function changeDelivery(
  { stream }: LogEvent,
  { deliveries }: Collections,
  change: (delivery: WebhookDeliveryDocument) => Partial<WebhookDeliveryDocument>,
): Promise<WebhookDeliveryDocument | null> {
  const delivery = await deliveries.get(idOf(stream));
  if (!delivery) return null;
  const changed = { ...delivery, ...change(delivery) };
  await deliveries.write([{ replace: changed }]);
  return changed;
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
