// What makes a token good, whoever issued it: a pinned algorithm, the issuer, the audience, the time and the claims.
import { hash } from 'node:crypto';
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Identified, Identity } from '../../http/identity.ts';

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

/** A signature costs more than all else of a small request: one that was verified is not verified again for so long. */
const REMEMBER_MS = 30_000;
const MAX_REMEMBERED = 10_000;

interface Verified {
  who: Identified;
  expires_ms: number;
}

export function openVerifier(keys: JWTVerifyGetKey, from: { issuer: string; audience: string }): Identity {
  /** By the hash of the token: tokens are not kept. */
  const remembered = new LRUCache<string, Verified>({ max: MAX_REMEMBERED, ttl: REMEMBER_MS });
  return {
    async verify(token) {
      if (token.length > MAX_TOKEN_CHARS) return null;
      const key = hash('sha256', token, 'base64');
      const before = remembered.get(key);
      if (before) return Date.now() < before.expires_ms ? before.who : null;
      const verified = await verifyToken(token, keys, from);
      if (!verified) return null;
      remembered.set(key, verified);
      return verified.who;
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
    const who = identified(payload);
    return who && { who, expires_ms: (payload.exp! + CLOCK_TOLERANCE_S) * 1000 };
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
