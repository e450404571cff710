// The local issuer of one machine: a key of its own in the data folder, and tokens signed with it.
import { randomUUID } from 'node:crypto';
import { createLocalJWKSet, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import type { Identified, Identity } from '../../http/callers/identity.ts';
import { keyPath, readKeyFile } from './key-file.ts';
import { openVerifier } from './tokens.ts';

const LOCAL = { issuer: 'url-checker-local', audience: 'url-checker' };
const ALGORITHM = 'EdDSA';

export async function openLocalIdentity(data_dir: string): Promise<Identity> {
  const { kty, crv, x, kid, alg } = await signingKey(data_dir);
  // Verifying needs only the public half.
  const keys = createLocalJWKSet({ keys: [{ kty: kty!, crv, x, kid, alg, use: 'sig' } as JWK & { kty: string }] });
  return openVerifier(keys, LOCAL);
}

/**
 * Signs a token with the key of this data folder, valid from now for `hours`.
 * @example await issueLocalToken('.data', { user_id: 'u1', email: null, is_admin: false, hours: 1 })
 */
export async function issueLocalToken(data_dir: string, of: Identified & { hours: number }): Promise<string> {
  const jwk = await signingKey(data_dir);
  const claims = { ...(of.email === null ? {} : { email: of.email }), ...(of.is_admin ? { role: 'admin' } : {}) };
  const now_s = Math.floor(Date.now() / 1000);
  return await new SignJWT(claims)
    .setProtectedHeader({ alg: ALGORITHM, kid: jwk.kid! })
    .setIssuer(LOCAL.issuer)
    .setAudience(LOCAL.audience)
    .setSubject(of.user_id)
    .setIssuedAt(now_s)
    .setExpirationTime(now_s + Math.round(of.hours * 3600))
    .sign(await importJWK(jwk, ALGORITHM));
}

/** Reads this folder's signing key, or makes one. */
async function signingKey(data_dir: string): Promise<JWK> {
  const path = keyPath(data_dir, 'signing-key.json');
  const key = JSON.parse(String(await readKeyFile(path, newKey))) as JWK;
  if (key.kty !== 'OKP' || !key.d || !key.x || !key.kid) throw new Error(`${path} holds no signing key: remove it`);
  return key;
}

async function newKey(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true });
  return JSON.stringify({ ...(await exportJWK(privateKey)), kid: randomUUID(), alg: ALGORITHM });
}
