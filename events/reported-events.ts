// The streams `intake-{day}-{shard}`: what agencies and the console report for the administrators' views.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { personal } from './personal.ts';
import { Nullable, Type } from './schema.ts';

const Time = Type.String({ format: 'date-time' });

export const REPORTED_EVENTS = {
  AgencyEventReceived: event({
    event_id: Type.String(),
    agency_id: Type.String(),
    event: Type.String(),
    occurred_at: Nullable(Time),
    /** A JSON object. */
    properties: Type.String(),
  }),
  PaywallEventReceived: event({
    event_id: Type.String(),
    user_id: Type.String(),
    event: Type.String(),
    /** A JSON object. */
    properties: personal(Type.String(), 'user'),
  }),
};

export type AgencyEventReceived = DataOf<typeof REPORTED_EVENTS.AgencyEventReceived>;
export type PaywallEventReceived = DataOf<typeof REPORTED_EVENTS.PaywallEventReceived>;
export type ReportedEvent = EventsOf<typeof REPORTED_EVENTS>;
