// The deliveries to a webhook endpoint, in both APIs: their log, a resend, and a test.
import { NO_SUCH_DELIVERY, openWebhookDeliveries } from '../../commands/webhook-delivery.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { GIVEN_UP_REASONS, webhookDeliveryId } from '../../events/webhook.ts';
import { NEWEST_FIRST, pageOf } from '../../readmodels/pages.ts';
import {
  KEPT_ATTEMPTS,
  type WebhookDeliveryDocument,
  webhookDeliveries,
  webhookEndpoints,
} from '../../readmodels/webhooks.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { PUBLIC } from '../apis/public.ts';
import { accepted, refusedWith } from '../frame/errors.ts';
import { openRequestLimit, overLimit } from '../frame/limits/request-limit.ts';
import { alsoIn, asThrown, routeOf } from '../frame/route.ts';
import { listOf, listReply, NullableTime, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { exampleEvent, WebhookEventView } from '../openapi/conventions.ts';
import { paging } from '../results/result-view.ts';
import { assertEnabled, disabledError, endpointOf, errors } from './webhooks.ts';

const SUBJECT = 'A user';
/** Tests and resends, which post to a server that may be anybody's. */
const MOST_A_MINUTE = 60;

const wire = ({ log, read, rates }: Parts) => ({
  limit: openRequestLimit(rates, { name: 'webhook-sends', subject: SUBJECT, most: MOST_A_MINUTE }),
  redeliveries: openWebhookDeliveries(log),
  read: read({ webhookEndpoints, webhookDeliveries }),
});
const route = routeOf<ReturnType<typeof wire>>(PUBLIC, 'webhook-endpoints');

const over_limit = overLimit(SUBJECT, MOST_A_MINUTE);

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

const deliveries = route({
  id: 'listWebhookDeliveries',
  method: 'GET',
  path: '/webhooks/endpoints/{id}/deliveries',
  access: 'user',
  summary: 'List the deliveries of a webhook endpoint, the newest first',
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

const resend = route({
  id: 'resendWebhookDelivery',
  makes: true,
  method: 'POST',
  path: '/webhooks/endpoints/{id}/deliveries/{delivery_id}/resend',
  access: 'user',
  summary: 'Send a delivery again, now',
  description:
    'Sends the delivery again whatever its status, with the same event id, and retries it like a new one. A delivery that waits for its ' +
    'first attempt stays unchanged.',
  responses: {
    202: { description: 'The delivery, which the service sends next.', schema: DeliveryView, example: exampleDelivery },
  },
  errors: {
    404: asThrown('Your endpoint has no such delivery.', NO_SUCH_DELIVERY),
    409: disabledError,
    429: over_limit,
  },
  async handler(request, { redeliveries, read, limit }) {
    const { params, caller } = request;
    await limit.admit(caller.user_id);
    const endpoint = await endpointOf(params.id, caller.user_id, read);
    const delivery = await read.webhookDeliveries.get(params.delivery_id);
    if (delivery?.endpoint_id !== endpoint._id) {
      throw refusedWith(404, NO_SUCH_DELIVERY);
    }
    assertEnabled(endpoint);
    if (delivery.attempt_count === 0) return { status: 202, body: deliveryView(delivery) };
    const context = request.command();
    const { position } = accepted(await redeliveries.run(delivery._id, { type: 'resend' }, context), 404);
    // The answer shows the delivery before its next attempt, which may be over by now.
    const next_attempt_at = new Date(context.now).toISOString();
    const pending = { ...delivery, status: 'pending', given_up_reason: null, next_attempt_at } as const;
    return { status: 202, body: deliveryView(pending), position };
  },
});

const test = route({
  id: 'testWebhookEndpoint',
  makes: true,
  method: 'POST',
  path: '/webhooks/endpoints/{id}/test',
  access: 'user',
  summary: 'Send a test to a webhook endpoint',
  description:
    'The service sends an `endpoint.test`, whatever the endpoint subscribes to: signed, retried and logged like the event of a job. Each ' +
    'request sends another.',
  responses: {
    202: {
      description: 'The delivery, which the service sends next.',
      schema: DeliveryView,
      example: {
        ...exampleDelivery,
        event: {
          ...exampleEvent,
          type: 'endpoint.test',
          data: { endpoint_id: '7d5f0a52-6a44-4b0f-9f0e-0d6f4f6f2a11' },
        },
        ...{ next_attempt_at: '2026-01-31T09:05:00.000Z', attempt_count: 0, attempts: [] },
      },
    },
  },
  errors: { ...errors, 409: disabledError, 429: over_limit },
  async handler(request, { redeliveries, read, limit }) {
    const { params, caller } = request;
    await limit.admit(caller.user_id);
    const endpoint = await endpointOf(params.id, caller.user_id, read);
    assertEnabled(endpoint);
    const { _id: endpoint_id, user_id } = endpoint;
    const context = request.command();
    const created_at = new Date(context.now).toISOString();
    const event = { id: context.command_id, type: 'endpoint.test', created_at, data: { endpoint_id } } as const;
    const delivery_id = webhookDeliveryId(endpoint_id, event.id);
    const delivery = { delivery_id, endpoint_id, user_id, event };
    const { position } = accepted(await redeliveries.run(delivery_id, { type: 'request', delivery }, context), 404);
    const body = {
      ...{ id: delivery_id, event, status: 'pending', given_up_reason: null },
      ...{ created_at, next_attempt_at: created_at, attempt_count: 0, attempts: [] },
    };
    return { status: 202, body, position };
  },
});

export const group = groupOf(wire, alsoIn(GATEWAY, [deliveries, resend, test]));
