// Records what agencies and the console report. The events of a day are spread over several streams, so that processes that record
// at once seldom conflict and no stream grows without end.
import type { EventStore, Position } from '../events/event-store.ts';
import type { AgencyEventReceived, PaywallEventReceived, ReportedEvent } from '../events/reported-events.ts';
import { intakeStream } from '../events/streams.ts';
import { type CommandContext, notRefused, openStateless } from './aggregate.ts';

const SHARDS = 16;
/** Concurrent events of a shard share an append: at most this many. */
const MAX_PER_APPEND = 32;

export type ReportedEvents = ReturnType<typeof openReportedEvents>;

/** The command's id is the event's. */
export function openReportedEvents(log: EventStore) {
  const aggregate = openStateless<ReportedEvent>(log, { max_per_append: MAX_PER_APPEND });

  async function record(event: ReportedEvent, context: CommandContext): Promise<Position> {
    const day = new Date(context.now).toISOString().slice(0, 10);
    const shard = Number.parseInt(context.command_id.slice(0, 4), 16) % SHARDS;
    return notRefused(await aggregate.handle(intakeStream(day, shard), context, () => ({ events: [event] }))).position;
  }
  return {
    recordAgencyEvent: (data: Omit<AgencyEventReceived, 'event_id'>, context: CommandContext) =>
      record({ type: 'AgencyEventReceived', data: { event_id: context.command_id, ...data } }, context),
    recordPaywallEvent: (data: Omit<PaywallEventReceived, 'event_id'>, context: CommandContext) =>
      record({ type: 'PaywallEventReceived', data: { event_id: context.command_id, ...data } }, context),
  };
}
