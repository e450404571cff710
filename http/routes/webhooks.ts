// The public API's webhook endpoints: made, listed and deleted by whose jobs they hear of, with the log of what was
// delivered to each.
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

const tags = ['webhooks'];

const EventTypes = Type.Array(Type.Enum(WEBHOOK_EVENT_TYPES), {
  description: 'What the endpoint hears of; none means all, those of later versions too.',
});

const EndpointView = Type.Object(
  {
    id: Type.String(),
    url: Type.String(),
    events: EventTypes,
    status: Type.Enum(['enabled', 'disabled'] as const),
    disabled_reason: Nullable(
      Type.Enum(DISABLED_REASONS, {
        description: '`gone`: it answered 410. `failing`: nothing arrived for five days.',
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
  method: 'POST',
  path: '/webhooks/endpoints',
  access: 'user',
  summary: 'Make a webhook endpoint',
  description:
    'Events of jobs that complete from now on are posted to its URL. The signing secret is in this answer and never ' +
    'again. A URL may have several endpoints, each with its own secret.',
  tags,
  body: jsonBody(
    Type.Object({
      url: Type.String({ minLength: 1, maxLength: 2048, description: 'https, on the public internet.' }),
      // Texts that are declared as such are compared by a hash, and any other values each with each.
      events: Type.Array(Type.Enum(WEBHOOK_EVENT_TYPES, { type: 'string' }), {
        default: [],
        maxItems: 100,
        uniqueItems: true,
        description: 'What to hear of; none means all.',
      }),
    }),
    { example: { url: exampleEndpoint.url, events: exampleEndpoint.events } },
  ),
  responses: {
    201: {
      description: 'The endpoint.',
      schema: Type.Object({
        ...EndpointView.properties,
        signing_secret: Type.String({ description: 'The key of its signatures: all of it, with `whsec_`.' }),
      }),
      example: { ...exampleEndpoint, signing_secret: 'whsec_1eIQB9Ff0n8kVg4N7rJt2o6pYzXwLqSMcbHdUaKiR3E' },
    },
  },
  errors: {
    409: anError(
      `There are ${MAX_ENDPOINTS} endpoints already, disabled ones included.`,
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
  method: 'GET',
  path: '/webhooks/endpoints',
  access: 'user',
  summary: "List one's webhook endpoints, the newest first",
  tags,
  query: Type.Object(paging(MAX_ENDPOINTS)),
  responses: {
    200: listOf('The endpoints, disabled ones included.', EndpointView, exampleEndpoint, MAX_ENDPOINTS),
  },
  async handler({ caller, query }, { read }) {
    const where = { user_id: caller.user_id };
    const page = await pageOf(read.webhookEndpoints, where, NEWEST_FIRST, query);
    return listReply(page, endpointView, query);
  },
});

const no_endpoint = 'There is no such webhook endpoint.';
const errors = {
  404: anError('There is no such endpoint of yours.', 'endpoint_not_found', no_endpoint),
};

async function endpointOf(endpoint_id: string, user_id: string, read: Deps['read']) {
  const endpoint = await read.webhookEndpoints.get(endpoint_id);
  if (endpoint?.user_id !== user_id) throw new HttpError(404, 'endpoint_not_found', no_endpoint);
  return endpoint;
}

export const get = route({
  method: 'GET',
  path: '/webhooks/endpoints/{id}',
  access: 'user',
  summary: 'Look at a webhook endpoint',
  tags,
  responses: { 200: { description: 'The endpoint.', schema: EndpointView, example: exampleEndpoint } },
  errors,
  async handler({ params, caller }, { read }) {
    return { body: endpointView(await endpointOf(params.id, caller.user_id, read)) };
  },
});

export const remove = route({
  method: 'DELETE',
  path: '/webhooks/endpoints/{id}',
  access: 'user',
  summary: 'Delete a webhook endpoint',
  description: 'Nothing more is sent to it, and the log of its deliveries is gone. Deleting it again changes nothing.',
  tags,
  responses: { 204: { description: 'It hears nothing more.' } },
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
    attempt: Type.Integer({ minimum: 1, description: 'From 1, over all resends.' }),
    at: Time(),
    status_code: Nullable(Type.Integer()),
    error: Nullable(Type.String({ description: 'Why there was no answer, in a word for programs.' })),
    response_excerpt: Type.String({ description: "The first KiB of the answer's body." }),
    duration_ms: Type.Integer({ minimum: 0 }),
  },
  { $id: 'WebhookAttempt' },
);
const DeliveryView = Type.Object(
  {
    id: Type.String({ description: 'As in the header Service-Delivery-Id.' }),
    event: WebhookEventView,
    status: Type.Enum(['pending', 'delivered', 'given_up'] as const),
    given_up_reason: Nullable(Type.Enum(GIVEN_UP_REASONS)),
    created_at: Time(),
    next_attempt_at: NullableTime,
    attempt_count: Type.Integer({ minimum: 0 }),
    attempts: Type.Array(AttemptView, { description: `In order; the last ${KEPT_ATTEMPTS} when there were more.` }),
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
  const { _id, endpoint_id: _endpoint, user_id: _user, ...told } = delivery;
  return { id: _id, ...told };
}

export const deliveries = route({
  method: 'GET',
  path: '/webhooks/endpoints/{id}/deliveries',
  access: 'user',
  summary: 'The deliveries of a webhook endpoint, the newest first',
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

export const resend = route({
  method: 'POST',
  path: '/webhooks/endpoints/{id}/deliveries/{delivery_id}/resend',
  access: 'user',
  summary: 'Send a delivery again, now',
  description:
    'Whatever became of it: with the same event id, and retried like a new one. One that is still to be sent for the ' +
    'first time stays as it is.',
  tags,
  responses: { 202: { description: 'The delivery, which is due.', schema: DeliveryView, example: exampleDelivery } },
  errors: {
    404: anError(
      'There is no such delivery of an endpoint of yours.',
      'delivery_not_found',
      'There is no such delivery of this endpoint.',
    ),
    409: anError(
      'The endpoint is disabled.',
      'endpoint_disabled',
      'The endpoint is disabled: delete it and make it anew.',
    ),
  },
  async handler(request, { redeliveries, read }) {
    const { params, caller } = request;
    const endpoint = await endpointOf(params.id, caller.user_id, read);
    const delivery = await read.webhookDeliveries.get(params.delivery_id);
    if (delivery?.endpoint_id !== endpoint._id) {
      throw new HttpError(404, 'delivery_not_found', 'There is no such delivery of this endpoint.');
    }
    if (endpoint.status === 'disabled') {
      throw new HttpError(409, 'endpoint_disabled', 'The endpoint is disabled: delete it and make it anew.');
    }
    if (delivery.attempt_count === 0) return { status: 202, body: deliveryView(delivery) };
    const context = request.command();
    const resent = accepted(await redeliveries.run(delivery._id, { type: 'resend' }, context), 404);
    // It may have been sent by now.
    const due = {
      status: 'pending',
      given_up_reason: null,
      next_attempt_at: new Date(context.now).toISOString(),
    } as const;
    return { status: 202, body: deliveryView({ ...delivery, ...due }), position: resent.position };
  },
});

export const group = groupOf(wire, [create, list, get, remove, deliveries, resend]);
