// The stream `blocklist-domains`: how domains came on to the blocklist, and off it again. There is one, because there is a limit on
// their number.
import { type Static, Type } from 'typebox';

/** What is said of a blocked domain, which any later event may say anew. */
const why = {
  /** For the users whose URLs are left out. */
  reason: Type.String(),
  /** A word for programs, such as `legal`. */
  block_type: Type.String(),
  /** What checks of its URLs come back with. */
  error_codes: Type.Array(Type.String()),
};

export const DomainBlocked = Type.Object({
  /** A host in the URL parser's form; whatever is under it is blocked too. */
  domain: Type.String(),
  ...why,
  added_at: Type.String({ format: 'date-time' }),
});
export const DomainBlockUpdated = Type.Object({ domain: Type.String(), ...why });
export const DomainUnblocked = Type.Object({ domain: Type.String() });

export type DomainBlocked = Static<typeof DomainBlocked>;
export type DomainBlockUpdated = Static<typeof DomainBlockUpdated>;

export type BlocklistEvent =
  | { type: 'DomainBlocked'; data: DomainBlocked }
  | { type: 'DomainBlockUpdated'; data: DomainBlockUpdated }
  | { type: 'DomainUnblocked'; data: Static<typeof DomainUnblocked> };
