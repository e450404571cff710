// A cookie that no script can read and nobody can change: claims signed by a key of the service.
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { derivedKey } from '../../events/derived-key.ts';

export type SignedCookie = ReturnType<typeof openSignedCookie>;

const ALGORITHM = 'HS256';

export interface SignedCookieOptions {
  /** Part of the cookie's name, and of its key: a cookie of one kind is never taken for another. */
  name: 'session' | 'sign-in';
  /** The same on all machines. */
  secret: Uint8Array;
  path: string;
  /** `Lax` where a page of another site leads here. */
  same_site: 'Strict' | 'Lax';
  /** Whether clients reach the service only by https. */
  https: boolean;
}

export function openSignedCookie({ name: plain, secret, path, same_site, https }: SignedCookieOptions) {
  const key = derivedKey(secret, `cookie ${plain}`);
  // No other host, not even a subdomain's, can set a cookie with the first prefix: nobody puts a session of theirs in its place.
  const name = https ? `${path === '/' ? '__Host-' : '__Secure-'}${plain}` : plain;
  const cookie = (value: string, lasts_s: number) =>
    `${name}=${value}; Path=${path}; Max-Age=${lasts_s}; HttpOnly; SameSite=${same_site}${https ? '; Secure' : ''}`;
  return {
    /** The value for `Set-Cookie`. `lasts_s`: seconds. */
    async made(claims: JWTPayload, lasts_s: number, now: number): Promise<string> {
      const expires_s = Math.floor(now / 1000) + lasts_s;
      const token = new SignJWT(claims).setProtectedHeader({ alg: ALGORITHM }).setExpirationTime(expires_s);
      return cookie(await token.sign(key), lasts_s);
    },
    /** The claims; null for no cookie, a changed one and an old one. `cookies`: the header of a request. */
    async read(cookies: string): Promise<JWTPayload | null> {
      const value = valueIn(cookies, name);
      if (value === undefined) return null;
      try {
        return (await jwtVerify(value, key, { algorithms: [ALGORITHM], requiredClaims: ['exp'] })).payload;
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    },
    /** The value for `Set-Cookie` that removes it. */
    removed: cookie('', 0),
  };
}

function valueIn(cookies: string, name: string): string | undefined {
  const found = cookies.split('; ').find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}
