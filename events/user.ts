// The streams `user-{userId}`: a user as the identity provider describes them.

import { type EventsOf, event } from './event-spec.ts';
import { Nullable } from './nullable.ts';
import { Type } from './schema.ts';

const NullableText = Nullable(Type.String());

export const USER_EVENTS = {
  UserRegistered: event({ user_id: Type.String(), email: NullableText }),
  UserUpdated: event({ email: NullableText }),
};

export type UserEvent = EventsOf<typeof USER_EVENTS>;
