// Tells the checkers at once of jobs that stop: by the log itself, which is ahead of the read models, and whether or
// not anything of the job is in flight. A checker that misses this looks at the log for itself.
import type { Queue } from '../checkers/queue.ts';
import { STOP_SUBJECT, type Stop } from '../checkers/work.ts';
import type { EventStore } from '../events/event-store.ts';
import { idOf } from '../events/streams.ts';

const STOPPING = ['JobPaused', 'JobCancelled', 'JobFailed'];

/** Runs until `signal` aborts. */
export async function broadcastStops(log: EventStore, queue: Queue, signal: AbortSignal): Promise<void> {
  const filter = { categories: ['job'], types: STOPPING };
  for await (const { events } of log.subscribe({ from: await log.head(), filter, signal })) {
    for (const { stream, revision, type } of events) {
      const stop: Stop = { job_id: idOf(stream), revision, drops_in_hand: type !== 'JobPaused' };
      await queue.broadcast(STOP_SUBJECT, stop);
    }
  }
}
