// What administrators delete from the log of attempts. The stream only says what was deleted, and when: an event has no state to
// be decided on, and a repeated one deletes nothing more.
import type { EventStore, Position } from '../events/event-store.ts';
import { WORKER_LOG_STREAM } from '../events/streams.ts';
import type { WorkerLogEvent } from '../events/worker-log.ts';
import { type CommandContext, evolveBy, fromLastEvent, openAggregate } from './aggregate.ts';

type State = Readonly<Record<string, never>>;

export const initial = (): State => ({});
export const evolve = evolveBy<State, WorkerLogEvent>({
  LogsDeleted: (state) => state,
  LogDeleted: (state) => state,
  LogsTruncated: (state) => state,
});

export interface WorkerLogCommands {
  delete(what: WorkerLogEvent, context: CommandContext): Promise<Position>;
}

export function openWorkerLogCommands(log: EventStore): WorkerLogCommands {
  const fold = { initial, evolve };
  const aggregate = openAggregate<State, WorkerLogEvent>(log, fold, { begin: fromLastEvent(log, fold) });
  return {
    async delete(what, context) {
      const handled = await aggregate.handle(WORKER_LOG_STREAM, context, () => ({ events: [what] }));
      if (!handled.ok) throw new Error(handled.refused.message);
      return handled.position;
    },
  };
}
