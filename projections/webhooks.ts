// The read models of webhooks. A job's event makes a delivery for each endpoint that its owner has at that position in the
// log. An endpoint created later gets no delivery, whenever the projection runs. Decision 54 says why.
import { idOf } from '../events/streams.ts';
import type { LogEvent } from '../events/vocabulary.ts';
import {
  isDelivered,
  type WebhookEvent,
  type WebhookEventType,
  webhookDeliveryId,
  webhookEventId,
} from '../events/webhook.ts';
import type { Collection, Write } from '../readmodels/documents.ts';
import {
  KEPT_ATTEMPTS,
  type WebhookAttempt,
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
    async JobCompleted(event, collections) {
      const { owner_id, completed_urls, broken_urls } = event.data;
      // Events from before there were endpoints lack these fields.
      if (owner_id === undefined || broken_urls === undefined) return;
      // A job is complete when all its URLs are checked.
      const counts = { total_urls: completed_urls, completed_urls, broken_urls };
      await requestDeliveries(event, owner_id, ofJob(event, 'job.completed', 'completed', counts), collections);
    },
    async JobPaused(event, collections) {
      const { owner_id, total_urls, credits_allocated, reason: pause_reason } = event.data;
      if (owner_id === undefined || total_urls === undefined || credits_allocated === undefined) return;
      const data = { total_urls, credits_allocated, pause_reason };
      const payload = ofJob(event, 'job.paused', 'paused', data, event.revision);
      await requestDeliveries(event, owner_id, payload, collections);
    },
    async JobFailed(event, collections) {
      const { owner_id, total_urls, reason: failure_reason } = event.data;
      if (owner_id === undefined || total_urls === undefined) return;
      const data = { total_urls, failure_reason };
      await requestDeliveries(event, owner_id, ofJob(event, 'job.failed', 'failed', data), collections);
    },
    async JobCancelled(event, collections) {
      const { owner_id, total_urls } = event.data;
      if (owner_id === undefined || total_urls === undefined) return;
      await requestDeliveries(event, owner_id, ofJob(event, 'job.cancelled', 'cancelled', { total_urls }), collections);
    },
    /** An event of a job has its document already, and a test is of an endpoint that may be deleted by now. */
    async WebhookDeliveryRequested({ data, metadata: { at } }, { endpoints, deliveries }) {
      const { delivery_id, endpoint_id, event } = data;
      if (event.type !== 'endpoint.test') return;
      const endpoint = await endpoints.get(endpoint_id);
      if (endpoint) await deliveries.write([{ replace: newDelivery(delivery_id, endpoint, event, at) }]);
    },
    async WebhookEndpointCreated({ data, metadata: { at } }, collections) {
      const { endpoint_id: _id, is_derived: _, ...endpoint } = data;
      const fresh = { status: 'enabled', disabled_reason: null, failing_since: null, due: null } as const;
      await writeEndpoints(collections, [{ replace: { _id, ...endpoint, created_at: at, ...fresh } }]);
    },
    async WebhookEndpointDisabled({ data: { endpoint_id, reason } }, collections) {
      const disabled = { status: 'disabled', disabled_reason: reason, due: 'notice' };
      await writeEndpoints(collections, [{ update: endpoint_id, set: { $set: disabled } }]);
    },
    WebhookEndpointOwnerNotified: ({ data: { endpoint_id } }, collections) =>
      writeEndpoints(collections, [{ update: endpoint_id, set: { $set: { due: null } } }]),
    async WebhookEndpointEnabled({ data: { endpoint_id, times } }, collections) {
      const enabled = { status: 'enabled', disabled_reason: null, failing_since: null, due: null, enablings: times };
      await writeEndpoints(collections, [{ update: endpoint_id, set: { $set: enabled } }]);
    },
    WebhookSecretRotated: ({ data: { endpoint_id, older_until } }, collections) =>
      writeEndpoints(collections, [{ update: endpoint_id, set: { $set: { older_secrets_until: older_until } } }]),
    WebhookEndpointDeleted: ({ data: { endpoint_id } }, collections) =>
      writeEndpoints(collections, [{ delete: endpoint_id }]),
    WebhookDeliveredAtOnce(event, collections) {
      const { status_code, response_excerpt = '', duration_ms } = event.data;
      const attempt = { attempt: 1, status_code, error: null, response_excerpt, duration_ms };
      return attempted(event, collections, attempt, { status: 'delivered', next_attempt_at: null });
    },
    WebhookAttempted(event, collections) {
      const { next_attempt_at, endpoint_id: _, ...attempt } = event.data;
      return attempted(event, collections, attempt, { next_attempt_at });
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

/** The payload of a job's event. `revision` tells apart events of a type that come more than once. */
const ofJob = <const Name extends WebhookEventType, const Status extends string, Data extends object>(
  { stream, metadata }: LogEvent,
  type: Name,
  status: Status,
  data: Data,
  revision?: number,
) => {
  const job_id = idOf(stream);
  const id = webhookEventId(job_id, type, revision);
  return { id, type, created_at: metadata.at, data: { job_id, status, ...data } };
};

async function requestDeliveries(
  { metadata: { at } }: LogEvent,
  owner_id: string,
  payload: WebhookEvent & { type: WebhookEventType },
  { endpoints, enabled, deliveries }: Collections,
): Promise<void> {
  let of_owner = enabled.get(owner_id);
  if (!of_owner) {
    of_owner = await endpoints.find({ user_id: owner_id, status: 'enabled' });
    enabled.set(owner_id, of_owner);
  }
  const subscribed = of_owner.filter(({ events }) => events.length === 0 || events.includes(payload.type));
  await deliveries.write(
    subscribed.map((endpoint) => ({
      replace: newDelivery(webhookDeliveryId(endpoint._id, payload.id), endpoint, payload, at),
    })),
  );
}

const newDelivery = (
  _id: string,
  { _id: endpoint_id, user_id }: WebhookEndpointDocument,
  event: WebhookEvent,
  at: string,
): WebhookDeliveryDocument => ({
  ...{ _id, endpoint_id, user_id, event },
  ...{ status: 'pending', given_up_reason: null, attempt_count: 0, attempts: [] },
  ...{ created_at: at, next_attempt_at: at },
});

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

async function attempted(
  event: LogEvent,
  collections: Collections,
  attempt: Omit<WebhookAttempt, 'at'>,
  changes: Partial<WebhookDeliveryDocument>,
): Promise<void> {
  const { at } = event.metadata;
  const delivery = await changeDelivery(event, collections, ({ attempts }) => ({
    attempt_count: attempt.attempt,
    attempts: [...attempts, { ...attempt, at }].slice(-KEPT_ATTEMPTS),
    ...changes,
  }));
  const endpoint = delivery && (await collections.endpoints.get(delivery.endpoint_id));
  if (endpoint?.status !== 'enabled') return;
  await writeEndpoints(collections, [{ replace: afterAttempt(endpoint, attempt, at) }]);
}

function afterAttempt(
  endpoint: WebhookEndpointDocument,
  { status_code }: Pick<WebhookAttempt, 'status_code'>,
  at: string,
): WebhookEndpointDocument {
  if (isDelivered(status_code)) return { ...endpoint, failing_since: null, due: null };
  const failing_since = endpoint.failing_since ?? at;
  if (status_code === 410) return { ...endpoint, failing_since, due: 'disable_gone' };
  const is_over = Date.parse(at) - Date.parse(failing_since) >= FAILING_LIMIT_MS;
  return { ...endpoint, failing_since, due: is_over ? 'disable_failing' : endpoint.due };
}
