// The aggregate of one user's webhook endpoints. Their signing secrets derive from a key that the log does not hold.
import { createHmac } from 'node:crypto';
import type { EventStore } from '../events/event-store.ts';
import { webhookEndpointsStream } from '../events/streams.ts';
import type { DisabledReason, WebhookEndpointCreated, WebhookEndpointsEvent } from '../events/webhook.ts';
import { type CommandContext, type Decision, type Done, evolveBy, openAggregate } from './aggregate.ts';

export const MAX_ENDPOINTS = 20;

export interface WebhookEndpoint {
  url: string;
  status: 'enabled' | 'disabled';
  /** Whether the owner was notified that the endpoint is disabled, or cannot be. */
  notified: boolean;
}

/** The endpoints by id; null for a deleted one. */
export type WebhookEndpointsState = Map<string, WebhookEndpoint | null>;

export const initial = (): WebhookEndpointsState => new Map();
export const evolve = evolveBy<WebhookEndpointsState, WebhookEndpointsEvent>({
  WebhookEndpointCreated: (endpoints, { endpoint_id, url }) =>
    endpoints.set(endpoint_id, { url, status: 'enabled', notified: false }),
  WebhookEndpointDisabled: (endpoints, { endpoint_id }) => change(endpoints, endpoint_id, { status: 'disabled' }),
  WebhookEndpointOwnerNotified: (endpoints, { endpoint_id }) => change(endpoints, endpoint_id, { notified: true }),
  WebhookEndpointDeleted: (endpoints, { endpoint_id }) => endpoints.set(endpoint_id, null),
});

function change(endpoints: WebhookEndpointsState, endpoint_id: string, changes: Partial<WebhookEndpoint>) {
  const endpoint = endpoints.get(endpoint_id);
  return endpoint ? endpoints.set(endpoint_id, { ...endpoint, ...changes }) : endpoints;
}

export type WebhookEndpointsCommand =
  | { type: 'create'; endpoint: WebhookEndpointCreated }
  | { type: 'delete'; endpoint_id: string }
  | { type: 'disable'; endpoint_id: string; reason: DisabledReason }
  /** Records that the mail server accepted or `refused` the notice to the owner. */
  | { type: 'noteNotice'; endpoint_id: string; refused: string | null };

export function decide(
  endpoints: Readonly<WebhookEndpointsState>,
  command: WebhookEndpointsCommand,
): Decision<WebhookEndpointsEvent> {
  if (command.type === 'create') return create(endpoints, command.endpoint);
  const { endpoint_id } = command;
  const endpoint = endpoints.get(endpoint_id);
  if (command.type === 'delete') {
    if (endpoint === undefined) {
      return { refused: { code: 'endpoint_not_found', message: 'There is no such webhook endpoint.' } };
    }
    return { events: endpoint === null ? [] : [{ type: 'WebhookEndpointDeleted', data: { endpoint_id } }] };
  }
  if (command.type === 'disable') {
    const { reason } = command;
    if (endpoint?.status !== 'enabled') return { events: [] };
    return { events: [{ type: 'WebhookEndpointDisabled', data: { endpoint_id, reason } }] };
  }
  const { refused } = command;
  if (endpoint?.status !== 'disabled' || endpoint.notified) return { events: [] };
  return { events: [{ type: 'WebhookEndpointOwnerNotified', data: { endpoint_id, refused } }] };
}

function create(
  endpoints: Readonly<WebhookEndpointsState>,
  data: WebhookEndpointCreated,
): Decision<WebhookEndpointsEvent> {
  if (endpoints.has(data.endpoint_id)) return { events: [] };
  const held = [...endpoints.values()].filter((endpoint) => endpoint !== null).length;
  if (held >= MAX_ENDPOINTS) {
    const message = `There are ${MAX_ENDPOINTS} webhook endpoints already, disabled ones included; delete one.`;
    return { refused: { code: 'too_many_endpoints', message } };
  }
  return { events: [{ type: 'WebhookEndpointCreated', data }] };
}

export interface WebhookEndpoints {
  run(user_id: string, command: WebhookEndpointsCommand, context: CommandContext): Promise<Done>;
  /** Reads the endpoint from the log; null when the user has none with this id, or deleted it. */
  find(user_id: string, endpoint_id: string): Promise<Readonly<WebhookEndpoint> | null>;
}

export function openWebhookEndpoints(log: EventStore): WebhookEndpoints {
  const aggregate = openAggregate<WebhookEndpointsState, WebhookEndpointsEvent>(log, { initial, evolve });
  return {
    run: (user_id, command, context) =>
      aggregate.handle(webhookEndpointsStream(user_id), context, (endpoints) => decide(endpoints, command)),
    async find(user_id, endpoint_id) {
      const { state } = await aggregate.read(webhookEndpointsStream(user_id));
      return state.get(endpoint_id) ?? null;
    },
  };
}

/** Derives the endpoint's secret from the service's key. The service stores no secret. */
export function signingSecret(key: Uint8Array, endpoint_id: string): string {
  return `whsec_${createHmac('sha256', key).update(`webhook endpoint ${endpoint_id}`).digest('base64url')}`;
}
