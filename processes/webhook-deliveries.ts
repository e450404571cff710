// Sends the webhooks that are due, so many at once in all and to one endpoint, so that one that is slow or dead holds up
// nobody. What is due comes from the read model; whether it still is, from the log, just before it is sent: a delivery
// that was killed on the way is sent again, under the same ids.
import type { CommandContext } from '../commands/aggregate.ts';
import type { WebhookDeliveries } from '../commands/webhook-delivery.ts';
import { signingSecret, type WebhookEndpoint, type WebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { Position } from '../events/event-store.ts';
import type { WebhookDeliveryRequested } from '../events/webhook.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { type WebhookDeliveryDocument, webhookDeliveries } from '../readmodels/webhooks.ts';
import { pause } from '../time/pause.ts';
import type { WebhookSender } from './webhook-sender.ts';
import { signedRequest } from './webhook-signature.ts';

const MAX_IN_HAND = 512;
/** What is beyond this is for endpoints of which nothing is in hand: many slow ones leave room for all others. */
const MAX_SHARED = MAX_IN_HAND / 2;
const MAX_OF_ENDPOINT = 8;
/** More than are in hand, so that a page is never of these alone. */
const PAGE = 2 * MAX_IN_HAND;
const IDLE_MS = 200;
const PROJECTED_MS = 5000;
/** How often the dispatcher looks for deliveries that a clock set back would make wait. */
const SET_BACK_LOOK_MS = 60_000;
/** So long what is in hand may go on when the process ends. */
const GRACE_MS = 5000;

export interface WebhookDeliveriesOptions {
  readmodels: ReadModels;
  endpoints: WebhookEndpoints;
  deliveries: WebhookDeliveries;
  sender: WebhookSender;
  /** That the endpoints' secrets are made of. */
  signing_key: Uint8Array;
  context: (delivery_id: string) => CommandContext;
  /** Wall time, without its steps back. */
  now: () => number;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  /** In [0, 1). */
  random: () => number;
}

export interface WebhookDispatcher {
  /** Starts what is due as far as there is room. Throws what a delivery failed with since the last pass. */
  pass(): Promise<void>;
  /** Passes until `signal` aborts, and then waits for what is in hand, for a bounded time. Calls `works` after each. */
  run(signal: AbortSignal, works: () => void): Promise<void>;
  /** When nothing is in hand. */
  settled(): Promise<void>;
}

export function openWebhookDispatcher(options: WebhookDeliveriesOptions): WebhookDispatcher {
  const { readmodels, endpoints, deliveries, sender, now, monotonic = () => performance.now() } = options;
  const documents = readmodels.collection(webhookDeliveries);
  const in_hand = new Map<string, Promise<void>>();
  /** How many of each endpoint are in hand. */
  const of_endpoint = new Map<string, number>();
  const cut = new AbortController();
  let freed = new AbortController();
  let failure: { error: unknown } | null = null;
  let looked_at = Number.NEGATIVE_INFINITY;

  function hasRoom(endpoint_id: string): boolean {
    const held = of_endpoint.get(endpoint_id) ?? 0;
    return held === 0 || (held < MAX_OF_ENDPOINT && in_hand.size < MAX_SHARED);
  }

  async function pass(): Promise<void> {
    if (failure) {
      const { error } = failure;
      failure = null;
      throw error;
    }
    if (monotonic() - looked_at >= SET_BACK_LOOK_MS) {
      looked_at = monotonic();
      await takeSetBack();
    }
    for (let more = true; more && in_hand.size < MAX_IN_HAND; ) {
      more = false;
      // Those that wait for room do not hide the others.
      const full = [...of_endpoint.keys()].filter((endpoint_id) => !hasRoom(endpoint_id));
      const due = await documents.find(
        {
          next_attempt_at: { $lte: new Date(now()).toISOString() },
          ...(full.length > 0 ? { endpoint_id: { $nin: full } } : {}),
        },
        { sort: { next_attempt_at: 1 }, limit: PAGE },
      );
      for (const delivery of due) {
        if (in_hand.size === MAX_IN_HAND) break;
        if (in_hand.has(delivery._id) || !hasRoom(delivery.endpoint_id)) continue;
        take(delivery);
        more = true;
      }
    }
  }

  /**
   * Takes deliveries whose latest event lies in the future: the clock was set back while no process ran, so their next
   * attempt would wait for wall time to catch up. An attempt that comes early harms nobody.
   */
  async function takeSetBack(): Promise<void> {
    const at = new Date(now()).toISOString();
    const latest = await documents.find(
      { next_attempt_at: { $gt: at } },
      { sort: { next_attempt_at: -1 }, limit: MAX_IN_HAND },
    );
    for (const delivery of latest) {
      const { _id, attempts, created_at, endpoint_id } = delivery;
      const written_at = attempts.at(-1)?.at ?? created_at;
      if (written_at > at && !in_hand.has(_id) && hasRoom(endpoint_id)) take(delivery);
    }
  }

  function take(delivery: WebhookDeliveryDocument): void {
    const { _id, endpoint_id } = delivery;
    of_endpoint.set(endpoint_id, (of_endpoint.get(endpoint_id) ?? 0) + 1);
    const taken = deliver(delivery)
      .catch((error: unknown) => {
        if (!cut.signal.aborted) failure = { error };
      })
      .finally(() => {
        in_hand.delete(_id);
        const left = of_endpoint.get(endpoint_id)! - 1;
        if (left > 0) of_endpoint.set(endpoint_id, left);
        else of_endpoint.delete(endpoint_id);
        freed.abort();
      });
    in_hand.set(_id, taken);
  }

  async function deliver(delivery: WebhookDeliveryDocument): Promise<void> {
    const { _id, user_id, endpoint_id, attempt_count } = delivery;
    const endpoint = await endpoints.find(user_id, endpoint_id);
    const requested = await deliveries.run(_id, requestOf(delivery), options.context(_id));
    if (!requested.ok) throw new Error(requested.refused.message);
    const { status, attempts } = requested.state;
    const is_due = status === 'pending' && attempts === attempt_count;
    const position = is_due ? await settle(delivery, endpoint) : requested.position;
    // Until then the read model says that it is due.
    await readmodels.passed(position, PROJECTED_MS);
  }

  async function settle(delivery: WebhookDeliveryDocument, endpoint: WebhookEndpoint | null): Promise<Position> {
    const { _id, attempt_count } = delivery;
    const settled =
      endpoint?.status === 'enabled'
        ? await attempt(delivery, endpoint.url)
        : ({ type: 'giveUp', reason: 'endpoint_disabled' } as const);
    const recorded = await deliveries.run(_id, settled, options.context(_id));
    if (!recorded.ok) throw new Error(`attempt ${attempt_count + 1}: ${recorded.refused.message}`);
    return recorded.position;
  }

  async function attempt({ _id, endpoint_id, event, attempt_count }: WebhookDeliveryDocument, url: string) {
    const secret = signingSecret(options.signing_key, endpoint_id);
    const began_at = monotonic();
    const request = signedRequest({ url, event, delivery_id: _id, secret, now: now() });
    const answer = await sender.send(request, cut.signal);
    const outcome = { ...answer, duration_ms: Math.round(monotonic() - began_at) };
    return { type: 'recordAttempt', attempt: attempt_count + 1, outcome, random: options.random() } as const;
  }

  const settled = async () => void (await Promise.all(in_hand.values()));

  async function end(): Promise<void> {
    const timer = setTimeout(() => cut.abort(), GRACE_MS);
    await settled();
    clearTimeout(timer);
  }

  return {
    pass,
    settled,
    async run(signal, works) {
      try {
        while (!signal.aborted) {
          freed = new AbortController();
          await pass();
          works();
          await pause(IDLE_MS, AbortSignal.any([signal, freed.signal]));
        }
      } finally {
        if (signal.aborted) await end();
      }
    },
  };
}

/** Of a delivery as the read model has it: the first event of its stream. */
export function requestOf(delivery: WebhookDeliveryDocument): { type: 'request'; delivery: WebhookDeliveryRequested } {
  const { _id: delivery_id, endpoint_id, user_id, event } = delivery;
  return { type: 'request', delivery: { delivery_id, endpoint_id, user_id, event } };
}
