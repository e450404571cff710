// Hears of jobs that stop from the log itself, within milliseconds and whichever other parts of the service run.
import type { Logger } from 'pino';
import type { EventStore, Position } from '../events/event-store.ts';
import { idOf } from '../events/streams.ts';

/** The job is no longer processing as of `revision`. */
export interface Stop {
  job_id: string;
  revision: number;
  /** Whether requests in flight are cut off too (cancelled, failed) or finished (paused). */
  drops_in_flight: boolean;
}

const TYPES = ['JobPaused', 'JobCancelled', 'JobFailed'];
const AGAIN_AFTER_MS = 500;

/** Calls `heard` for each stop after `from`, until `signal` aborts. */
export async function followStops(
  log: EventStore,
  from: Position,
  heard: (stop: Stop) => void,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<void> {
  const filter = { categories: ['job'], types: TYPES };
  while (!signal.aborted) {
    try {
      for await (const { events, position } of log.subscribe({ from, filter, signal })) {
        for (const { stream, revision, type } of events) {
          heard({ job_id: idOf(stream), revision, drops_in_flight: type !== 'JobPaused' });
        }
        from = position;
      }
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error }, 'the log does not say which jobs stop; asking again');
      await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS));
    }
  }
}
