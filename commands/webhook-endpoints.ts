// The aggregate of one user's webhook endpoints. Their signing secrets derive from a key that the log does not hold.
import { createHmac } from 'node:crypto';
import { derivedKey } from '../events/derived-key.ts';
import type { EventStore } from '../events/event-store.ts';
import { webhookEndpointsStream } from '../events/streams.ts';
import type { DisabledReason, WebhookEndpointCreated, WebhookEndpointsEvent } from '../events/webhook.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from './aggregate.ts';

export const MAX_ENDPOINTS = 20;
/** The most older secrets that sign a delivery. */
export const MAX_OLDER_SECRETS = 4;

export interface WebhookEndpoint {
  url: string;
  status: 'enabled' | 'disabled';
  /** Whether the owner was notified that the endpoint is disabled, or cannot be. */
  notified: boolean;
  /** How often the owner has enabled the endpoint again. Whoever disables it has seen it since the last time. */
  enablings: number;
  /** The number of the secret, from 1. */
  secret: number;
  /** Older secrets, the newest first; each signs deliveries as well until this time, in milliseconds since the epoch. */
  older: readonly { secret: number; until: number }[];
  /** Secrets from this number on derive from the key for such secrets, those before it from the setting itself. */
  derived_from: number;
}

/** The endpoints by id; null for a deleted one. */
export type WebhookEndpointsState = Map<string, WebhookEndpoint | null>;

export const initial = (): WebhookEndpointsState => new Map();
export const evolve = evolveBy<WebhookEndpointsState, WebhookEndpointsEvent>({
  WebhookEndpointCreated(endpoints, { endpoint_id, url, is_derived }) {
    const derived_from = is_derived ? 1 : Number.POSITIVE_INFINITY;
    const enabled = { status: 'enabled', notified: false, enablings: 0 } as const;
    return endpoints.set(endpoint_id, { url, ...enabled, secret: 1, older: [], derived_from });
  },
  WebhookEndpointDisabled: (endpoints, { endpoint_id }) => change(endpoints, endpoint_id, { status: 'disabled' }),
  WebhookEndpointOwnerNotified: (endpoints, { endpoint_id }) => change(endpoints, endpoint_id, { notified: true }),
  WebhookEndpointEnabled: (endpoints, { endpoint_id, times }) =>
    change(endpoints, endpoint_id, { status: 'enabled', notified: false, enablings: times }),
  WebhookSecretRotated(endpoints, { endpoint_id, secret, older_until, is_derived }) {
    const endpoint = endpoints.get(endpoint_id);
    if (!endpoint) return endpoints;
    const derived_from = is_derived ? Math.min(endpoint.derived_from, secret) : endpoint.derived_from;
    const older = olderSecrets(endpoint, Date.parse(older_until));
    return change(endpoints, endpoint_id, { secret, older, derived_from });
  },
  WebhookEndpointDeleted: (endpoints, { endpoint_id }) => endpoints.set(endpoint_id, null),
});

/** The older secrets after a change of the secret. None of them signs for longer than the secret that is replaced. */
const olderSecrets = ({ secret, older }: WebhookEndpoint, until: number) =>
  [{ secret, until }, ...older.map((one) => ({ ...one, until: Math.min(one.until, until) }))].slice(
    0,
    MAX_OLDER_SECRETS,
  );

function change(endpoints: WebhookEndpointsState, endpoint_id: string, changes: Partial<WebhookEndpoint>) {
  const endpoint = endpoints.get(endpoint_id);
  return endpoint ? endpoints.set(endpoint_id, { ...endpoint, ...changes }) : endpoints;
}

export type WebhookEndpointsCommand =
  | { type: 'create'; endpoint: WebhookEndpointCreated }
  | { type: 'delete'; endpoint_id: string }
  | { type: 'enable'; endpoint_id: string }
  /** `now` and `older_until`: milliseconds since the epoch. */
  | { type: 'rotateSecret'; endpoint_id: string; now: number; older_until: number }
  /** `enablings`: how often the endpoint had been enabled when the reason was seen. */
  | { type: 'disable'; endpoint_id: string; reason: DisabledReason; enablings: number }
  /** Records that the mail server accepted or `refused` the notice to the owner. */
  | { type: 'noteNotice'; endpoint_id: string; refused: string | null; enablings: number };

export function decide(
  endpoints: Readonly<WebhookEndpointsState>,
  command: WebhookEndpointsCommand,
): Decision<WebhookEndpointsEvent> {
  if (command.type === 'create') return create(endpoints, command.endpoint);
  const { endpoint_id } = command;
  const endpoint = endpoints.get(endpoint_id);
  switch (command.type) {
    case 'delete':
      if (endpoint === undefined) return NOT_FOUND;
      return { events: endpoint === null ? [] : [{ type: 'WebhookEndpointDeleted', data: { endpoint_id } }] };
    case 'enable':
      if (!endpoint) return NOT_FOUND;
      if (endpoint.status === 'enabled') return { events: [] };
      return { events: [{ type: 'WebhookEndpointEnabled', data: { endpoint_id, times: endpoint.enablings + 1 } }] };
    case 'rotateSecret':
      return endpoint ? rotated(endpoint, command) : NOT_FOUND;
    case 'disable':
      if (endpoint?.status !== 'enabled' || endpoint.enablings !== command.enablings) return { events: [] };
      return { events: [{ type: 'WebhookEndpointDisabled', data: { endpoint_id, reason: command.reason } }] };
    case 'noteNotice': {
      const is_due = endpoint?.status === 'disabled' && !endpoint.notified && endpoint.enablings === command.enablings;
      const data = { endpoint_id, refused: command.refused };
      return { events: is_due ? [{ type: 'WebhookEndpointOwnerNotified', data }] : [] };
    }
  }
}

export const NO_SUCH_ENDPOINT = { code: 'endpoint_not_found', message: 'There is no such webhook endpoint.' };
const NOT_FOUND = { refused: NO_SUCH_ENDPOINT };

function rotated(
  endpoint: Readonly<WebhookEndpoint>,
  { endpoint_id, now, older_until }: Extract<WebhookEndpointsCommand, { type: 'rotateSecret' }>,
): Decision<WebhookEndpointsEvent> {
  const in_use = endpoint.older.filter(({ until }) => Math.min(until, older_until) > now).length;
  if (in_use >= MAX_OLDER_SECRETS) {
    const message =
      `${MAX_OLDER_SECRETS} older secrets of the endpoint sign deliveries as well. Wait until the first of them ends, or let all ` +
      'of them end now with overlap_seconds 0.';
    return { refused: { code: 'too_many_secrets', message } };
  }
  const older = new Date(older_until).toISOString();
  const data = { endpoint_id, secret: endpoint.secret + 1, older_until: older, is_derived: true } as const;
  return { events: [{ type: 'WebhookSecretRotated', data }] };
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
  return { events: [{ type: 'WebhookEndpointCreated', data: { ...data, is_derived: true } }] };
}

export type WebhookEndpoints = ReturnType<typeof openWebhookEndpoints>;

export function openWebhookEndpoints(log: EventStore) {
  const aggregate = openAggregate<WebhookEndpointsState, WebhookEndpointsEvent>(log, { initial, evolve });
  return {
    run: (user_id: string, command: WebhookEndpointsCommand, context: CommandContext) =>
      aggregate.handle(webhookEndpointsStream(user_id), context, (endpoints) => decide(endpoints, command)),
    /** Reads the endpoint from the log; null when the user has none with this id, or deleted it. */
    async find(user_id: string, endpoint_id: string): Promise<Readonly<WebhookEndpoint> | null> {
      const { state } = await aggregate.read(webhookEndpointsStream(user_id));
      return state.get(endpoint_id) ?? null;
    },
  };
}

/**
 * Derives the endpoint's secret of this number, from 1, from the service's secret. The service stores none. `is_derived`: how the log says that it was
 * made; the secrets of endpoints that are older than the keys by purpose stay what they were.
 * @example signingSecret(Buffer.from('key'), 'we-1', 2) === signingSecret(Buffer.from('key'), 'we-1', 1) // false
 */
export function signingSecret(secret: Uint8Array, endpoint_id: string, number = 1, is_derived = true): string {
  const key = is_derived ? derivedKey(secret, 'secrets of webhook endpoints') : secret;
  const name = `webhook endpoint ${endpoint_id}${number === 1 ? '' : ` secret ${number}`}`;
  return `whsec_${createHmac('sha256', key).update(name).digest('base64url')}`;
}

/** The secrets that sign a delivery at `now`, in milliseconds since the epoch: the newest first. */
export function signingSecrets(
  secret_key: Uint8Array,
  endpoint_id: string,
  { secret, older, derived_from }: Pick<WebhookEndpoint, 'secret' | 'older' | 'derived_from'>,
  now: number,
): string[] {
  const numbers = [secret, ...older.filter(({ until }) => until > now).map((one) => one.secret)];
  return numbers.map((number) => signingSecret(secret_key, endpoint_id, number, number >= derived_from));
}
