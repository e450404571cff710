// The address to which mails of a user go.
import type { EventStore } from '../events/event-store.ts';
import { userStream } from '../events/streams.ts';
import { accountOf } from '../events/test-user.ts';
import type { UserEvent } from '../events/user.ts';

/** Returns the user's last email address from the identity provider; null without one, and for an erased user. */
export async function addressOf(user_id: string, log: EventStore): Promise<string | null> {
  for await (const event of log.readStream(userStream(accountOf(user_id)), { direction: 'backwards' })) {
    const { type, data } = event as unknown as UserEvent;
    if (type === 'UserErased' || type === 'UserForgotten') return null;
    if (type === 'UserUpdated' || type === 'UserRegistered' || type === 'IdentityReported') return data.email;
  }
  return null;
}
