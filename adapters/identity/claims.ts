// Reads who a token's bearer is from its claims. Providers name the claims differently, so settings say which ones count.

import type { JWTPayload } from 'jose';
import { type Identified, isUserId, usableAddress, usableName } from '../../http/callers/identity.ts';

/**
 * Names of claims. A name with dots leads into objects: `realm_access.roles`. A claim whose whole name has dots wins, such as
 * `https://example.com/roles`.
 */
export interface Claims {
  user: string;
  email: string;
  /** The bearer is an administrator when this claim is `admin_value`, or a list that has it. */
  admin: string;
  admin_value: string;
}

export const USUAL_CLAIMS: Claims = { user: 'sub', email: 'email', admin: 'role', admin_value: 'admin' };

/** Null when the user's claim is no id of a user. */
export function identified(payload: JWTPayload, claims: Claims): Identified | null {
  const user_id = claimOf(payload, claims.user);
  if (!isUserId(user_id)) return null;
  return {
    user_id,
    email: emailOf(payload, claims.email),
    ...nameOf(payload),
    is_admin: isOrHas(claimOf(payload, claims.admin), claims.admin_value),
  };
}

/** Some providers send the claim `email_verified` as text. Whatever else it holds may mean no. */
const VERIFIED: readonly unknown[] = [undefined, true, 'true'];

/** An address that the provider calls unverified may be anybody's. */
function emailOf(payload: JWTPayload, name: string): string | null {
  const email = claimOf(payload, name);
  return typeof email === 'string' && VERIFIED.includes(payload.email_verified) ? usableAddress(email) : null;
}

/** The claims of OpenID Connect (Core 1.0, 5.1). */
function nameOf({ name, given_name, family_name }: JWTPayload): Pick<Identified, 'name'> {
  const parts =
    typeof name === 'string' ? [name] : [given_name, family_name].filter((part) => typeof part === 'string');
  const usable = usableName(parts.join(' '));
  return usable === null ? {} : { name: usable };
}

const isOrHas = (claim: unknown, value: string): boolean =>
  claim === value || (Array.isArray(claim) && claim.includes(value));

function claimOf(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  let value: unknown = payload;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
