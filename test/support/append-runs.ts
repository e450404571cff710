// Splits lists of events that are too long for one append.
import { eventBytes, MAX_APPEND_BYTES, MAX_APPEND_EVENTS, type NewEvent, runsOf } from '../../events/event-store.ts';

/** Splits the events, in order, into as few runs as possible. Each run fits one append. */
export const appendRuns = <E extends NewEvent>(events: readonly E[]): E[][] =>
  runsOf(events, eventBytes, { most_bytes: MAX_APPEND_BYTES, most_items: MAX_APPEND_EVENTS });
