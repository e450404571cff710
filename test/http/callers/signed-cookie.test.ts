// The cookies that the service signs: whom browsers send them to, and which ones it believes.
import test from 'ava';
import { SignJWT, UnsecuredJWT } from 'jose';
import { openSignedCookie, type SignedCookieOptions } from '../../../http/callers/signed-cookie.ts';

const KEY = Buffer.alloc(32, 7);
const open = (more: Partial<SignedCookieOptions> = {}) =>
  openSignedCookie({ name: 'session', secret: KEY, path: '/', same_site: 'Strict', https: true, ...more });
const pairOf = (set_cookie: string) => set_cookie.split(';')[0]!;

test('a cookie belongs to its host alone under https, and to no script anywhere', async (t) => {
  const attributes = 'Max-Age=60; HttpOnly; SameSite=Strict';
  const made = (more: Partial<SignedCookieOptions> = {}) => open(more).made({ sub: 'alice' }, 60, Date.now());
  t.regex(await made(), new RegExp(`^__Host-session=[\\w.-]+; Path=/; ${attributes}; Secure$`));
  t.regex(
    await made({ path: '/below' }),
    new RegExp(`^__Secure-session=[\\w.-]+; Path=/below; ${attributes}; Secure$`),
  );
  t.regex(await made({ https: false }), new RegExp(`^session=[\\w.-]+; Path=/; ${attributes}$`));
  t.is(open().removed, '__Host-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure');
});

test('a cookie is believed whole, in its time, under its name and its key', async (t) => {
  const cookie = open();
  const now = Date.now();
  const pair = pairOf(await cookie.made({ sub: 'alice' }, 60, now));
  t.like(await cookie.read(`other=1; ${pair}; more=2`), { sub: 'alice' });
  const value = pair.slice(pair.indexOf('=') + 1);
  const [head, body, signature] = value.split('.');
  const claims = { sub: 'alice', exp: Math.floor(now / 1000) + 60 };
  const forged = [
    '',
    `x${pair}`,
    `session=${value}`,
    `__Host-session=${head}.${body}.`,
    `__Host-session=${head}.${Buffer.from(JSON.stringify({ ...claims, sub: 'root' })).toString('base64url')}.${signature}`,
    `__Host-session=${new UnsecuredJWT(claims).encode()}`,
    `__Host-session=${await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(KEY)}`,
    pairOf(await cookie.made({ sub: 'alice' }, 60, now - 61_000)),
    pairOf(await open({ name: 'sign-in' }).made({ sub: 'alice' }, 60, now)).replace('sign-in', 'session'),
    pairOf(await open({ secret: Buffer.alloc(32, 8) }).made({ sub: 'alice' }, 60, now)),
  ];
  for (const cookies of forged) t.is(await cookie.read(cookies), null, cookies);
});
