// Carries out the erasure of users: ends their subscriptions, deletes their webhook endpoints and jobs, which the purge then empties,
// and at last destroys the key of their personal data. Each pass asks what is left, so that it may run again, in whole or in part.
import { LRUCache } from 'lru-cache';
import type { CommandContext } from '../commands/aggregate.ts';
import type { DeleteJob } from '../commands/jobs/delete-job.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import type { Erasures } from '../commands/users/user.ts';
import type { WebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { EventStore } from '../events/event-store.ts';
import { hasEnded } from '../events/job.ts';
import { isOfStore } from '../events/store-faults.ts';
import { personalKeyStream } from '../events/streams.ts';
import type { SubscriptionStatus } from '../events/subscription.ts';
import { isOfSandbox } from '../events/subscription-state.ts';
import { testUserOf } from '../events/test-user.ts';
import { subscriptions as subscriptionDocuments } from '../readmodels/billing/subscriptions.ts';
import { type JobDocument, jobs as jobDocuments } from '../readmodels/jobs/jobs.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { erasures as erasureDocuments } from '../readmodels/users/erasures.ts';
import { webhookEndpoints } from '../readmodels/webhooks.ts';
import { DependencyFault } from '../roles/dependencies.ts';
import { inParallel } from './in-parallel.ts';
import type { Mailer } from './mail.ts';
import { type AnyManager, Later, processManager } from './process-manager.ts';
import { firstOthers, PutOff } from './put-off.ts';
import type { Removals } from './removals.ts';

/** Users that one pass works on. */
const MAX_USERS = 10_000;
/** Jobs, and endpoints, of one user in one pass. */
const AT_ONCE = 100;
/** A user of whom nothing was left is looked at again after this long. */
const LOOK_AGAIN_MS = 60_000;
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
  readmodels: Pick<ReadModels, 'collection'>;
  erasures: Erasures;
  endpoints: WebhookEndpoints;
  job_commands: Jobs;
  deleteJob: DeleteJob;
  mailer: Pick<Mailer, 'erase'>;
  removals: Removals;
  /** The provider that takes money; null where this process knows none. */
  payments: SubscriptionEnder | null;
  context: (user_id: string) => CommandContext;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

const isOver = (status: SubscriptionStatus) => status === 'canceled' || status === 'incomplete_expired';

export function erasures(options: ErasuresOptions): AnyManager {
  const { log, readmodels, context, removals } = options;
  /** The subscriptions that the provider has ended. Its own news of that comes later. */
  const ended = new LRUCache<string, true>({ max: MAX_KNOWN });

  /** A job that fails holds up no other. */
  const failed_jobs = { own: new PutOff(options.monotonic), tests: new PutOff(options.monotonic) };

  /** Afterwards nobody takes money of the user any more. */
  async function endSubscriptions(user_id: string): Promise<void> {
    const { payments } = options;
    const document = await readmodels.collection(subscriptionDocuments).get(user_id);
    const open = (document?.subscriptions ?? []).filter(
      ({ subscription_id, status }) => !isOver(status) && !isOfSandbox(subscription_id) && !ended.has(subscription_id),
    );
    for (const { subscription_id } of open) {
      if (payments === null) throw new DependencyFault('PAYMENT_SECRET_KEY is unset in this process');
      await payments.endSubscription(subscription_id).catch((cause: unknown) => {
        // Without the code of its cause, which would be that of a store.
        throw new DependencyFault(`the payment provider does not end the subscription ${subscription_id}`, { cause });
      });
      ended.set(subscription_id, true);
    }
  }

  /** Deletes the user's endpoints and jobs, some at a time. Returns whether none is left. */
  async function deleteSome(user_id: string, failed: PutOff, signal: AbortSignal): Promise<boolean> {
    const endpoints = await readmodels.collection(webhookEndpoints).find({ user_id }, { limit: AT_ONCE });
    for (const { _id: endpoint_id } of endpoints) {
      await options.endpoints.run(user_id, { type: 'delete', endpoint_id }, context(user_id));
    }
    const jobs = readmodels.collection(jobDocuments);
    failed.begin();
    const some = await firstOthers(jobs, { owner_id: user_id }, '_id', AT_ONCE, failed);
    const failures: unknown[] = [];
    await inParallel(some, async (job) => {
      if (signal.aborted) return;
      await deleteJob(job).catch((error: unknown) => {
        if (isOfStore(error)) throw error;
        failed.fail(job._id);
        failures.push(error);
      });
    });
    failed.end(some.length < AT_ONCE);
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} jobs of the user cannot be deleted`);
    return endpoints.length === 0 && (await jobs.find({ owner_id: user_id }, { limit: 1 })).length === 0;
  }

  /** Also those of the user's test keys. */
  async function deleteAll(user_id: string, signal: AbortSignal): Promise<boolean> {
    const all = await Promise.allSettled([
      deleteSome(user_id, failed_jobs.own, signal),
      deleteSome(testUserOf(user_id), failed_jobs.tests, signal),
    ]);
    for (const one of all) if (one.status === 'rejected') throw one.reason;
    return all.every((one) => one.status === 'fulfilled' && one.value);
  }

  /** A refusal says that the read model is behind: the next pass finds the job again. */
  async function deleteJob({ _id: job_id, owner_id, status }: JobDocument): Promise<void> {
    if (hasEnded(status)) await options.deleteJob(job_id, context(owner_id));
    else await options.job_commands.run(job_id, { type: 'cancel' }, context(owner_id));
  }

  return processManager({
    name: 'erasures',
    finds: { in: erasureDocuments, where: {} },
    order: 'since',
    since: ({ since }) => since,
    at_once: MAX_USERS,
    at_a_time: 1,
    async work({ _id: user_id }, { signal, waits_ms }) {
      // While the provider is away, the erasure goes on and does not end.
      const [paying, is_deleted] = await Promise.all([
        endSubscriptions(user_id).then(
          () => null,
          (error: unknown) => ({ error }),
        ),
        deleteAll(user_id, signal),
      ]);
      if (paying) throw paying.error;
      if (!is_deleted) return new Later(0);
      if (waits_ms < LAST_REQUESTS_MS) return new Later(Math.min(LOOK_AGAIN_MS, LAST_REQUESTS_MS - waits_ms));
      if (removals.are_held) return new Later(LOOK_AGAIN_MS);
      await options.mailer.erase(user_id);
      for (const id of [testUserOf(user_id), user_id]) {
        await removals.run(() => log.deleteStream(personalKeyStream(`user/${id}`)));
      }
      await options.erasures.forget(user_id, context(user_id));
      return;
    },
    fails: 'a user cannot be erased now; the others are',
  });
}
