// The aggregate of one user. The first request of a user registers the account and grants its signup credits.
import type { EventStore, Position } from '../events/event-store.ts';
import { userStream } from '../events/streams.ts';
import type { UserEvent } from '../events/user.ts';
import { type CommandContext, type Decision, type Done, evolveBy, openAggregate } from './aggregate.ts';
import type { CreditsLedger } from './credits.ts';

export interface User {
  /** `erased`: the erasure is asked for; `forgotten`: it is done. */
  status: 'unknown' | 'registered' | 'erased' | 'forgotten';
  email: string | null;
}

export const initial = (): User => ({ status: 'unknown', email: null });
export const evolve = evolveBy<User, UserEvent>({
  UserRegistered: (_user, { email }) => ({ status: 'registered', email }),
  UserUpdated: (user, { email }) => ({ ...user, email }),
  UserErased: () => ({ status: 'erased', email: null }),
  UserForgotten: () => ({ status: 'forgotten', email: null }),
});

/** Records the identity that the identity provider reports; makes no event when it has not changed. An erased user stays erased. */
export function see(user: Readonly<User>, seen: { user_id: string; email: string | null }): Decision<UserEvent> {
  if (user.status === 'erased' || user.status === 'forgotten') {
    return { refused: { code: 'user_erased', message: 'The account was erased.' } };
  }
  if (user.status === 'unknown') return { events: [{ type: 'UserRegistered', data: seen }] };
  if (seen.email === null || seen.email === user.email) return { events: [] };
  return { events: [{ type: 'UserUpdated', data: { email: seen.email } }] };
}

/** Asks for the erasure of a user, which the processes carry out. */
export function erase({ status }: Readonly<User>): Decision<UserEvent> {
  if (status === 'unknown') return { refused: { code: 'user_not_found', message: 'There is no such user.' } };
  return { events: status === 'registered' ? [{ type: 'UserErased', data: {} }] : [] };
}

/** Records that nothing of an erased user is left. */
export const forget = ({ status }: Readonly<User>): Decision<UserEvent> => ({
  events: status === 'erased' ? [{ type: 'UserForgotten', data: {} }] : [],
});

export interface Users {
  /**
   * Registers a new user with `signup_credits`. Returns the position of the last event that it appended; null for none, and `erased`
   * for an erased user.
   */
  see(seen: { user_id: string; email: string | null }, context: CommandContext): Promise<Position | 'erased' | null>;
}

/** The commands on erased users. */
export interface Erasures {
  /** Refused as `user_not_found`. Erasing an erased user succeeds. */
  erase(user_id: string, context: CommandContext): Promise<Done>;
  forget(user_id: string, context: CommandContext): Promise<Done>;
}

export function openErasures(log: EventStore): Erasures {
  const aggregate = openAggregate<User, UserEvent>(log, { initial, evolve });
  return {
    erase: (user_id, context) => aggregate.handle(userStream(user_id), context, erase),
    forget: (user_id, context) => aggregate.handle(userStream(user_id), context, forget),
  };
}

export function openUsers(log: EventStore, credits: CreditsLedger, signup_credits: number): Users {
  const aggregate = openAggregate<User, UserEvent>(log, { initial, evolve });
  return {
    async see(seen, context) {
      const registered = await aggregate.handle(userStream(seen.user_id), context, (user) => see(user, seen));
      if (!registered.ok) return 'erased';
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
