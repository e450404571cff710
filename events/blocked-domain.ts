// The stream `blocklist-domains`: how domains came on to the blocklist, and off it again. There is one, because there is a limit on
// their number.
import { Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';

/** What is said of a blocked domain, which any later event may say anew. */
const why = {
  /** For the users whose URLs are left out. */
  reason: Type.String(),
  /** A word for programs, such as `legal`. */
  block_type: Type.String(),
  /** What checks of its URLs come back with. */
  error_codes: Type.Array(Type.String()),
};

export const BLOCKLIST_EVENTS = {
  DomainBlocked: event({
    /** A host in the URL parser's form; whatever is under it is blocked too. */
    domain: Type.String(),
    ...why,
    added_at: Type.String({ format: 'date-time' }),
  }),
  DomainBlockUpdated: event({ domain: Type.String(), ...why }),
  DomainUnblocked: event({ domain: Type.String() }),
};

export type DomainBlocked = DataOf<typeof BLOCKLIST_EVENTS.DomainBlocked>;
export type DomainBlockUpdated = DataOf<typeof BLOCKLIST_EVENTS.DomainBlockUpdated>;

export type BlocklistEvent = EventsOf<typeof BLOCKLIST_EVENTS>;
