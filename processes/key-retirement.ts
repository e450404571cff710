// Deletes the streams of idempotency keys that the service has long forgotten. It reads the log in its order, so it needs no read model: what it
// has deleted is not there the next time, or has no stream any more.
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import { type IdempotencyKeys, KEPT_MS } from '../commands/idempotency.ts';
import { BEGINNING, type EventStore, type Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import { recordedAt } from '../events/unreadable.ts';
import { pause } from '../time/pause.ts';
import type { Removals } from './removals.ts';

const PASS_MS = 3_600_000;

export interface KeyRetirementOptions {
  log: EventStore;
  keys: Pick<IdempotencyKeys, 'retire'>;
  removals: Removals;
  logger: Pick<Logger, 'error'>;
  context: (stream: string) => CommandContext;
  /** Wall time in Unix milliseconds, without its steps back. */
  now: () => number;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runKeyRetirement(
  options: KeyRetirementOptions,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  let from: Position = BEGINNING;
  while (!signal.aborted) {
    from = await retireOldKeys(options, from, signal);
    onPass();
    await pause(PASS_MS, signal);
  }
}

/** Makes one pass over the log after `from`. Returns the position after which the next one begins. */
export async function retireOldKeys(
  { log, keys, removals, logger, context, now }: KeyRetirementOptions,
  from: Position,
  signal: AbortSignal,
): Promise<Position> {
  const end = await log.head();
  let reached = from;
  for await (const event of log.readAll({ from, filter: { categories: ['idempotency'] } })) {
    const { stream, position } = event;
    if (recordedAt(event) > now() - KEPT_MS || removals.are_held || signal.aborted) return reached;
    // A key that was claimed again since has later events, which come later in the log.
    try {
      if (await keys.retire(stream, context(stream))) await removals.run(() => log.deleteStream(stream));
    } catch (err) {
      if (isOfStore(err)) throw err;
      logger.error({ err, stream }, 'the stream of an idempotency key cannot be retired and stays; others are');
    }
    reached = position;
  }
  return end;
}
