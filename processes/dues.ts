// Does what is due: expires lots of credits and ends the grace of unpaid subscriptions at their times, and begins trials. It sleeps until the
// earliest time in the read models. The ledger and the subscription decide: a second pass, or one over stale documents, changes nothing.
import type { CommandContext } from '../commands/aggregate.ts';
import type { CreditsLedger } from '../commands/credits.ts';
import type { Subscriptions } from '../commands/subscription.ts';
import type { Trials } from '../commands/trial.ts';
import type { Position } from '../events/event-store.ts';
import { creditLots } from '../readmodels/credits.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { subscriptions as subscriptionDocuments } from '../readmodels/subscriptions.ts';
import { pause } from '../time/pause.ts';
import { inParallel } from './in-parallel.ts';

/** Lots, and subscriptions, in one pass. */
const AT_ONCE = 500;
/** The least time between two passes. */
const SPACING_MS = 500;
/** The longest time between two passes: the wall clock may be set meanwhile. */
const IDLE_PASS_MS = 30_000;
const PROJECTED_MS = 5_000;

export interface DuesOptions {
  readmodels: ReadModels;
  credits: CreditsLedger;
  subscriptions: Subscriptions;
  /** Null where no trials begin. */
  trials: Trials | null;
  context: (user_id: string) => CommandContext;
  /** Wall time, without its steps back. */
  now: () => number;
  /** How long a pass waits for the read models to have what it did. Default 5 s. */
  projected_ms?: number;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runDues(options: DuesOptions, signal: AbortSignal, onPass: () => void): Promise<void> {
  const { readmodels, now } = options;
  let seen: Position | null = null;
  let wait_ms = 0;
  while (!signal.aborted) {
    seen = await readmodels.moved(seen, wait_ms, signal);
    if (signal.aborted) return;
    const next_at = await doWhatIsDue(options);
    onPass();
    const due_ms = next_at === null ? IDLE_PASS_MS : Date.parse(next_at) - now();
    wait_ms = Math.max(0, Math.min(due_ms, IDLE_PASS_MS) - SPACING_MS);
    await pause(SPACING_MS, signal);
  }
}

/** Makes one pass. Returns the earliest time at which more is due; null for none that is known. */
export async function doWhatIsDue(options: DuesOptions): Promise<string | null> {
  const { readmodels, credits, subscriptions, trials, context, now, projected_ms = PROJECTED_MS } = options;
  const at = new Date(now()).toISOString();
  const lots = readmodels.collection(creditLots);
  const documents = readmodels.collection(subscriptionDocuments);
  const expired = await lots.find({ due_at: { $lte: at } }, { sort: { due_at: 1 }, limit: AT_ONCE });
  const unpaid = await documents.find({ grace_until: { $lte: at } }, { sort: { grace_until: 1 }, limit: AT_ONCE });
  const newcomers = trials ? await documents.find({ is_trial_due: true }, { limit: AT_ONCE }) : [];
  const holders = new Set(expired.map(({ user_id }) => user_id));
  let reached: Position | null = null;
  const take = (done: { ok: boolean; position?: Position; appended?: number }) => {
    if (done.ok && done.appended! > 0 && (reached === null || done.position! > reached)) reached = done.position!;
  };
  // A user whose stream cannot be read holds up nobody else.
  const passes = await Promise.allSettled([
    inParallel([...holders], async (user_id) => take(await credits.run(user_id, { type: 'expire' }, context(user_id)))),
    inParallel(unpaid, async ({ _id: user_id }) =>
      take(await subscriptions.run(user_id, { type: 'endGrace' }, context(user_id))),
    ),
    inParallel(newcomers, async ({ _id: user_id, trial_due }) => {
      const position = await trials!.begin(user_id, trial_due!, context(user_id));
      if (position !== null && (reached === null || position > reached)) reached = position;
    }),
  ]);
  const failed = passes.find((pass) => pass.status === 'rejected');
  if (failed) throw failed.reason;
  // Before that the read models would return the same documents again.
  if (reached !== null) await readmodels.passed(reached, projected_ms);
  const is_full = [expired, unpaid, newcomers].some(({ length }) => length === AT_ONCE);
  if (reached !== null && is_full) return at;
  const [lot] = await lots.find({ due_at: { $gt: at } }, { sort: { due_at: 1 }, limit: 1 });
  const [grace] = await documents.find({ grace_until: { $gt: at } }, { sort: { grace_until: 1 }, limit: 1 });
  return [lot?.due_at, grace?.grace_until].filter((time) => time != null).sort()[0] ?? null;
}
