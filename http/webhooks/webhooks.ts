// Webhook endpoints, in both APIs: users create, list, enable and delete them, and change their secrets. Decision 93 says why.
import type { Refusal } from '../../commands/aggregate.ts';
import {
  MAX_ENDPOINTS,
  MAX_OLDER_SECRETS,
  NO_SUCH_ENDPOINT,
  openWebhookEndpoints,
  signingSecret,
  signingSecrets,
} from '../../commands/webhook-endpoints.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { DISABLED_REASONS, WEBHOOK_EVENT_TYPES } from '../../events/webhook.ts';
import { NEWEST_FIRST, pageOf } from '../../readmodels/pages.ts';
import { type WebhookEndpointDocument, webhookEndpoints } from '../../readmodels/webhooks.ts';
import { DAY_S } from '../../time/units.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { PUBLIC } from '../apis/public.ts';
import { accepted, HttpError, refusedWith, ValidationError } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { alsoIn, anError, asThrown, type Caller, routeOf } from '../frame/route.ts';
import { listOf, listReply, pick, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';
import { openWebhookTargets } from './webhook-targets.ts';

const wire = ({ config, log, read, keys, webhook_guard }: Parts) => ({
  endpoints: openWebhookEndpoints(log),
  targets: openWebhookTargets(webhook_guard, { http_somewhere: config.webhook_allow_addresses.length > 0 }),
  key: keys.webhooks,
  read: read({ webhookEndpoints }),
});
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(PUBLIC, 'webhook-endpoints');

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
    older_secrets_until: Nullable(
      Time('Until then deliveries are signed with the older secrets too; null when the secret was never changed.'),
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
  older_secrets_until: null,
  created_at: '2026-01-31T09:00:00.000Z',
};

const EndpointWithSecret = Type.Object(
  {
    ...EndpointView.properties,
    signing_secret: Type.String({ description: 'The HMAC key of the signatures, with its prefix `whsec_`.' }),
  },
  { $id: 'WebhookEndpointWithSecret' },
);
const exampleSecret = 'whsec_1eIQB9Ff0n8kVg4N7rJt2o6pYzXwLqSMcbHdUaKiR3E';

function endpointView(endpoint: WebhookEndpointDocument) {
  const { _id: id, older_secrets_until = null, created_at } = endpoint;
  return { id, ...pick(endpoint, ['url', 'events', 'status', 'disabled_reason']), older_secrets_until, created_at };
}

const create = route({
  id: 'createWebhookEndpoint',
  method: 'POST',
  path: '/webhooks/endpoints',
  access: 'user',
  summary: 'Create a webhook endpoint',
  description:
    'The service posts the events of your jobs from now on to its URL. Only this answer shows the signing secret. A URL may ' +
    'have several endpoints, each with its own secret.',
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
      schema: EndpointWithSecret,
      example: { ...exampleEndpoint, signing_secret: exampleSecret },
    },
  },
  makes: {
    secrets: ['signing_secret'],
    restore: (body, _, deps) => ({ ...body, signing_secret: signingSecret(deps.key, (body as { id: string }).id) }),
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
    const context = request.command();
    const endpoint_id = context.command_id;
    const endpoint = { endpoint_id, user_id: caller.user_id, url, events };
    const made = accepted(await endpoints.run(caller.user_id, { type: 'create', endpoint }, context), 409);
    const view = { url, events, status: 'enabled', disabled_reason: null, older_secrets_until: null };
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

const list = route({
  id: 'listWebhookEndpoints',
  method: 'GET',
  path: '/webhooks/endpoints',
  access: 'user',
  summary: 'List your webhook endpoints, the newest first',
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

export const errors = {
  404: asThrown('You have no such endpoint.', NO_SUCH_ENDPOINT),
};

export async function endpointOf(endpoint_id: string, user_id: string, read: Pick<Deps['read'], 'webhookEndpoints'>) {
  const endpoint = await read.webhookEndpoints.get(endpoint_id);
  if (endpoint?.user_id !== user_id) throw refusedWith(404, NO_SUCH_ENDPOINT);
  return endpoint;
}

const get = route({
  id: 'getWebhookEndpoint',
  method: 'GET',
  path: '/webhooks/endpoints/{id}',
  access: 'user',
  summary: 'Show a webhook endpoint',
  responses: { 200: { description: 'The endpoint.', schema: EndpointView, example: exampleEndpoint } },
  errors,
  async handler({ params, caller }, { read }) {
    return { body: endpointView(await endpointOf(params.id, caller.user_id, read)) };
  },
});

const remove = route({
  id: 'deleteWebhookEndpoint',
  method: 'DELETE',
  path: '/webhooks/endpoints/{id}',
  access: 'user',
  summary: 'Delete a webhook endpoint',
  description:
    'The service sends it no more events, and erases the log of its deliveries. Deleting it again changes nothing.',
  responses: { 204: { description: 'The endpoint is deleted.' } },
  errors,
  async handler(request, { endpoints }) {
    const { caller, params } = request;
    const command = { type: 'delete', endpoint_id: params.id } as const;
    const deleted = accepted(await endpoints.run(caller.user_id, command, request.command()), 404);
    return { status: 204, position: deleted.position };
  },
});

const DISABLED = 'The endpoint is disabled. Enable it first.';
export const disabledError = anError('The endpoint is disabled.', 'endpoint_disabled', DISABLED);

/** Throws 409 for a disabled endpoint, to which nothing is sent. */
export function assertEnabled({ status }: WebhookEndpointDocument): void {
  if (status === 'disabled') throw new HttpError(409, 'endpoint_disabled', DISABLED);
}

const enable = route({
  id: 'enableWebhookEndpoint',
  method: 'POST',
  path: '/webhooks/endpoints/{id}/enable',
  access: 'user',
  summary: 'Enable a disabled webhook endpoint again',
  description:
    'It receives the events of your jobs from now on. Those that were given up meanwhile can be sent again from the log of its deliveries. ' +
    'An enabled endpoint stays unchanged.',
  responses: { 200: { description: 'The endpoint.', schema: EndpointView, example: exampleEndpoint } },
  errors,
  async handler(request, { endpoints, read }) {
    const { caller, params } = request;
    const endpoint = await endpointOf(params.id, caller.user_id, read);
    const command = { type: 'enable', endpoint_id: params.id } as const;
    const { position } = accepted(await endpoints.run(caller.user_id, command, request.command()), 404);
    return { body: endpointView({ ...endpoint, status: 'enabled', disabled_reason: null }), position };
  },
});

const MAX_OVERLAP_S = 7 * DAY_S;

const rotate = route({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/endpoints/{id}/secret',
  access: 'user',
  summary: 'Give a webhook endpoint a new signing secret',
  description:
    'Only this answer shows the new secret. For `overlap_seconds` every delivery carries a signature of each secret, so that a receiver ' +
    'that knows any of them verifies it: put the new secret into your receiver in that time. With 0 the older secrets end now, as is ' +
    `right for one that others have seen. At most ${MAX_OLDER_SECRETS} older secrets sign at a time.`,
  body: jsonBody(
    Type.Object(
      {
        overlap_seconds: Type.Integer({
          minimum: 0,
          maximum: MAX_OVERLAP_S,
          default: DAY_S,
          description: 'How long the older secrets sign as well.',
        }),
      },
      { $id: 'SecretRotation' },
    ),
    { optional: true, example: { overlap_seconds: DAY_S } },
  ),
  responses: {
    200: {
      description: 'The endpoint with its new secret.',
      schema: EndpointWithSecret,
      example: { ...exampleEndpoint, older_secrets_until: '2026-02-01T09:00:00.000Z', signing_secret: exampleSecret },
    },
  },
  makes: {
    secrets: ['signing_secret'],
    async restore(body, { caller, params, command }, deps) {
      const { id } = params as { id: string };
      const endpoint = await deps.endpoints.find((caller as Caller).user_id, id);
      if (!endpoint) throw refusedWith(404, NO_SUCH_ENDPOINT);
      return { ...body, signing_secret: signingSecrets(deps.key, id, endpoint, command().now)[0]! };
    },
  },
  errors: {
    ...errors,
    409: anError(
      `${MAX_OLDER_SECRETS} older secrets sign deliveries as well.`,
      'too_many_secrets',
      'Wait until the first of them ends, or let all of them end now with overlap_seconds 0.',
    ),
  },
  async handler(request, { endpoints, key, read }) {
    const { caller, params, body } = request;
    const { user_id } = caller;
    const endpoint = await endpointOf(params.id, user_id, read);
    const context = request.command();
    const older_until = context.now + body.overlap_seconds * 1000;
    const command = { type: 'rotateSecret', endpoint_id: params.id, now: context.now, older_until } as const;
    const { state, position } = rotated(await endpoints.run(user_id, command, context));
    const rotated_to = state.get(params.id);
    // Deleted by another request at the same time.
    if (!rotated_to) throw refusedWith(404, NO_SUCH_ENDPOINT);
    const older_secrets_until = new Date(older_until).toISOString();
    return {
      body: {
        ...endpointView({ ...endpoint, older_secrets_until }),
        signing_secret: signingSecrets(key, params.id, rotated_to, context.now)[0]!,
      },
      headers: { 'cache-control': 'no-store' },
      position,
    };
  },
});

const rotated = <Outcome extends { ok: true }>(outcome: Outcome | { ok: false; refused: Refusal }): Outcome =>
  accepted(outcome, !outcome.ok && outcome.refused.code === 'too_many_secrets' ? 409 : 404);

export const group = groupOf(wire, alsoIn(GATEWAY, [create, list, get, remove, enable, rotate]));
