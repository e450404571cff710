// Follows the log for jobs that stop: a checker learns of a stop within milliseconds, whichever other roles run.
import type { Logger } from 'pino';
import type { EventStore, Position } from '../events/event-store.ts';
import { idOf } from '../events/streams.ts';
import { backOff } from '../time/pause.ts';

/** The job is no longer processing as of `revision`. */
export interface Stop {
  job_id: string;
  revision: number;
  /** True for cancelled and failed jobs: the checker aborts requests in flight. A paused job finishes them. */
  drops_in_flight: boolean;
}

const TYPES = ['JobPaused', 'JobCancelled', 'JobFailed'];
/** The longest wait before it subscribes again. A stop that it misses meanwhile costs requests. */
const LONGEST_WAIT_MS = 500;

/** Calls `stopped` for each stop after `from`, until `signal` aborts. It resubscribes after every error. */
export async function followStops(
  log: EventStore,
  from: Position,
  stopped: (stop: Stop) => void,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<void> {
  const filter = { categories: ['job'], types: TYPES };
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      for await (const { events, position } of log.subscribe({ from, filter, signal })) {
        for (const { stream, revision, type } of events) {
          stopped({ job_id: idOf(stream), revision, drops_in_flight: type !== 'JobPaused' });
        }
        from = position;
        failures = 0;
      }
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error }, 'the subscription to stopped jobs failed; the checker subscribes again');
      await backOff(failures, LONGEST_WAIT_MS, signal);
    }
  }
}
