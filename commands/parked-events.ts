// The aggregate of parked events: those that operators discarded, with the reason.
import type { EventStore, Position } from '../events/event-store.ts';
import type { ParkedEventDiscarded, ParkedEventsEvent } from '../events/service.ts';
import { PARKED_STREAM } from '../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, notRefused, openAggregate } from './aggregate.ts';

/** Discarded events, each of one projection. */
type State = Set<string>;

const keyOf = ({ projection, event_id }: ParkedEventDiscarded) => `${projection}/${event_id}`;

export const initial = (): State => new Set();
export const evolve = evolveBy<State, ParkedEventsEvent>({
  ParkedEventDiscarded: (state, data) => state.add(keyOf(data)),
});

export const decide = (state: Readonly<State>, discarded: ParkedEventDiscarded): Decision<ParkedEventsEvent> => ({
  events: state.has(keyOf(discarded)) ? [] : [{ type: 'ParkedEventDiscarded', data: discarded }],
});

/** Discards an event that a projection parked. Twice is once. */
export async function discardParked(
  log: EventStore,
  discarded: ParkedEventDiscarded,
  context: CommandContext,
): Promise<Position> {
  const aggregate = openAggregate<State, ParkedEventsEvent>(log, { initial, evolve });
  const handled = await aggregate.handle(PARKED_STREAM, context, (state) => decide(state, discarded));
  return notRefused(handled).position;
}
