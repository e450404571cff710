// The local issuer of one machine: a key of its own in the data folder, and tokens signed with it.
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLocalJWKSet, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import type { Identified, Identity } from '../../http/identity.ts';
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

/**
 * Reads this folder's signing key, or makes one. Processes that start at once each write a draft; `link` publishes exactly
 * one of the drafts, because it fails when the file exists.
 */
async function signingKey(data_dir: string): Promise<JWK> {
  const folder = join(data_dir, 'identity');
  const path = join(folder, 'signing-key.json');
  const existing = await readKey(path);
  if (existing) return existing;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `${randomUUID()}.new`);
  try {
    await writeFile(draft, JSON.stringify(await newKey()), { mode: 0o600, flag: 'wx' });
    await link(draft, path).catch(unless('EEXIST'));
  } finally {
    await rm(draft, { force: true });
  }
  const made = await readKey(path);
  if (!made) throw new Error(`${path} disappeared after it was written`);
  return made;
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true });
  return { ...(await exportJWK(privateKey)), kid: randomUUID(), alg: ALGORITHM };
}

async function readKey(path: string): Promise<JWK | null> {
  const text = await readFile(path, 'utf8').catch(unless('ENOENT'));
  if (text === undefined) return null;
  const key = JSON.parse(text) as JWK;
  if (key.kty !== 'OKP' || !key.d || !key.x || !key.kid) throw new Error(`${path} holds no signing key: remove it`);
  return key;
}

/** Makes an error handler that returns undefined for a file system error with this code and throws any other error. */
function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
