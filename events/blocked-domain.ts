// The stream `blocklist-domains`: which domains administrators put on the blocklist and took off. One stream holds them all, so that it
// decides the limit on their number.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

/** Why a domain is on the blocklist. `DomainBlockUpdated` replaces all three fields. */
const why = {
  /** The sentence shown to users whose URLs the intake skips. */
  reason: Type.String(),
  /** A word for programs, such as `legal`. */
  block_type: Type.String(),
  /** The error codes that checks of the domain's URLs return. */
  error_codes: Type.Array(Type.String()),
};

export const BLOCKLIST_EVENTS = {
  DomainBlocked: event({
    /** A host in the URL parser's form. The entry blocks its subdomains too. */
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
