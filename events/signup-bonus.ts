// The streams `signup_bonuses-{hash of an address}`: the signup bonuses that clients at one address, or in one site (/48) of IPv6, claimed.
// The hashes are keyed ones, so that nobody finds the address, the user or the fingerprint by trying all of them.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

export const SIGNUP_BONUSES_EVENTS = {
  SignupBonusClaimed: event({ user: Hash, fingerprint: Hash, claimed_at: Type.String({ format: 'date-time' }) }),
};

export type SignupBonusClaimed = DataOf<typeof SIGNUP_BONUSES_EVENTS.SignupBonusClaimed>;
export type SignupBonusesEvent = EventsOf<typeof SIGNUP_BONUSES_EVENTS>;
