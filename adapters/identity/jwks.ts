// Tokens of an identity provider, verified against the keys that it publishes.
import { createRemoteJWKSet } from 'jose';
import type { Identity } from '../../http/identity.ts';
import { openVerifier } from './tokens.ts';

/** A fetch of the keys that takes longer has failed. */
const FETCH_MS = 5000;

/** Keys are kept for ten minutes; a key that is not among them is looked for at most every 30 seconds. */
export function openJwksIdentity(options: { jwks_url: string; issuer: string; audience: string }): Identity {
  const { jwks_url, issuer, audience } = options;
  const keys = createRemoteJWKSet(new URL(jwks_url), { timeoutDuration: FETCH_MS, cooldownDuration: 30_000 });
  return openVerifier(keys, { issuer, audience });
}
