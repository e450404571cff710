// The streams `user-{userId}`: who the identity provider says that someone is.
import { type Static, Type } from 'typebox';
import { Nullable } from './nullable.ts';

const NullableText = Nullable(Type.String());

export const UserRegistered = Type.Object({ user_id: Type.String(), email: NullableText });
export const UserUpdated = Type.Object({ email: NullableText });

export type UserEvent =
  | { type: 'UserRegistered'; data: Static<typeof UserRegistered> }
  | { type: 'UserUpdated'; data: Static<typeof UserUpdated> };
