// The public API's webhook endpoints: users create, list and delete them, and read the log of their deliveries.
import { randomUUID } from 'node:crypto';
import { openWebhookDeliveries } from '../../commands/webhook-delivery.ts';
import { MAX_ENDPOINTS, openWebhookEndpoints, signingSecret } from '../../commands/webhook-endpoints.ts';
import { Nullable } from '../../events/nullable.ts';
import { Type } from '../../events/schema.ts';
import { DISABLED_REASONS, GIVEN_UP_REASONS, WEBHOOK_EVENT_TYPES } from '../../events/webhook.ts';
import { NEWEST_FIRST, pageOf } from '../../readmodels/pages.ts';
import {
  KEPT_ATTEMPTS,
  type WebhookDeliveryDocument,
  type WebhookEndpointDocument,
  webhookDeliveries,
  webhookEndpoints,
} from '../../readmodels/webhooks.ts';
import { PUBLIC } from '../apis/public.ts';
import { accepted, HttpError, ValidationError } from '../errors.ts';
import { groupOf, type Parts } from '../group.ts';
import { listOf, listReply } from '../list-replies.ts';
import { exampleEvent, WebhookEventView } from '../openapi/conventions.ts';
import { paging } from '../result-view.ts';
import { anError, jsonBody, routeOf } from '../route.ts';
import { NullableTime, pick, Time } from '../schemas.ts';
import { openWebhookTargets } from '../webhook-targets.ts';

const wire = ({ config, log, read, keys, webhook_guard }: Parts) => ({
  endpoints: openWebhookEndpoints(log),
  redeliveries: openWebhookDeliveries(log),
  targets: openWebhookTargets(webhook_guard, { http_somewhere: config.webhook_allow_addresses.length > 0 }),
  key: keys.webhooks,
  read: read({ webhookEndpoints, webhookDeliveries }),
});
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(PUBLIC);

const tags = ['webhook-endpoints'];

const EventTypes = Type.Array(Type.Enum(WEBHOOK_EVENT_TYPES, { $id: 'WebhookEventType' }), {
  description: 'The event types that the endpoint receives. An empty list means all, with those of later versions.',
});

const EndpointView = Type.Object(
  {
    id: Type.String(),
    url: Type.String(),
    events: EventTypes,
    status: Type.Enum(['enabled', 'disabled'] as const, { $id: 'WebhookEndpointStatus' }),
    disabled_reason: Nullable(
      Type.Enum(DISABLED_REASONS, {
        $id: 'WebhookDisabledReason',
        description: '`gone`: the endpoint answered 410. `failing`: every delivery failed for five days.',
      }),
    ),
    created_at: Time(),
  },
  { $id: 'WebhookEndpoint' },
);
const exampleEndpoint = {
  id: '7d5f0a52-6a44-4b0f-9f0e-0d6f4f6f2a11',
  url: 'https://example.com/hooks/url-checker',
  events: ['job.completed'],
  status: 'enabled',
  disabled_reason: null,
  created_at: '2026-01-31T09:00:00.000Z',
};

function endpointView(endpoint: WebhookEndpointDocument) {
  return { id: endpoint._id, ...pick(endpoint, ['url', 'events', 'status', 'disabled_reason', 'created_at']) };
}

export const create = route({
  id: 'createWebhookEndpoint',
  method: 'POST',
  path: '/webhooks/endpoints',
  access: 'user',
  summary: 'Create a webhook endpoint',
  description:
    'The service posts the events of jobs that complete from now on to its URL. Only this answer shows the signing secret. A URL may ' +
    'have several endpoints, each with its own secret.',
  tags,
  body: jsonBody(
    Type.Object(
      {
        url: Type.String({ minLength: 1, maxLength: 2048, description: 'An https URL on the public internet.' }),
        // With a declared type, the validator finds duplicates by hash; without it, it compares all pairs.
        events: Type.Array(Type.Enum(WEBHOOK_EVENT_TYPES, { type: 'string', $id: 'WebhookEventType' }), {
          default: [],
          maxItems: 100,
          uniqueItems: true,
          description: 'The event types to receive. An empty list means all.',
        }),
      },
      { $id: 'NewWebhookEndpoint' },
    ),
    { example: { url: exampleEndpoint.url, events: exampleEndpoint.events } },
  ),
  responses: {
    201: {
      description: 'The endpoint.',
      schema: Type.Object(
        {
          ...EndpointView.properties,
          signing_secret: Type.String({ description: 'The HMAC key of the signatures, with its prefix `whsec_`.' }),
        },
        { $id: 'WebhookEndpointWithSecret' },
      ),
      example: { ...exampleEndpoint, signing_secret: 'whsec_1eIQB9Ff0n8kVg4N7rJt2o6pYzXwLqSMcbHdUaKiR3E' },
    },
  },
  errors: {
    409: anError(
      `You have ${MAX_ENDPOINTS} endpoints already, with disabled ones.`,
      'too_many_endpoints',
      `There are ${MAX_ENDPOINTS} endpoints already; delete one.`,
    ),
  },
  async handler(request, { endpoints, key, targets }) {
    const { caller, body } = request;
    const { url, events } = body;
    const problem = targets.problemOf(url);
    if (problem !== null) throw new ValidationError([{ loc: ['body', 'url'], msg: problem, type: 'webhook_url' }]);
    const endpoint_id = randomUUID();
    const context = request.command();
    const endpoint = { endpoint_id, user_id: caller.user_id, url, events };
    const made = accepted(await endpoints.run(caller.user_id, { type: 'create', endpoint }, context), 409);
    const view = { url, events, status: 'enabled', disabled_reason: null };
    return {
      status: 201,
      body: {
        id: endpoint_id,
        ...view,
        created_at: new Date(context.now).toISOString(),
        signing_secret: signingSecret(key, endpoint_id),
      },
      headers: { 'cache-control': 'no-store' },
      position: made.position,
    };
  },
});

export const list = route({
  id: 'listWebhookEndpoints',
  method: 'GET',
  path: '/webhooks/endpoints',
  access: 'user',
  summary: 'List your webhook endpoints, the newest first',
  tags,
  query: Type.Object(paging(MAX_ENDPOINTS)),
  responses: {
    200: listOf('A page of endpoints, with disabled ones.', EndpointView, exampleEndpoint, MAX_ENDPOINTS),
  },
  async handler({ caller, query }, { read }) {
    const where = { user_id: caller.user_id };
    const page = await pageOf(read.webhookEndpoints, where, NEWEST_FIRST, query);
    return listReply(page, endpointView, query);
  },
});

const no_endpoint = 'There is no such webhook endpoint.';
const errors = {
  404: anError('You have no such endpoint.', 'endpoint_not_found', no_endpoint),
};

async function endpointOf(endpoint_id: string, user_id: string, read: Deps['read']) {
  const endpoint = await read.webhookEndpoints.get(endpoint_id);
  if (endpoint?.user_id !== user_id) throw new HttpError(404, 'endpoint_not_found', no_endpoint);
  return endpoint;
}

export const get = route({
  id: 'getWebhookEndpoint',
  method: 'GET',
  path: '/webhooks/endpoints/{id}',
  access: 'user',
  summary: 'Show a webhook endpoint',
  tags,
  responses: { 200: { description: 'The endpoint.', schema: EndpointView, example: exampleEndpoint } },
  errors,
  async handler({ params, caller }, { read }) {
    return { body: endpointView(await endpointOf(params.id, caller.user_id, read)) };
  },
});

export const remove = route({
  id: 'deleteWebhookEndpoint',
  method: 'DELETE',
  path: '/webhooks/endpoints/{id}',
  access: 'user',
  summary: 'Delete a webhook endpoint',
  description:
    'The service sends it no more events, and erases the log of its deliveries. Deleting it again changes nothing.',
  tags,
  responses: { 204: { description: 'The endpoint is deleted.' } },
  errors,
  async handler(request, { endpoints }) {
    const { caller, params } = request;
    const command = { type: 'delete', endpoint_id: params.id } as const;
    const deleted = accepted(await endpoints.run(caller.user_id, command, request.command()), 404);
    return { status: 204, position: deleted.position };
  },
});

const AttemptView = Type.Object(
  {
    attempt: Type.Integer({ minimum: 1, description: 'The number of the attempt, counted over all resends.' }),
    at: Time(),
    status_code: Nullable(Type.Integer()),
    error: Nullable(Type.String({ description: 'A code for the missing answer.' })),
    response_excerpt: Type.String({ description: "The first KiB of the answer's body." }),
    duration_ms: Type.Integer({ minimum: 0 }),
  },
  { $id: 'WebhookAttempt' },
);
const DeliveryView = Type.Object(
  {
    id: Type.String({ description: 'The value of the header Service-Delivery-Id.' }),
    event: WebhookEventView,
    status: Type.Enum(['pending', 'delivered', 'given_up'] as const, { $id: 'WebhookDeliveryStatus' }),
    given_up_reason: Nullable(Type.Enum(GIVEN_UP_REASONS, { $id: 'WebhookGivenUpReason' })),
    created_at: Time(),
    next_attempt_at: NullableTime,
    attempt_count: Type.Integer({ minimum: 0 }),
    attempts: Type.Array(AttemptView, { description: `The last ${KEPT_ATTEMPTS} attempts, in order.` }),
  },
  { $id: 'WebhookDelivery' },
);
const exampleDelivery = {
  id: '0b0d3f9e-2a35-5f43-8f0d-6a0c1e0f7b21',
  event: exampleEvent,
  status: 'pending',
  given_up_reason: null,
  created_at: '2026-01-31T09:05:00.000Z',
  next_attempt_at: '2026-01-31T09:05:05.412Z',
  attempt_count: 1,
  attempts: [
    {
      attempt: 1,
      at: '2026-01-31T09:05:00.250Z',
      status_code: 503,
      error: null,
      response_excerpt: 'try later',
      duration_ms: 120,
    },
  ],
};

function deliveryView(delivery: WebhookDeliveryDocument) {
  const { _id, endpoint_id: _endpoint, user_id: _user, ...view } = delivery;
  return { id: _id, ...view };
}

export const deliveries = route({
  id: 'listWebhookDeliveries',
  method: 'GET',
  path: '/webhooks/endpoints/{id}/deliveries',
  access: 'user',
  summary: 'List the deliveries of a webhook endpoint, the newest first',
  tags,
  query: Type.Object(paging(50)),
  responses: {
    200: listOf('A page of deliveries with their attempts.', DeliveryView, exampleDelivery, 50),
  },
  errors,
  async handler({ params, caller, query }, { read }) {
    const { _id: endpoint_id } = await endpointOf(params.id, caller.user_id, read);
    const page = await pageOf(read.webhookDeliveries, { endpoint_id }, NEWEST_FIRST, query);
    return listReply(page, deliveryView, query);
  },
});

const DISABLED = 'The endpoint is disabled. Delete it and create another.';

export const resend = route({
  id: 'resendWebhookDelivery',
  method: 'POST',
  path: '/webhooks/endpoints/{id}/deliveries/{delivery_id}/resend',
  access: 'user',
  summary: 'Send a delivery again, now',
  description:
    'Sends the delivery again whatever its status, with the same event id, and retries it like a new one. A delivery that waits for its ' +
    'first attempt stays unchanged.',
  tags,
  responses: {
    202: { description: 'The delivery, which the service sends next.', schema: DeliveryView, example: exampleDelivery },
  },
  errors: {
    404: anError(
      'Your endpoint has no such delivery.',
      'delivery_not_found',
      'There is no such delivery of this endpoint.',
    ),
    409: anError('The endpoint is disabled.', 'endpoint_disabled', DISABLED),
  },
  async handler(request, { redeliveries, read }) {
    const { params, caller } = request;
    const endpoint = await endpointOf(params.id, caller.user_id, read);
    const delivery = await read.webhookDeliveries.get(params.delivery_id);
    if (delivery?.endpoint_id !== endpoint._id) {
      throw new HttpError(404, 'delivery_not_found', 'There is no such delivery of this endpoint.');
    }
    if (endpoint.status === 'disabled') {
      throw new HttpError(409, 'endpoint_disabled', DISABLED);
    }
    if (delivery.attempt_count === 0) return { status: 202, body: deliveryView(delivery) };
    const context = request.command();
    const { position } = accepted(await redeliveries.run(delivery._id, { type: 'resend' }, context), 404);
    // The answer shows the delivery before its next attempt, which may be over by now.
    const next_attempt_at = new Date(context.now).toISOString();
    const pending = { ...delivery, status: 'pending', given_up_reason: null, next_attempt_at } as const;
    return { status: 202, body: deliveryView(pending), position };
  },
});

export const group = groupOf(wire, [create, list, get, remove, deliveries, resend]);
