// Verifies a JWT: its algorithm, signature, issuer, audience, lifetime and claims.
import { hash } from 'node:crypto';
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Identified, Identity } from '../../http/identity.ts';

/** Asymmetric algorithms only: with a symmetric one, anybody could sign with the published key (RFC 8725, 3.1). */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];
const CLOCK_TOLERANCE_S = 5;
/** Longer tokens are refused before any verification, which costs time. */
const MAX_TOKEN_CHARS = 8192;

/** Errors by which jose refuses a token. Any other error means that the keys could not be fetched. */
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

/** Lifetime of a cached verification: checking a signature costs more than the rest of a small request. */
const CACHE_MS = 30_000;
const MAX_CACHED = 10_000;

interface Verified {
  caller: Identified;
  expires_ms: number;
}

export function openVerifier(keys: JWTVerifyGetKey, from: { issuer: string; audience: string }): Identity {
  /** Keyed by the token's hash, so that no token stays in memory. */
  const cache = new LRUCache<string, Verified>({ max: MAX_CACHED, ttl: CACHE_MS });
  return {
    async verify(token) {
      if (token.length > MAX_TOKEN_CHARS) return null;
      const key = hash('sha256', token, 'base64');
      const cached = cache.get(key);
      if (cached) return Date.now() < cached.expires_ms ? cached.caller : null;
      const verified = await verifyToken(token, keys, from);
      if (!verified) return null;
      cache.set(key, verified);
      return verified.caller;
    },
  };
}

async function verifyToken(
  token: string,
  keys: JWTVerifyGetKey,
  from: { issuer: string; audience: string },
): Promise<Verified | null> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      ...from,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_S,
      requiredClaims: ['sub', 'exp'],
    });
    const caller = identified(payload);
    return caller && { caller, expires_ms: (payload.exp! + CLOCK_TOLERANCE_S) * 1000 };
  } catch (cause) {
    if (REFUSALS.some((refusal) => cause instanceof refusal)) return null;
    throw new IdentityUnavailable('the keys of the identity provider cannot be read', { cause });
  }
}

/** Null when `sub` cannot name a stream: a user id is 1 to 200 visible ASCII characters. */
function identified({ sub, email, role }: JWTPayload): Identified | null {
  if (typeof sub !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(sub)) return null;
  return {
    user_id: sub,
    email: typeof email === 'string' && email !== '' ? email.toLowerCase() : null,
    is_admin: role === 'admin',
  };
}
