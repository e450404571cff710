// Tokens of an identity provider, verified against the keys that it publishes.
import { createLocalJWKSet, createRemoteJWKSet, type JWTVerifyGetKey } from 'jose';
import type { Identity } from '../../http/callers/identity.ts';
import { type Claims, USUAL_CLAIMS } from './claims.ts';
import { isRefusal, openVerifier } from './tokens.ts';

/** Time limit of one fetch of the keys. */
const FETCH_MS = 5000;
const COOLDOWN_MS = 30_000;
const CACHE_MS = 600_000;
/** While the provider is away, tokens are verified with its last keys for this long; a key that it has revoked counts as long. */
const STALE_MS = 3_600_000;
/** After a failed fetch, the last keys answer for this long before the next fetch, so that no request waits for a silent provider. */
const RETRY_MS = 10_000;

export interface JwksOptions {
  jwks_url: string;
  issuer: string;
  audience: string;
  claims?: Claims;
  /** For tests: other times than the usual ones. */
  times?: Partial<Times>;
}

interface Times {
  cooldown_ms: number;
  cache_ms: number;
  stale_ms: number;
  retry_ms: number;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

const USUAL_TIMES: Times = {
  cooldown_ms: COOLDOWN_MS,
  cache_ms: CACHE_MS,
  stale_ms: STALE_MS,
  retry_ms: RETRY_MS,
  monotonic: () => performance.now(),
};

/**
 * Opens an identity that verifies tokens against a provider's JWKS. It caches the keys for ten minutes and fetches them
 * again for an unknown key id at most every 30 seconds. `verify` throws `IdentityUnavailable` when a fetch fails and the keys of the
 * last hour do not have the token's key.
 */
export function openJwksIdentity({ claims = USUAL_CLAIMS, ...options }: JwksOptions): Identity {
  const { jwks_url, issuer, audience } = options;
  const times = { ...USUAL_TIMES, ...options.times };
  const verifier = openVerifier(openKeys(new URL(jwks_url), times), { issuer, audience }, claims);
  return { ...verifier, reach: (signal) => reachKeys(jwks_url, signal) };
}

async function reachKeys(jwks_url: string, signal: AbortSignal): Promise<number> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]);
  const response = await fetch(jwks_url, { signal: limited, redirect: 'manual' });
  await response.body?.cancel();
  return response.status;
}

function openKeys(url: URL, { cooldown_ms, cache_ms, stale_ms, retry_ms, monotonic }: Times): JWTVerifyGetKey {
  const remote = createRemoteJWKSet(url, {
    timeoutDuration: FETCH_MS,
    cooldownDuration: cooldown_ms,
    cacheMaxAge: cache_ms,
  });
  let fetched_at = Number.NEGATIVE_INFINITY;
  let failure: { at: number; error: unknown } | null = null;

  /** Throws the failure of the fetch for a key that the last keys lack: it may be a new one. */
  async function lastKey(error: unknown, ...token: Parameters<JWTVerifyGetKey>) {
    const jwks = remote.jwks();
    if (!jwks || monotonic() - fetched_at > stale_ms) throw error;
    return await createLocalJWKSet(jwks)(...token).catch(() => {
      throw error;
    });
  }
  return async (...token) => {
    if (failure && monotonic() - failure.at < retry_ms) return await lastKey(failure.error, ...token);
    const was_fresh = remote.fresh;
    try {
      const key = await remote(...token);
      if (!was_fresh || fetched_at === Number.NEGATIVE_INFINITY) fetched_at = monotonic();
      failure = null;
      return key;
    } catch (error) {
      if (isRefusal(error)) throw error;
      // Without any key there is nothing to fall back to: each token tries again.
      failure = remote.jwks() ? { at: monotonic(), error } : null;
      return await lastKey(error, ...token);
    }
  };
}
