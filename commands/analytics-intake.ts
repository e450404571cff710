// Records what agencies and the console report. The events of a day are spread over several streams, so that processes that record
// at once seldom conflict and no stream grows without end.
import type { EventStore } from '../events/event-store.ts';
import type { AgencyEventReceived, IntakeEvent, PaywallEventReceived } from '../events/intake.ts';
import { intakeStream } from '../events/streams.ts';
import { type CommandContext, type Done, fromLastEvent, openAggregate } from './aggregate.ts';

const SHARDS = 16;
/** Concurrent events of a shard share an append: at most this many. */
const MAX_PER_APPEND = 32;

export interface AnalyticsIntake {
  recordAgencyEvent(data: Omit<AgencyEventReceived, 'event_id'>, context: CommandContext): Promise<Done>;
  recordPaywallEvent(data: Omit<PaywallEventReceived, 'event_id'>, context: CommandContext): Promise<Done>;
}

/** The command's id is the event's. */
export function openAnalyticsIntake(log: EventStore): AnalyticsIntake {
  // Nothing is decided by what came before; only the stream's revision counts.
  const fold = { initial: () => null, evolve: () => null };
  const options = { begin: fromLastEvent<null, IntakeEvent>(log, fold), max_per_append: MAX_PER_APPEND };
  const aggregate = openAggregate<null, IntakeEvent>(log, fold, options);

  function record(event: IntakeEvent, context: CommandContext): Promise<Done> {
    const day = new Date(context.now).toISOString().slice(0, 10);
    const shard = Number.parseInt(context.command_id.slice(0, 4), 16) % SHARDS;
    return aggregate.handle(intakeStream(day, shard), context, () => ({ events: [event] }));
  }
  return {
    recordAgencyEvent: (data, context) =>
      record({ type: 'AgencyEventReceived', data: { event_id: context.command_id, ...data } }, context),
    recordPaywallEvent: (data, context) =>
      record({ type: 'PaywallEventReceived', data: { event_id: context.command_id, ...data } }, context),
  };
}
