// Verifies a JWT: its algorithm, signature, issuer, audience, lifetime and claims.
import { hash } from 'node:crypto';
import { errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Identified, Identity } from '../../http/callers/identity.ts';
import { type Claims, identified, USUAL_CLAIMS } from './claims.ts';

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

export const isRefusal = (error: unknown): boolean => REFUSALS.some((refusal) => error instanceof refusal);

export class IdentityUnavailable extends Error {
  readonly code = 'unavailable';
  readonly dependency = 'identity provider';
}

/** Lifetime of a cached verification: checking a signature costs more than the rest of a small request. */
const CACHE_MS = 30_000;
const MAX_CACHED = 10_000;

interface Verified {
  caller: Identified;
  expires_ms: number;
}

interface From {
  issuer: string;
  audience: string;
}

export function openVerifier(keys: JWTVerifyGetKey, from: From, claims: Claims = USUAL_CLAIMS): Identity {
  /** Keyed by the token's hash, so that no token stays in memory. */
  const cache = new LRUCache<string, Verified>({ max: MAX_CACHED, ttl: CACHE_MS });
  const keyOf = (token: string) => hash('sha256', token, 'base64');
  return {
    async verify(token) {
      if (token.length > MAX_TOKEN_CHARS) return null;
      const key = keyOf(token);
      const cached = cache.get(key);
      if (cached) return Date.now() < cached.expires_ms ? cached.caller : null;
      const verified = await verifyToken(token, keys, from, claims);
      if (!verified) return null;
      cache.set(key, verified);
      return verified.caller;
    },
    verifiedUntil(token) {
      const key = keyOf(token);
      const expires_ms = cache.peek(key)?.expires_ms ?? 0;
      return Math.min(expires_ms, Date.now() + cache.getRemainingTTL(key));
    },
  };
}

async function verifyToken(token: string, keys: JWTVerifyGetKey, from: From, claims: Claims): Promise<Verified | null> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      ...from,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_S,
      requiredClaims: ['exp'],
    });
    const caller = identified(payload, claims);
    return caller && { caller, expires_ms: (payload.exp! + CLOCK_TOLERANCE_S) * 1000 };
  } catch (cause) {
    if (isRefusal(cause)) return null;
    throw new IdentityUnavailable('the keys of the identity provider cannot be read', { cause });
  }
}
