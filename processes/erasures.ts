// Carries out the erasure of users: ends their subscriptions, deletes their webhook endpoints and jobs, which the purge then empties,
// and at last destroys the key of their personal data. Each pass asks what is left, so that it may run again, in whole or in part.
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import type { DeleteJob } from '../commands/delete-job.ts';
import type { Jobs } from '../commands/job.ts';
import type { Erasures } from '../commands/user.ts';
import type { WebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { EventStore } from '../events/event-store.ts';
import { hasEnded } from '../events/job.ts';
import { isOfStore } from '../events/store-faults.ts';
import { personalKeyStream } from '../events/streams.ts';
import type { SubscriptionStatus } from '../events/subscription.ts';
import { isOfSandbox } from '../events/subscription-state.ts';
import { erasures as erasureDocuments } from '../readmodels/erasures.ts';
import { type JobDocument, jobs as jobDocuments } from '../readmodels/jobs.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { subscriptions as subscriptionDocuments } from '../readmodels/subscriptions.ts';
import { webhookEndpoints } from '../readmodels/webhooks.ts';
import type { Mailer } from './mail.ts';
import { passOnMoves } from './passes.ts';
import { openApart } from './put-off.ts';
import type { Removals } from './removals.ts';

/** Users that one pass works on, and jobs of one user. */
const AT_ONCE = 100;
/** Users whose erasures are under way at the same time. */
const MAX_USERS = 10_000;
/** A user of whom nothing was left is looked at again after this long. */
const LOOK_AGAIN_MS = 60_000;
const SPACING_MS = 500;
/** A payment provider that was away is asked again after this long. */
const ASK_AGAIN_MS = 60_000;
const MAX_KNOWN = 10_000;
/**
 * The key lives this long after the first pass, because requests that began before the erasure may still make jobs, which a later
 * pass deletes. No submission lasts longer: the sweeper voids its reservation after ten minutes.
 */
export const LAST_REQUESTS_MS = 15 * 60_000;

/** Ends a subscription at once, so that the provider takes no more money for it. */
export interface SubscriptionEnder {
  /** One that has ended, or that the provider does not know, counts as ended. */
  endSubscription(subscription_id: string): Promise<void>;
}

export interface ErasuresOptions {
  log: EventStore;
  readmodels: ReadModels;
  erasures: Erasures;
  endpoints: WebhookEndpoints;
  commands: Jobs;
  deleteJob: DeleteJob;
  mailer: Pick<Mailer, 'erase'>;
  removals: Removals;
  /** The provider that takes money; null where this process knows none. */
  payments: SubscriptionEnder | null;
  logger: Logger;
  context: (user_id: string) => CommandContext;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

export interface Eraser {
  /** Makes one step for each user that is to be erased. */
  pass(signal: AbortSignal): Promise<void>;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runErasures(options: ErasuresOptions, signal: AbortSignal, onPass: () => void): Promise<void> {
  const eraser = openEraser(options);
  const { readmodels } = options;
  await passOnMoves({ readmodels, spacing_ms: SPACING_MS, signal, onPass }, () => eraser.pass(signal));
}

const isOver = (status: SubscriptionStatus) => status === 'canceled' || status === 'incomplete_expired';

export function openEraser(options: ErasuresOptions): Eraser {
  const { log, readmodels, erasures, context, monotonic, logger } = options;
  const apart = openApart('a job of an erased user cannot be deleted now; the others are', { logger, monotonic });
  /** The users under way: when each was first seen, and when it is to be worked on again. */
  let users = new Map<string, { seen_at: number; look_at: number }>();
  /** The subscriptions that the provider has ended. Its own news of that comes later. */
  const ended = new LRUCache<string, true>({ max: MAX_KNOWN });
  /** The time at which the provider is asked again about a user. */
  const ask_at = new LRUCache<string, number>({ max: MAX_KNOWN });

  /** Returns whether nobody takes money of the user any more. While the provider is away, the erasure goes on and does not end. */
  async function endSubscriptions(user_id: string): Promise<boolean> {
    const { payments } = options;
    if (monotonic() < (ask_at.get(user_id) ?? 0)) return false;
    const document = await readmodels.collection(subscriptionDocuments).get(user_id);
    const open = (document?.subscriptions ?? []).filter(
      ({ subscription_id, status }) => !isOver(status) && !isOfSandbox(subscription_id) && !ended.has(subscription_id),
    );
    for (const { subscription_id } of open) {
      try {
        if (payments === null) throw new Error('PAYMENT_SECRET_KEY is unset in this process');
        await payments.endSubscription(subscription_id);
        ended.set(subscription_id, true);
      } catch (err) {
        logger.warn({ err, subscription_id }, 'the subscription of an erased user cannot be ended now');
        ask_at.set(user_id, monotonic() + ASK_AGAIN_MS);
        return false;
      }
    }
    return true;
  }

  async function eraseSome(user_id: string, signal: AbortSignal): Promise<void> {
    const is_paid_no_more = await endSubscriptions(user_id);
    const endpoints = await readmodels.collection(webhookEndpoints).find({ user_id }, { limit: AT_ONCE });
    for (const { _id: endpoint_id } of endpoints) {
      await options.endpoints.run(user_id, { type: 'delete', endpoint_id }, context(user_id));
    }
    const jobs = readmodels.collection(jobDocuments);
    await apart.each(
      await apart.find(jobs, { owner_id: user_id }, AT_ONCE),
      async (job) => signal.aborted || deleteJob(job),
    );
    const has_jobs = (await jobs.find({ owner_id: user_id }, { limit: 1 })).length > 0;
    if (endpoints.length > 0 || has_jobs || !is_paid_no_more) return;
    const user = users.get(user_id)!;
    const forget_at = user.seen_at + LAST_REQUESTS_MS;
    if (monotonic() < forget_at) {
      user.look_at = Math.min(monotonic() + LOOK_AGAIN_MS, forget_at);
      return;
    }
    if (options.removals.are_held) return;
    await options.mailer.erase(user_id);
    await options.removals.run(() => log.deleteStream(personalKeyStream(`user/${user_id}`)));
    await erasures.forget(user_id, context(user_id));
  }

  /** A refusal says that the read model is behind: the next pass finds the job again. */
  async function deleteJob({ _id: job_id, owner_id, status }: JobDocument): Promise<void> {
    if (hasEnded(status)) await options.deleteJob(job_id, context(owner_id));
    else await options.commands.run(job_id, { type: 'cancel' }, context(owner_id));
  }

  return {
    async pass(signal) {
      const found = await readmodels.collection(erasureDocuments).find({}, { sort: { since: 1 }, limit: MAX_USERS });
      const now = monotonic();
      users = new Map(found.map(({ _id }) => [_id, users.get(_id) ?? { seen_at: now, look_at: now }]));
      const due = [...users].filter(([, { look_at }]) => look_at <= now);
      // Who was waiting for longest is first, so that users whose erasure cannot end now do not hold up the others.
      due.sort(([, a], [, b]) => a.look_at - b.look_at);
      for (const [user_id, user] of due.slice(0, AT_ONCE)) {
        if (signal.aborted) return;
        user.look_at = now;
        try {
          await eraseSome(user_id, signal);
        } catch (err) {
          if (signal.aborted || isOfStore(err)) throw err;
          user.look_at = now + LOOK_AGAIN_MS;
          logger.error({ err, user_id }, 'a user cannot be erased now; the others are');
        }
      }
    },
  };
}
