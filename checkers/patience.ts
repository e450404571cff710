// Waiting for a log that is away: what was found stays in hand until it is in the log, however long that takes.
import type { Logger } from 'pino';
import { RangeBeforeMissing } from '../commands/record-checks.ts';
import { AppendTooLarge } from '../events/event-store.ts';

export interface PatienceOptions {
  logger: Logger;
  /** Not longer than this; ends early, without an error, when `signal` aborts. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_BACK_OFF_MS = 100;
const LAST_BACK_OFF_MS = 5000;

/** What asks the log, which may be done twice, again until it succeeds, fails for good, or `signal` aborts. */
export type Patiently = <R>(what: string, work: () => Promise<R>, signal: AbortSignal) => Promise<R>;

export function openPatience({ logger, wait }: PatienceOptions): Patiently {
  return async (what, work, signal) => {
    for (let failures = 0; ; failures++) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || !mayPass(error)) throw error;
        logger.warn({ err: error, failures: failures + 1 }, `${what} failed; it will be tried again`);
        await wait(Math.min(FIRST_BACK_OFF_MS * 2 ** failures, LAST_BACK_OFF_MS), signal);
      }
    }
  };
}

/** The codes of a store that this process has closed. */
const CLOSED = ['closed', 'event_store_closed'];

/**
 * Whether it is the store's or the machine's trouble, which ends some day, and not the fault of what is asked: errors of
 * stores and of the system have a code, defects of the program have none.
 */
export function mayPass(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return false;
  if (error instanceof AppendTooLarge || error instanceof RangeBeforeMissing) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code !== 'ABORT_ERR' && !CLOSED.includes(code);
}
