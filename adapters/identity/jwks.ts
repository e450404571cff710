// Tokens of an identity provider, verified against the keys that it publishes.
import { createRemoteJWKSet } from 'jose';
import type { Identity } from '../../http/identity.ts';
import { openVerifier } from './tokens.ts';

/** Time limit of one fetch of the keys. */
const FETCH_MS = 5000;

/**
 * Opens an identity that verifies tokens against a provider's JWKS. It caches the keys for ten minutes and fetches them
 * again for an unknown key id at most every 30 seconds. `verify` throws `IdentityUnavailable` when a fetch fails.
 */
export function openJwksIdentity(options: { jwks_url: string; issuer: string; audience: string }): Identity {
  const { jwks_url, issuer, audience } = options;
  const keys = createRemoteJWKSet(new URL(jwks_url), { timeoutDuration: FETCH_MS, cooldownDuration: 30_000 });
  return openVerifier(keys, { issuer, audience });
}
