// The aggregate of one user. The first request of a user registers the account and grants its signup credits.
import type { EventStore, Position } from '../events/event-store.ts';
import { userStream } from '../events/streams.ts';
import type { UserEvent } from '../events/user.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from './aggregate.ts';
import type { CreditsLedger } from './credits.ts';

export interface User {
  registered: boolean;
  email: string | null;
}

export const initial = (): User => ({ registered: false, email: null });
export const evolve = evolveBy<User, UserEvent>({
  UserRegistered: (_user, { email }) => ({ registered: true, email }),
  UserUpdated: (user, { email }) => ({ ...user, email }),
});

/** Records the identity that the identity provider reports; makes no event when it has not changed. */
export function see(user: Readonly<User>, seen: { user_id: string; email: string | null }): Decision<UserEvent> {
  if (!user.registered) return { events: [{ type: 'UserRegistered', data: seen }] };
  if (seen.email === null || seen.email === user.email) return { events: [] };
  return { events: [{ type: 'UserUpdated', data: { email: seen.email } }] };
}

export interface Users {
  /** Registers a new user with `signup_credits`. Returns the position of the last event that it appended; null for none. */
  see(seen: { user_id: string; email: string | null }, context: CommandContext): Promise<Position | null>;
}

export function openUsers(log: EventStore, credits: CreditsLedger, signup_credits: number): Users {
  const aggregate = openAggregate<User, UserEvent>(log, { initial, evolve });
  return {
    async see(seen, context) {
      const registered = await aggregate.handle(userStream(seen.user_id), context, (user) => see(user, seen));
      if (!registered.ok) throw new Error(registered.refused.message);
      if (signup_credits === 0) return registered.appended ? registered.position : null;
      // The ledger grants these once. Each request asks, so that a crash between the two appends loses no grant.
      const granted = await credits.run(
        seen.user_id,
        {
          type: 'grant',
          transaction_type: 'signup_bonus',
          reference_id: seen.user_id,
          amount: signup_credits,
          expires_at: null,
        },
        context,
      );
      if (!granted.ok) throw new Error(granted.refused.message);
      if (granted.appended) return granted.position;
      return registered.appended ? registered.position : null;
    },
  };
}
