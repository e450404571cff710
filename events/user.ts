// The streams `user-{userId}`: who the identity provider says that someone is.
import { type Static, Type } from 'typebox';

const NullableText = Type.Union([Type.String(), Type.Null()]);

export const UserRegistered = Type.Object({ user_id: Type.String(), email: NullableText });
export const UserUpdated = Type.Object({ email: NullableText });

export type UserEvent =
  | { type: 'UserRegistered'; data: Static<typeof UserRegistered> }
  | { type: 'UserUpdated'; data: Static<typeof UserUpdated> };
