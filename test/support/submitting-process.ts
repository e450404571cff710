// A process that submits under idempotency keys, as the tests of them run it: in the test's own process, or as a program
// that is killed: `node test/support/submitting-process.ts EVENTS_DB N before|after` ends with SIGKILL at the n-th change.
import { randomUUID } from 'node:crypto';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { type KeyScope, openIdempotencyKeys } from '../../commands/idempotency.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openSubmitOnce, type SubmittedOnce } from '../../commands/jobs/submit-once.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { AppendResult, EventStore } from '../../events/event-store.ts';
import { commandContext } from './stores.ts';

/** So many and so long that their listing takes three appends, which count three bytes for each character beside an `é`. */
export const URLS = Array.from({ length: 2500 }, (_, i) => `https://a.example/${'pagé'.repeat(50)}/${i}`);
export const GRANTED = 10_000;
export const LEASE_MS = 30_000;
export const DAY_MS = 24 * 3_600_000;
export const NOW = Date.parse('2026-01-31T09:00:00.000Z');

export class Killed extends Error {}

/** A process: its own commands over a log that it may share with others. */
export function openProcess(log: EventStore) {
  const jobs = openJobs(log);
  const credits = openCredits(log);
  const submitJob = openSubmitJob(log, jobs, credits);
  const submitOnce = openSubmitOnce(log, openIdempotencyKeys(log), jobs, credits);
  async function submit(
    how: {
      now?: number;
      fingerprint?: string;
      scope?: Partial<KeyScope>;
      urls?: string[];
      during?: () => Promise<void>;
    } = {},
  ): Promise<SubmittedOnce> {
    const { now = NOW, fingerprint = 'f', urls = URLS, during } = how;
    const scope = { user_id: 'alice', method: 'POST', route: '/api/v2/jobs', key: 'k', ...how.scope };
    const context = commandContext(now);
    async function* pages() {
      for (let at = 0; at < urls.length; at += 1000) yield { urls: urls.slice(at, at + 1000) };
      await during?.();
    }
    return await submitOnce(
      {
        scope,
        fingerprint,
        lease_ms: LEASE_MS,
        new_job_id: randomUUID,
        async submit(job_id) {
          if (urls.length === 0) return { ok: false, refused: { code: 'no_urls', message: 'no URLs', rows: [] } };
          return await submitJob(
            {
              ...{ job_id, owner_id: scope.user_id, owner_email: null, source: 'api', filename: null, blob_key: null },
              ...{ pages: pages(), needs_credits: true },
              counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
            },
            context,
          );
        },
        answerOf: (job, created_at) => ({
          status: 201,
          body: { job_id: job.job_id, created_at, urls: job.total_urls },
        }),
      },
      context,
    );
  }
  return { submit, credits };
}

export async function grant(
  { credits }: ReturnType<typeof openProcess>,
  amount: number,
  user_id = 'alice',
): Promise<void> {
  const reference_id = randomUUID();
  const lot = { type: 'grant', transaction_type: 'purchase', reference_id, amount, expires_at: null } as const;
  await credits.run(user_id, lot, commandContext(NOW));
}

/** Dies with the n-th change that it is asked for: before it is made, or after, so that nobody hears of it. */
export function dyingAt(
  log: EventStore,
  n: number,
  when: 'before' | 'after',
  die: () => void = () => {
    throw new Killed();
  },
): EventStore & { is_dead(): boolean } {
  let changes = 0;
  const is_dead = () => changes >= n;
  const assertAlive = () => {
    if (is_dead()) die();
  };
  async function change<Result>(make: () => Promise<Result>): Promise<Result> {
    assertAlive();
    changes++;
    if (when === 'before') assertAlive();
    const result = await make();
    assertAlive();
    return result;
  }
  return {
    ...log,
    is_dead,
    append: (...given) => change<AppendResult>(() => log.append(...given)),
    deleteStream: (stream) => change(() => log.deleteStream(stream)),
    async *readStream(...given) {
      assertAlive();
      yield* log.readStream(...given);
    },
  };
}

if (import.meta.main) {
  const [path, n, when] = process.argv.slice(2);
  const log = await openSqliteEventStore({ path: path! });
  const kill = () => process.kill(process.pid, 'SIGKILL');
  await openProcess(dyingAt(log, Number(n), when as 'before' | 'after', kill)).submit();
  await log.close();
}
