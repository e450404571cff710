// Does what is due: expires lots of credits and ends the grace of unpaid subscriptions at their times, and begins trials. It sleeps until the
// earliest time in the read models. The ledger and the subscription decide: a second pass, or one over stale documents, changes nothing.
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import type { CreditsLedger } from '../commands/credits.ts';
import type { Subscriptions } from '../commands/subscription.ts';
import type { Trials } from '../commands/trial.ts';
import type { Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import { creditLots } from '../readmodels/credits.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { subscriptions as subscriptionDocuments } from '../readmodels/subscriptions.ts';
import { pause } from '../time/pause.ts';
import { inParallel } from './in-parallel.ts';
import { firstOthers, openPutOff, type PutOff } from './put-off.ts';

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
  /** The users for whom nothing can be done now. */
  put_off: PutOff;
  logger: Pick<Logger, 'error'>;
  context: (user_id: string) => CommandContext;
  /** Wall time, without its steps back. */
  now: () => number;
  /** How long a pass waits for the read models to have what it did. Default 5 s. */
  projected_ms?: number;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runDues(
  of: Omit<DuesOptions, 'put_off'> & { monotonic: () => number },
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const options = { ...of, put_off: openPutOff(of.monotonic) };
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
  const {
    readmodels,
    credits,
    subscriptions,
    trials,
    put_off,
    logger,
    context,
    now,
    projected_ms = PROJECTED_MS,
  } = options;
  const at = new Date(now()).toISOString();
  const lots = readmodels.collection(creditLots);
  const documents = readmodels.collection(subscriptionDocuments);
  const is_past = { $lte: at };
  const expired = await firstOthers(lots, { due_at: is_past }, 'due_at', AT_ONCE, put_off, ({ user_id }) => user_id);
  const unpaid = await firstOthers(documents, { grace_until: is_past }, 'grace_until', AT_ONCE, put_off);
  const newcomers = trials ? await firstOthers(documents, { is_trial_due: true }, '_id', AT_ONCE, put_off) : [];
  const holders = new Set(expired.map(({ user_id }) => user_id));
  let reached: Position | null = null;
  const note = (position: Position | null) => {
    if (position !== null && (reached === null || position > reached)) reached = position;
  };
  /** A user whose stream cannot be read holds up nobody else. */
  const apart = (user_id: string, work: (context: CommandContext) => Promise<Position | null>) =>
    work(context(user_id)).then(note, (err: unknown) => {
      if (isOfStore(err)) throw err;
      logger.error({ err, user_id }, 'what is due for a user cannot be done now; that of others is');
      put_off.add(user_id);
    });
  const appended = (done: { ok: boolean; position?: Position; appended?: number }) =>
    done.ok && done.appended! > 0 ? done.position! : null;
  await inParallel([...holders], (user_id) =>
    apart(user_id, async (context) => appended(await credits.run(user_id, { type: 'expire' }, context))),
  );
  await inParallel(unpaid, ({ _id: user_id }) =>
    apart(user_id, async (context) => appended(await subscriptions.run(user_id, { type: 'endGrace' }, context))),
  );
  await inParallel(newcomers, ({ _id: user_id, trial_due }) =>
    apart(user_id, (context) => trials!.begin(user_id, trial_due!, context)),
  );
  // Before that the read models would return the same documents again.
  if (reached !== null) await readmodels.passed(reached, projected_ms);
  const is_full = [expired, unpaid, newcomers].some(({ length }) => length === AT_ONCE);
  if (reached !== null && is_full) return at;
  const [lot] = await lots.find({ due_at: { $gt: at } }, { sort: { due_at: 1 }, limit: 1 });
  const [grace] = await documents.find({ grace_until: { $gt: at } }, { sort: { grace_until: 1 }, limit: 1 });
  return [lot?.due_at, grace?.grace_until].filter((time) => time != null).sort()[0] ?? null;
}
