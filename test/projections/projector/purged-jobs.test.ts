// A replay of jobs that were deleted and purged costs what one of other jobs does: nothing of theirs is there to remove.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { jobStream } from '../../../events/streams.ts';
import { ALL_PROJECTIONS } from '../../../projections/all.ts';
import { workerLogProjection } from '../../../projections/operations/worker-log.ts';
import type { Documents } from '../../../readmodels/documents.ts';
import { workerLogLimits } from '../../../readmodels/operations/worker-log.ts';
import { commandContext, openTestStores, project } from '../../support/stores.ts';
import { SETTINGS } from '../../support/worker-log-world.ts';

const JOBS = 60;

/** The number of transactions that the projections of `JOBS` jobs with these last events take. */
async function transactions(t: ExecutionContext, last: readonly (readonly [type: string, data: object])[]) {
  const { log, documents } = await openTestStores(t);
  const { command_id, causation_id, actor } = commandContext();
  const metadata = { command_id, causation_id, actor, at: '2026-01-31T09:00:00.000Z' };
  for (let n = 0; n < JOBS; n++) {
    const job_id = randomUUID();
    const counts = { duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 };
    const created = {
      ...{ job_id, owner_id: 'alice', owner_email: null, source: 'api', total_urls: 10, batch_size: 10 },
      ...{ credits_allocated: 0, reservation_id: `${job_id}:0`, ...counts, filename: null, blob_key: null },
    };
    const events = [['JobCreated', created], ['JobCancelled', {}], ...last] as const;
    await log.append(
      jobStream(job_id),
      'no_stream',
      events.map(([type, data]) => ({ id: randomUUID(), type, data, metadata })),
    );
  }
  let count = 0;
  const counting = new Proxy(documents, {
    get(target, name) {
      if (name === 'transaction') count++;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  }) as Documents;
  const projections = [...ALL_PROJECTIONS, workerLogProjection(workerLogLimits(SETTINGS))];
  await project({ log, documents: counting }, projections);
  return count;
}

test('deletions and purges take no transactions of their own in a replay, in logs of earlier versions too', async (t) => {
  const kept = await transactions(t, []);
  const deleted = ['JobDeleted', {}] as const;
  const purged = ['JobPurged', {}] as const;
  t.is(await transactions(t, [deleted, purged]), kept);
  t.is(await transactions(t, [deleted, ['ResultsPurged', { from_index: 0, to_index: 10 }], purged]), kept);
  const gone = await transactions(t, [['ResultsExpired', EXPIRED], ['ResultsRemoved', {}], deleted, purged]);
  t.is(gone, kept);
});

const EXPIRED = {
  ...{ completed_urls: 0, started_at: null },
  summary: {
    ...{ checked_urls: 0, broken_urls: 0, soft_404_urls: 0, redirected_urls: 0, domains: [], domains_total: 0 },
    ...{ status_codes: {}, verdicts: {}, error_codes: {} },
    response_times: { count: 0, sum_ms: 0, min_ms: null, max_ms: null, percentiles: [], histogram: [] },
  },
};
