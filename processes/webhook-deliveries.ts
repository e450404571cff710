// Sends due webhooks, with limits for all and for each endpoint, so that a slow endpoint delays no other. The read model lists due
// deliveries, and the log confirms each one before it is sent. After a crash a delivery is sent again under the same ids.
import { LRUCache } from 'lru-cache';
import type { CommandContext } from '../commands/aggregate.ts';
import { isOpen, type WebhookDeliveries, type WebhookDeliveryCommand } from '../commands/webhook-delivery.ts';
import { signingSecrets, type WebhookEndpoint, type WebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import { isDelivered, type WebhookDeliveryRequested } from '../events/webhook.ts';
import type { LiveCollection, ReadModels } from '../readmodels/read-models.ts';
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

type Attempt = Omit<Extract<WebhookDeliveryCommand, { type: 'recordAttempt' }>, 'delivery'>;

/** Sends due deliveries as far as there is room. */
export class WebhookDispatcher {
  readonly #options: WebhookDeliveriesOptions;
  readonly #documents: LiveCollection<WebhookDeliveryDocument>;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #in_hand = new Map<string, Promise<void>>();
  /** The number of deliveries in flight, by endpoint. */
  readonly #of_endpoint = new Map<string, number>();
  /** Of receivers, for as long as the log takes no events: they are recorded later, and nothing is sent again. */
  readonly #answers = new LRUCache<string, Attempt>({ max: 2 * MAX_IN_HAND });
  readonly #cut = new AbortController();
  #freed = new AbortController();
  #failure: { error: unknown } | null = null;
  /** Deliveries that cannot be made, because an event of theirs is damaged. */
  readonly #put_off: PutOff;
  #looked_at = Number.NEGATIVE_INFINITY;
  #watched: ManagerWatch | undefined;

  constructor(options: WebhookDeliveriesOptions) {
    this.#options = options;
    this.#documents = options.readmodels.collection(webhookDeliveries);
    this.#now = options.now;
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#put_off = new PutOff(this.#monotonic);
  }

  /** Makes passes until `signal` aborts, and calls `onPass` after each. Then waits up to 5 s for the deliveries in flight. */
  async run(signal: AbortSignal, onPass: () => void, watch?: ManagerWatch): Promise<void> {
    this.#watched = watch;
    try {
      while (!signal.aborted) {
        this.#freed = new AbortController();
        const woken = AbortSignal.any([signal, this.#freed.signal]);
        const seen = await this.#options.readmodels.moved(null, 0, signal);
        // A delivery that becomes due during the pass may have been missed by it.
        const began_at = this.#now();
        await this.pass();
        onPass();
        watch?.waits(await this.#oldestDue(began_at), this.#put_off.failed);
        const due_ms = await this.#untilDue(began_at);
        await pause(Math.min(SPACING_MS, due_ms), woken);
        await this.#options.readmodels.moved(seen, due_ms - SPACING_MS, woken);
      }
    } finally {
      if (signal.aborted) await this.#end();
    }
  }

  /** Starts due deliveries. Throws the error of a delivery that failed since the last pass. */
  async pass(): Promise<void> {
    if (this.#failure) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    if (this.#monotonic() - this.#looked_at >= SET_BACK_LOOK_MS) {
      this.#looked_at = this.#monotonic();
      await this.#takeSetBack();
    }
    this.#put_off.begin();
    for (let more = true; more && this.#in_hand.size < MAX_IN_HAND; ) {
      more = false;
      // The query leaves out full endpoints, whose deliveries could fill the page.
      const full = [...this.#of_endpoint.keys()].filter((endpoint_id) => !this.#hasRoom(endpoint_id));
      const filter = {
        next_attempt_at: { $lte: new Date(this.#now()).toISOString() },
        ...(full.length > 0 ? { endpoint_id: { $nin: full } } : {}),
      };
      for (const delivery of await firstOthers(this.#documents, filter, 'next_attempt_at', PAGE, this.#put_off)) {
        if (this.#in_hand.size === MAX_IN_HAND) break;
        if (this.#in_hand.has(delivery._id) || !this.#hasRoom(delivery.endpoint_id)) continue;
        this.#take(delivery);
        more = true;
      }
    }
    // Nothing was found, so what was let through is not there any more.
    if (this.#in_hand.size === 0) this.#put_off.end();
  }

  /**
   * Takes deliveries whose latest event lies in the future: the clock was set back while no process ran, so their next
   * attempt would wait for wall time to catch up. An early attempt does no harm.
   */
  async #takeSetBack(): Promise<void> {
    const at = new Date(this.#now()).toISOString();
    const latest = await this.#documents.find(
      { next_attempt_at: { $gt: at } },
      { sort: { next_attempt_at: -1 }, limit: MAX_IN_HAND },
    );
    for (const delivery of latest) {
      const { _id, attempts, created_at, endpoint_id } = delivery;
      const written_at = attempts.at(-1)?.at ?? created_at;
      if (written_at > at && !this.#in_hand.has(_id) && !this.#put_off.has(_id) && this.#hasRoom(endpoint_id))
        this.#take(delivery);
    }
  }

  #hasRoom(endpoint_id: string): boolean {
    const held = this.#of_endpoint.get(endpoint_id) ?? 0;
    return held === 0 || (held < MAX_OF_ENDPOINT && this.#in_hand.size < MAX_SHARED);
  }

  #take(delivery: WebhookDeliveryDocument): void {
    const { _id, endpoint_id } = delivery;
    this.#of_endpoint.set(endpoint_id, (this.#of_endpoint.get(endpoint_id) ?? 0) + 1);
    const taken = this.#deliver(delivery)
      .then(() => this.#put_off.done(_id))
      .catch((error: unknown) => {
        if (this.#cut.signal.aborted) return;
        this.#failure = { error };
        if (!isOfStore(error)) this.#put_off.fail(_id);
      })
      .finally(() => {
        this.#in_hand.delete(_id);
        const left = this.#of_endpoint.get(endpoint_id)! - 1;
        if (left > 0) this.#of_endpoint.set(endpoint_id, left);
        else this.#of_endpoint.delete(endpoint_id);
        this.#freed.abort();
      });
    this.#in_hand.set(_id, taken);
  }

  async #deliver(delivery: WebhookDeliveryDocument): Promise<void> {
    const { _id, user_id, endpoint_id, attempt_count } = delivery;
    const endpoint = await this.#options.endpoints.find(user_id, endpoint_id);
    const recorded = await this.#options.deliveries.read(_id);
    const is_due = isOpen(recorded.state) && recorded.state.attempts === attempt_count;
    const position = is_due ? await this.#settle(delivery, endpoint) : recorded.position;
    // Before that the read model lists the delivery as due again.
    await this.#options.readmodels.passed(position, PROJECTED_MS);
  }

  async #settle(delivery: WebhookDeliveryDocument, endpoint: WebhookEndpoint | null): Promise<Position> {
    const { deliveries, context } = this.#options;
    const { _id, attempt_count } = delivery;
    const settled =
      this.#answers.get(_id) ??
      (endpoint?.status === 'enabled'
        ? await this.#attempt(delivery, endpoint)
        : ({ type: 'giveUp', reason: 'endpoint_disabled' } as const));
    const command = { ...settled, delivery: requestOf(delivery) };
    const recorded = await deliveries.run(_id, command, context(_id));
    this.#answers.delete(_id);
    if (!recorded.ok) throw new Error(`attempt ${attempt_count + 1}: ${recorded.refused.message}`);
    return recorded.position;
  }

  async #attempt(delivery: WebhookDeliveryDocument, endpoint: WebhookEndpoint) {
    const { sender, signing_key, random } = this.#options;
    const { _id, endpoint_id, event, attempt_count } = delivery;
    const at = this.#now();
    const secrets = signingSecrets(signing_key, endpoint_id, endpoint, at);
    const began_at = this.#monotonic();
    const request = signedRequest({ url: endpoint.url, event, delivery_id: _id, secrets, now: at });
    const answer = await sender.send(request, this.#cut.signal).catch((cause: unknown) => {
      // Without the code of its cause: a want of files for one delivery is no fault of a store.
      throw new Error('the webhook could not be sent', { cause });
    });
    const { status_code } = answer;
    this.#watched?.sent(isDelivered(status_code));
    const outcome = { ...answer, duration_ms: Math.round(this.#monotonic() - began_at) };
    const recorded: Attempt = { type: 'recordAttempt', attempt: attempt_count + 1, outcome, random: random() };
    this.#answers.set(_id, recorded);
    return recorded;
  }

  /** Returns the time until the next delivery that was not due at `at` is due, in ms, at most `IDLE_PASS_MS`. */
  async #untilDue(at: number): Promise<number> {
    const [next] = await this.#documents.find(
      { next_attempt_at: { $gt: new Date(at).toISOString() } },
      { sort: { next_attempt_at: 1 }, limit: 1 },
    );
    return next ? Math.max(0, Math.min(Date.parse(next.next_attempt_at!) - this.#now(), IDLE_PASS_MS)) : IDLE_PASS_MS;
  }

  /** How long the oldest delivery that is due waits; null: none is. */
  async #oldestDue(at: number): Promise<number | null> {
    const where = { next_attempt_at: { $lte: new Date(at).toISOString() } };
    const [oldest] = await this.#documents.find(where, { sort: { next_attempt_at: 1 }, limit: 1 });
    return oldest ? Math.max(0, this.#now() - Date.parse(oldest.next_attempt_at!)) : null;
  }

  /** Resolves when no delivery is in flight. */
  async settled(): Promise<void> {
    await Promise.all(this.#in_hand.values());
  }

  async #end(): Promise<void> {
    const timer = setTimeout(() => this.#cut.abort(), GRACE_MS);
    await this.settled();
    clearTimeout(timer);
  }
}

/** What the first event of a delivery's stream says of it. */
export function requestOf(delivery: WebhookDeliveryDocument): WebhookDeliveryRequested {
  const { _id: delivery_id, endpoint_id, user_id, event } = delivery;
  return { delivery_id, endpoint_id, user_id, event };
}
