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
  // The public half alone verifies.
  const keys = createLocalJWKSet({ keys: [{ kty: kty!, crv, x, kid, alg, use: 'sig' } as JWK & { kty: string }] });
  return openVerifier(keys, LOCAL);
}

/** A token that the local issuer of this data folder vouches for, from now on for so many hours. */
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
 * The key of this folder. Processes that start at once each make one, and `link` lets exactly one of them be the key:
 * it fails when the file is there, and what it puts there is whole.
 */
async function signingKey(data_dir: string): Promise<JWK> {
  const folder = join(data_dir, 'identity');
  const path = join(folder, 'signing-key.json');
  const kept = await readKey(path);
  if (kept) return kept;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `${randomUUID()}.new`);
  try {
    await writeFile(draft, JSON.stringify(await newKey()), { mode: 0o600, flag: 'wx' });
    await link(draft, path).catch(unless('EEXIST'));
  } finally {
    await rm(draft, { force: true });
  }
  const made = await readKey(path);
  if (!made) throw new Error(`${path} was made and is gone`);
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

/** Takes an error of the file system as undefined when it has this code, and throws any other. */
function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
