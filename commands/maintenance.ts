// The aggregate of maintenance mode. The last event of its stream alone says whether it is on.
import type { EventStore } from '../events/event-store.ts';
import type { MaintenanceEvent } from '../events/service.ts';
import { MAINTENANCE_STREAM } from '../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, notRefused, openAggregate } from './aggregate.ts';
import { fromLastEvent } from './stream-states.ts';

/** What users are told, and since when; null while maintenance mode is off. */
export type MaintenanceState = { readonly message: string; readonly started_at: string } | null;

interface State {
  current: MaintenanceState;
}

export const initial = (): State => ({ current: null });
export const evolve = evolveBy<State, MaintenanceEvent>({
  MaintenanceStarted: (_, data) => ({ current: data }),
  MaintenanceEnded: () => ({ current: null }),
});

export type MaintenanceCommand = { type: 'start' | 'toggle'; message: string; now: number } | { type: 'end' };

/** Starting again with another message replaces the message; any other repeated command changes nothing. */
export function decide({ current }: State, command: MaintenanceCommand): Decision<MaintenanceEvent> {
  const ends = command.type === 'end' || (command.type === 'toggle' && current !== null);
  if (ends) return { events: current === null ? [] : [{ type: 'MaintenanceEnded', data: {} }] };
  const { message, now } = command;
  if (current?.message === message) return { events: [] };
  const started_at = current?.started_at ?? new Date(now).toISOString();
  return { events: [{ type: 'MaintenanceStarted', data: { message, started_at } }] };
}

export type MaintenanceMode = ReturnType<typeof openMaintenanceMode>;

export function openMaintenanceMode(log: EventStore) {
  const fold = { initial, evolve };
  const begin = fromLastEvent(log, fold);
  const aggregate = openAggregate<State, MaintenanceEvent>(log, fold, { begin });
  async function run(command: MaintenanceCommand, context: CommandContext) {
    const handled = await aggregate.handle(MAINTENANCE_STREAM, context, (state) => decide(state, command));
    const { state, position } = notRefused(handled);
    return { state: state.current, position };
  }
  return {
    // A cached state would take a read of two events to confirm, and this one is read twice a second.
    /** Reads the log. */
    read: async (): Promise<MaintenanceState> => (await begin(MAINTENANCE_STREAM))?.state.current ?? null,
    start: (message: string, context: CommandContext) => run({ type: 'start', message, now: context.now }, context),
    end: (context: CommandContext) => run({ type: 'end' }, context),
    /** Starts it where it is off, and ends it where it is on. */
    toggle: (message: string, context: CommandContext) => run({ type: 'toggle', message, now: context.now }, context),
  };
}
