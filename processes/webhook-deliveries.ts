// Sends due webhooks, with limits for all and for each endpoint, so that a slow endpoint delays no other. The read model lists due
// deliveries, and the log confirms each one before it is sent. After a crash a delivery is sent again under the same ids.
import type { CommandContext } from '../commands/aggregate.ts';
import { isOpen, type WebhookDeliveries } from '../commands/webhook-delivery.ts';
import { signingSecrets, type WebhookEndpoint, type WebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import type { WebhookDeliveryRequested } from '../events/webhook.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { type WebhookDeliveryDocument, webhookDeliveries } from '../readmodels/webhooks.ts';
import { pause } from '../time/pause.ts';
import type { ManagerWatch } from './manager-watch.ts';
import { firstOthers, PutOff } from './put-off.ts';
import type { WebhookSender } from './webhook-sender.ts';
import { signedRequest } from './webhook-signature.ts';

const MAX_IN_HAND = 512;
/** Above this limit, only endpoints with nothing in flight are served: many slow ones leave room for all others. */
const MAX_SHARED = MAX_IN_HAND / 2;
const MAX_OF_ENDPOINT = 8;
/** More than can be in flight, so that a page never holds these alone. */
const PAGE = 2 * MAX_IN_HAND;
/** The least time between two passes, unless a delivery ends. */
const SPACING_MS = 200;
/** The longest time between two passes: the wall clock may be set meanwhile. */
const IDLE_PASS_MS = 30_000;
const PROJECTED_MS = 5000;
/** How often the dispatcher looks for deliveries that a clock set back would make wait. */
const SET_BACK_LOOK_MS = 60_000;
/** When the process ends, deliveries in flight may go on this long. */
const GRACE_MS = 5000;

export interface WebhookDeliveriesOptions {
  readmodels: ReadModels;
  endpoints: WebhookEndpoints;
  deliveries: WebhookDeliveries;
  sender: WebhookSender;
  /** The key from which the endpoints' secrets derive. */
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
  /** Starts due deliveries as far as there is room. Throws the error of a delivery that failed since the last pass. */
  pass(): Promise<void>;
  /** Makes passes until `signal` aborts, and calls `onPass` after each. Then waits up to 5 s for the deliveries in flight. */
  run(signal: AbortSignal, onPass: () => void, watch?: ManagerWatch): Promise<void>;
  /** Resolves when no delivery is in flight. */
  settled(): Promise<void>;
}

export function openWebhookDispatcher(options: WebhookDeliveriesOptions): WebhookDispatcher {
  const { readmodels, endpoints, deliveries, sender, now, monotonic = () => performance.now() } = options;
  const documents = readmodels.collection(webhookDeliveries);
  const in_hand = new Map<string, Promise<void>>();
  /** The number of deliveries in flight, by endpoint. */
  const of_endpoint = new Map<string, number>();
  const cut = new AbortController();
  let freed = new AbortController();
  let failure: { error: unknown } | null = null;
  /** Deliveries that cannot be made, because an event of theirs is damaged. */
  const put_off = new PutOff(monotonic);
  let looked_at = Number.NEGATIVE_INFINITY;
  let watched: ManagerWatch | undefined;

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
    put_off.begin();
    for (let more = true; more && in_hand.size < MAX_IN_HAND; ) {
      more = false;
      // The query leaves out full endpoints, whose deliveries could fill the page.
      const full = [...of_endpoint.keys()].filter((endpoint_id) => !hasRoom(endpoint_id));
      const filter = {
        next_attempt_at: { $lte: new Date(now()).toISOString() },
        ...(full.length > 0 ? { endpoint_id: { $nin: full } } : {}),
      };
      for (const delivery of await firstOthers(documents, filter, 'next_attempt_at', PAGE, put_off)) {
        if (in_hand.size === MAX_IN_HAND) break;
        if (in_hand.has(delivery._id) || !hasRoom(delivery.endpoint_id)) continue;
        take(delivery);
        more = true;
      }
    }
    // Nothing was found, so what was let through is not there any more.
    if (in_hand.size === 0) put_off.end();
  }

  /**
   * Takes deliveries whose latest event lies in the future: the clock was set back while no process ran, so their next
   * attempt would wait for wall time to catch up. An early attempt does no harm.
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
      if (written_at > at && !in_hand.has(_id) && !put_off.has(_id) && hasRoom(endpoint_id)) take(delivery);
    }
  }

  function take(delivery: WebhookDeliveryDocument): void {
    const { _id, endpoint_id } = delivery;
    of_endpoint.set(endpoint_id, (of_endpoint.get(endpoint_id) ?? 0) + 1);
    const taken = deliver(delivery)
      .then(() => put_off.done(_id))
      .catch((error: unknown) => {
        if (cut.signal.aborted) return;
        failure = { error };
        if (!isOfStore(error)) put_off.fail(_id);
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
    const recorded = await deliveries.read(_id);
    const is_due = isOpen(recorded.state) && recorded.state.attempts === attempt_count;
    const position = is_due ? await settle(delivery, endpoint) : recorded.position;
    // Before that the read model lists the delivery as due again.
    await readmodels.passed(position, PROJECTED_MS);
  }

  async function settle(delivery: WebhookDeliveryDocument, endpoint: WebhookEndpoint | null): Promise<Position> {
    const { _id, attempt_count } = delivery;
    const settled =
      endpoint?.status === 'enabled'
        ? await attempt(delivery, endpoint)
        : ({ type: 'giveUp', reason: 'endpoint_disabled' } as const);
    const command = { ...settled, delivery: requestOf(delivery) };
    const recorded = await deliveries.run(_id, command, options.context(_id));
    if (!recorded.ok) throw new Error(`attempt ${attempt_count + 1}: ${recorded.refused.message}`);
    return recorded.position;
  }

  async function attempt(delivery: WebhookDeliveryDocument, endpoint: WebhookEndpoint) {
    const { _id, endpoint_id, event, attempt_count } = delivery;
    const at = now();
    const secrets = signingSecrets(options.signing_key, endpoint_id, endpoint, at);
    const began_at = monotonic();
    const request = signedRequest({ url: endpoint.url, event, delivery_id: _id, secrets, now: at });
    const answer = await sender.send(request, cut.signal).catch((cause: unknown) => {
      // Without the code of its cause: a want of files for one delivery is no fault of a store.
      throw new Error('the webhook could not be sent', { cause });
    });
    const { status_code } = answer;
    watched?.sent(status_code !== null && status_code >= 200 && status_code < 300);
    const outcome = { ...answer, duration_ms: Math.round(monotonic() - began_at) };
    return { type: 'recordAttempt', attempt: attempt_count + 1, outcome, random: options.random() } as const;
  }

  /** Returns the time until the next delivery that was not due at `at` is due, in ms, at most `IDLE_PASS_MS`. */
  async function untilDue(at: number): Promise<number> {
    const [next] = await documents.find(
      { next_attempt_at: { $gt: new Date(at).toISOString() } },
      { sort: { next_attempt_at: 1 }, limit: 1 },
    );
    return next ? Math.max(0, Math.min(Date.parse(next.next_attempt_at!) - now(), IDLE_PASS_MS)) : IDLE_PASS_MS;
  }

  /** How long the oldest delivery that is due waits; null: none is. */
  async function oldestDue(at: number): Promise<number | null> {
    const where = { next_attempt_at: { $lte: new Date(at).toISOString() } };
    const [oldest] = await documents.find(where, { sort: { next_attempt_at: 1 }, limit: 1 });
    return oldest ? Math.max(0, now() - Date.parse(oldest.next_attempt_at!)) : null;
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
    async run(signal, onPass, watch) {
      watched = watch;
      try {
        while (!signal.aborted) {
          freed = new AbortController();
          const woken = AbortSignal.any([signal, freed.signal]);
          const seen = await readmodels.moved(null, 0, signal);
          // A delivery that becomes due during the pass may have been missed by it.
          const began_at = now();
          await pass();
          onPass();
          watch?.waits(await oldestDue(began_at), put_off.failed);
          const due_ms = await untilDue(began_at);
          await pause(Math.min(SPACING_MS, due_ms), woken);
          await readmodels.moved(seen, due_ms - SPACING_MS, woken);
        }
      } finally {
        if (signal.aborted) await end();
      }
    },
  };
}

/** What the first event of a delivery's stream says of it. */
export function requestOf(delivery: WebhookDeliveryDocument): WebhookDeliveryRequested {
  const { _id: delivery_id, endpoint_id, user_id, event } = delivery;
  return { delivery_id, endpoint_id, user_id, event };
}
