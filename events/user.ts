// The streams `user-{userId}`: a user as the identity provider describes them.

import { type EventsOf, event } from './event-spec.ts';
import { Nullable } from './nullable.ts';
import { personal } from './personal.ts';
import { Type } from './schema.ts';

const email = personal(Nullable(Type.String()), 'user');

export const USER_EVENTS = {
  UserRegistered: event({ user_id: Type.String(), email }),
  UserUpdated: event({ email }),
  /** The user's erasure is asked for. The service refuses the user from now on, and removes all that it keeps of them. */
  UserErased: event({}),
  /** The erasure is done: everything is removed, and the user's key is destroyed. */
  UserForgotten: event({}),
};

export type UserEvent = EventsOf<typeof USER_EVENTS>;
