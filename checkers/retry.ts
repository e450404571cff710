// Retries calls to a log that is away, with back-off, so that outcomes stay in hand until the log has them.
import type { Logger } from 'pino';
import { AppendTooLarge } from '../events/event-store.ts';
import { backOffMs, FIRST_BACK_OFF_MS } from '../time/back-off.ts';

export interface RetryOptions {
  logger: Logger;
  /** Waits at most `ms`; ends early, without an error, when `signal` aborts. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

const BACK_OFF = { first_ms: FIRST_BACK_OFF_MS, longest_ms: 5000 };

/**
 * Repeats `work`, which must be idempotent, with back-off until it succeeds. Rejects with its error when that is not
 * transient or `signal` has aborted. `what` names the work in the log line.
 */
export type Retry = <R>(what: string, work: () => Promise<R>, signal: AbortSignal) => Promise<R>;

export function createRetry({ logger, wait }: RetryOptions): Retry {
  return async (what, work, signal) => {
    for (let failures = 0; ; failures++) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || !isTransient(error)) throw error;
        logger.warn({ err: error, failures: failures + 1 }, `${what} failed; it will be tried again`);
        await wait(backOffMs(failures, BACK_OFF), signal);
      }
    }
  };
}

/** Codes of errors that no retry mends: the caller has given up, this process has closed the store, or an event is a defect. */
const LASTING = ['ABORT_ERR', 'closed', 'event_store_closed', 'invalid_event', 'damaged_event'];

/** Whether a retry may succeed. Errors of stores and of the system carry a `code`; defects of the program do not. */
function isTransient(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return false;
  if (error instanceof AppendTooLarge) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && !LASTING.includes(code);
}
