// What makes a token good, whoever issued it: a pinned algorithm, the issuer, the audience, the time and the claims.
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Identified } from '../../http/identity.ts';

/** Asymmetric only: with a symmetric one a published key could be used to sign (RFC 8725, 3.1). */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];
const CLOCK_TOLERANCE_S = 5;
/** Longer ones are no tokens: verifying costs time. */
const MAX_TOKEN_CHARS = 8192;

/** What jose throws when the token, and not the fetching of keys, is to blame. */
const REFUSALS = [
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JWTInvalid,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
];

export class IdentityUnavailable extends Error {
  readonly code = 'unavailable';
}

export async function verifyToken(
  token: string,
  keys: JWTVerifyGetKey,
  from: { issuer: string; audience: string },
): Promise<Identified | null> {
  if (token.length > MAX_TOKEN_CHARS) return null;
  try {
    const { payload } = await jwtVerify(token, keys, {
      ...from,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_S,
      requiredClaims: ['sub', 'exp'],
    });
    return identified(payload);
  } catch (cause) {
    if (REFUSALS.some((refusal) => cause instanceof refusal)) return null;
    throw new IdentityUnavailable('the keys of the identity provider cannot be read', { cause });
  }
}

/** Null when the user id could not name a stream: it is at most 200 visible ASCII characters. */
function identified({ sub, email, role }: JWTPayload): Identified | null {
  if (typeof sub !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(sub)) return null;
  return {
    user_id: sub,
    email: typeof email === 'string' && email !== '' ? email.toLowerCase() : null,
    is_admin: role === 'admin',
  };
}
