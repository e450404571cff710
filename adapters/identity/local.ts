// The local issuer of one machine: a key of its own in the data folder, and tokens signed with it.
import { randomUUID } from 'node:crypto';
import {
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
  SignJWT,
} from 'jose';
import type { Identified, Identity, SignIn } from '../../http/callers/identity.ts';
import { identified, USUAL_CLAIMS } from './claims.ts';
import { keyPath, readKeyFile } from './key-file.ts';
import { isRefusal, openVerifier } from './tokens.ts';

const LOCAL = { issuer: 'url-checker-local', audience: 'url-checker' };
const ALGORITHM = 'EdDSA';
/** The codes of one-time links are no tokens, and tokens no codes. */
const CODE_AUDIENCE = 'url-checker-sign-in';
/** How long a one-time link is valid, in seconds. */
const CODE_S = 600;

export async function openLocalIdentity(data_dir: string): Promise<Identity> {
  const { kty, crv, x, kid, alg } = await signingKey(data_dir);
  // Verifying needs only the public half.
  const keys = createLocalJWKSet({ keys: [{ kty: kty!, crv, x, kid, alg, use: 'sig' } as JWK & { kty: string }] });
  return {
    ...openVerifier(keys, LOCAL),
    signInBy: (code) => openCode(code, keys),
  };
}

async function openCode(code: string, keys: JWTVerifyGetKey): Promise<SignIn | null> {
  try {
    const { payload } = await jwtVerify(code, keys, {
      issuer: LOCAL.issuer,
      audience: CODE_AUDIENCE,
      algorithms: [ALGORITHM],
      requiredClaims: ['exp', 'jti'],
    });
    const user = identified(payload, USUAL_CLAIMS);
    return user && { id: payload.jti!, user, lasts_s: Number(payload.session_s) };
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/**
 * Signs a token with the key of this data folder, valid from now for `hours`.
 * @example await issueLocalToken('.data', { user_id: 'u1', email: null, is_admin: false, hours: 1 })
 */
export async function issueLocalToken(data_dir: string, of: Identified & { hours: number }): Promise<string> {
  const lifetime_s = Math.round(of.hours * 3600);
  return await signed(data_dir, claimsOf(of), { audience: LOCAL.audience, subject: of.user_id, lifetime_s });
}

/**
 * Signs the code of a one-time link, which the console takes for a session of `hours`.
 * @example await issueLocalCode('.data', { user_id: 'u1', email: null, is_admin: false, hours: 1 })
 */
export async function issueLocalCode(data_dir: string, of: Identified & { hours: number }): Promise<string> {
  const claims = { ...claimsOf(of), session_s: Math.round(of.hours * 3600) };
  return await signed(data_dir, claims, { audience: CODE_AUDIENCE, subject: of.user_id, lifetime_s: CODE_S });
}

const claimsOf = ({ email, name, is_admin }: Identified) => ({
  ...(email !== null && { email }),
  ...(name && { name }),
  ...(is_admin && { role: 'admin' }),
});

async function signed(
  data_dir: string,
  claims: JWTPayload,
  { audience, subject, lifetime_s }: { audience: string; subject: string; lifetime_s: number },
): Promise<string> {
  const jwk = await signingKey(data_dir);
  const now_s = Math.floor(Date.now() / 1000);
  return await new SignJWT(claims)
    .setProtectedHeader({ alg: ALGORITHM, kid: jwk.kid! })
    .setIssuer(LOCAL.issuer)
    .setAudience(audience)
    .setSubject(subject)
    .setJti(randomUUID())
    .setIssuedAt(now_s)
    .setExpirationTime(now_s + lifetime_s)
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
