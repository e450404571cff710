// A large job in the log whose URLs are all checked, written at the speed of the log: nothing is asked.
import { randomUUID } from 'node:crypto';
import { openJobs } from '../../commands/jobs/job.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { Outcome } from '../../events/checks.ts';
import type { EventStore } from '../../events/event-store.ts';
import { batchSize } from '../../events/job.ts';

const contextNow = () => ({
  command_id: randomUUID(),
  causation_id: randomUUID(),
  actor: 'bench',
  now: Date.now(),
});

/** Submits the URLs for an owner who gets as many credits. Returns the id of the job. */
export async function appendJob(
  log: EventStore,
  { owner_id, urls }: { owner_id: string; urls: readonly string[] },
): Promise<string> {
  const job_id = randomUUID();
  const credits = openCredits(log);
  const lot = {
    transaction_type: 'purchase',
    reference_id: randomUUID(),
    amount: urls.length,
    expires_at: null,
  } as const;
  await credits.run(owner_id, { type: 'grant', ...lot }, contextNow());
  const made = await openSubmitJob(
    log,
    openJobs(log),
    credits,
  )(
    {
      ...{ job_id, owner_id, owner_email: null, source: 'api', filename: null, blob_key: null },
      needs_credits: true,
      counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
      pages: (async function* () {
        for (let from = 0; from < urls.length; from += 1000) yield { urls: urls.slice(from, from + 1000) };
      })(),
    },
    contextNow(),
  );
  if (!made.ok) throw new Error(made.refused.message);
  return job_id;
}

/** Returns the id of a job whose URLs are all checked. It is cancelled then, because no process is wanted to complete it. */
export async function appendCheckedJob(
  log: EventStore,
  { urls: count, hosts, owner_id }: { urls: number; hosts: number; owner_id: string },
): Promise<string> {
  const urls = Array.from(
    { length: count },
    (_, index) => `https://www.site-${index % hosts}.example/pages/page-${index}`,
  );
  const job_id = await appendJob(log, { owner_id, urls });
  const batch_size = batchSize(count);
  const batches = Math.ceil(count / batch_size);
  for (let first = 0; first < batches; first += 100) {
    const some = Array.from({ length: Math.min(100, batches - first) }, (_, n) => first + n);
    await Promise.all(
      some.map((batch) => {
        const from_index = batch * batch_size;
        const of_batch = urls.slice(from_index, from_index + batch_size);
        const range = { job_id, batch, from_index, urls: of_batch };
        return recordChecks(log, range, of_batch.map(outcomeOf), contextNow());
      }),
    );
  }
  await openJobs(log).run(job_id, { type: 'cancel' }, contextNow());
  return job_id;
}

/** One in ten is broken, and one in fifty gives no answer. */
export function outcomeOf(url: string, n: number): Outcome {
  const status_code = n % 50 === 7 ? null : n % 10 === 3 ? 404 : 200;
  const is_broken = status_code !== 200;
  return {
    status_code,
    final_url: status_code === null ? null : url,
    is_broken,
    is_soft_404: false,
    redirect_chain: [],
    response_time_ms: status_code === null ? null : 20 + ((n * 7919) % 700),
    content_type: status_code === null ? null : 'text/html; charset=utf-8',
    error_code: status_code === null ? 'dns_not_found' : null,
    verdict: status_code === null ? 'unreachable' : is_broken ? 'broken' : 'ok',
    protection: null,
    attempts: 1,
  };
}
