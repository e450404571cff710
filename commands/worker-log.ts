// What administrators delete from the log of attempts. The stream only says what was deleted, and when: an event has no state to
// be decided on, and a repeated one deletes nothing more.
import type { EventStore, Position } from '../events/event-store.ts';
import { WORKER_LOG_STREAM } from '../events/streams.ts';
import type { WorkerLogEvent } from '../events/worker-log.ts';
import { type CommandContext, notRefused, openStateless } from './aggregate.ts';

export type WorkerLogCommands = ReturnType<typeof openWorkerLogCommands>;

export function openWorkerLogCommands(log: EventStore) {
  const aggregate = openStateless<WorkerLogEvent>(log);
  return {
    delete: async (what: WorkerLogEvent, context: CommandContext): Promise<Position> =>
      notRefused(await aggregate.handle(WORKER_LOG_STREAM, context, () => ({ events: [what] }))).position,
  };
}
