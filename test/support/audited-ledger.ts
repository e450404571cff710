// A log as the service writes it, made by commands alone: payments, jobs of every end, results, refunds and releases.
import { randomUUID } from 'node:crypto';
import { openBilling } from '../../commands/billing/billing.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { settleJob } from '../../commands/jobs/settle-job.ts';
import { type LimitedKey, openCredits } from '../../commands/ledger/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { JobCreated } from '../../events/job.ts';
import { FOUND } from './behind.ts';
import { commandContext } from './stores.ts';

const BATCH = 10;
/** The API key that asks for some of the jobs. */
const KEY: LimitedKey = { key_id: 'key-1', credit_limit: 1_000 };

export type JobEnd = 'completed' | 'cancelled' | 'failed' | 'running';

/** Opens the commands that fill a log. `now` is the time of all that they append, in milliseconds since the epoch. */
export function openFiller(log: EventStore, now = Date.parse('2026-01-31T09:00:00Z')) {
  const [credits, jobs] = [openCredits(log), openJobs(log)];
  const billing = openBilling(log, credits, 'sandbox');
  const at = new Date(now).toISOString();
  const context = () => commandContext(now);

  async function job(user_id: string, urls: number, checked: number, end: JobEnd, key?: LimitedKey): Promise<string> {
    const job_id = randomUUID();
    const reservation_id = `${job_id}:0`;
    await credits.run(user_id, { type: 'reserve', reservation_id, job_id, up_to: urls, key }, context());
    const created: JobCreated = {
      ...{ job_id, owner_id: user_id, owner_email: null, source: 'api', total_urls: urls, batch_size: BATCH },
      ...{ credits_allocated: urls, reservation_id, duplicates_removed: 0, invalid_urls_rejected: 0 },
      ...{ blocked_urls_skipped: 0, filename: null, blob_key: null },
    };
    await jobs.run(job_id, { type: 'create', job: created }, context());
    for (let from_index = 0; from_index < checked; from_index += BATCH) {
      const some = Array.from({ length: Math.min(BATCH, checked - from_index) }, (_, n) => `https://a.example/${n}`);
      const range = { job_id, batch: from_index / BATCH, from_index, urls: some };
      await recordChecks(log, range, Array(some.length).fill(FOUND), context());
    }
    if (end === 'completed') {
      await jobs.run(job_id, { type: 'complete', completed_urls: checked, broken_urls: 0 }, context());
    } else if (end === 'cancelled') await jobs.run(job_id, { type: 'cancel' }, context());
    else if (end === 'failed') await jobs.run(job_id, { type: 'fail', reason: 'no_progress' }, context());
    return job_id;
  }

  return {
    credits,
    jobs,
    context,
    job,
    buy: (user_id: string, payment_id: string, amount: number) =>
      billing.take(
        {
          ...{ type: 'purchase_paid', user_id, customer_id: null, currency: 'usd', at, payment_id },
          ...{ package_id: 'p', credits: amount, amount_cents: amount },
        },
        context(),
      ),
    reverse: (payment_id: string, amount_cents: number) =>
      billing.take(
        {
          ...{ type: 'reversed', at, payment_id },
          reversal: { reversal_id: `re-${payment_id}`, kind: 'refund', amount_cents, currency: 'usd' },
        },
        context(),
      ),
    settle: (user_id: string, job_id: string, credits_allocated: number, completed_urls: number) =>
      settleJob({ job_id, owner_id: user_id, credits_allocated, completed_urls }, jobs, credits, context()),
    /** Reserves for a job that never comes, and gives it back. */
    async abandon(user_id: string): Promise<void> {
      const job_id = randomUUID();
      const reservation_id = `${job_id}:0`;
      await credits.run(user_id, { type: 'reserve', reservation_id, job_id, up_to: 5, key: KEY }, context());
      await jobs.run(job_id, { type: 'voidReservation', reservation_id }, context());
      await credits.run(user_id, { type: 'release', reservation_id }, context());
    },
  };
}

/** Two users with payments, and jobs of every end, all settled. */
export async function fillLedger(log: EventStore, now?: number): Promise<void> {
  const filler = openFiller(log, now);
  for (const user_id of ['alice', 'bob']) {
    await filler.buy(user_id, `pi-${user_id}`, 1_000);
    await filler.job(user_id, 25, 25, 'completed');
    const cancelled = await filler.job(user_id, 40, 12, 'cancelled', KEY);
    await filler.settle(user_id, cancelled, 40, 12);
    const failed = await filler.job(user_id, 30, 10, 'failed');
    await filler.settle(user_id, failed, 30, 10);
    await filler.jobs.run(failed, { type: 'delete' }, filler.context());
    await filler.abandon(user_id);
    await filler.credits.run(
      user_id,
      { type: 'adjust', adjustment_id: 'gift', amount: -7, reason: 'a double charge' },
      filler.context(),
    );
    await filler.reverse(`pi-${user_id}`, 100);
    await filler.job(user_id, 20, 10, 'running');
  }
}
