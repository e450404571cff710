// Tokens of a real OpenID provider: a sign-in, forgeries with its published key, a rotation, and an absence.
import test from 'ava';
import { decodeJwt, importJWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { openIdentity } from '../../../adapters/identity/index.ts';
import { openJwksIdentity } from '../../../adapters/identity/jwks.ts';
import { AUDIENCE, CLIENT, startProvider, type TestProvider } from '../../support/identity-provider.ts';

let provider: TestProvider;
test.before(async () => void (provider = await startProvider()));
test.after.always(() => provider.stop());

const DAY_MS = 86_400_000;

/** `now.ms`: the monotonic clock by which fetches of the keys are retried. */
function identityOf({ issuer, jwks_url }: TestProvider, times: { cooldown_ms?: number; cache_ms?: number } = {}) {
  const now = { ms: 0 };
  const options = { jwks_url, issuer, audience: AUDIENCE, times: { ...times, monotonic: () => now.ms } };
  return { ...openJwksIdentity(options), now };
}

test('a user who signs in gets a token that the service takes', async (t) => {
  const identity = identityOf(provider);
  const user = { user_id: 'alice', email: 'alice@example.com', is_admin: false };
  t.deepEqual(await identity.verify(await provider.signIn('alice')), user);
  t.like(await identity.verify(await provider.signIn('root', { role: 'admin' })), { is_admin: true });
});

test('the service refuses forged, expired and foreign tokens', async (t) => {
  const identity = identityOf(provider);
  const token = await provider.signIn('mallory');
  const [jwk] = provider.keys();
  const [kid, good] = [jwk!.kid!, decodeJwt(token)];
  const signed = async (claims: JWTPayload, header: object = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(await importJWK(jwk!, 'RS256'));
  t.truthy(await identity.verify(await signed(good)), 'the forger signs as the provider does');

  const admin = { ...good, role: 'admin' };
  const published = (await (await fetch(provider.jwks_url)).json()) as { keys: Record<string, string>[] };
  const modulus = Buffer.from(published.keys[0]!.n!, 'base64url');
  const hs256 = (key: Uint8Array) => new SignJWT(admin).setProtectedHeader({ alg: 'HS256', kid }).sign(key);
  const [header, , signature] = token.split('.');
  const now_s = Math.floor(Date.now() / 1000);
  const forged = {
    'alg: none': new UnsecuredJWT(admin).encode(),
    'HS256 with the public key': await hs256(Buffer.from(JSON.stringify(published.keys[0]))),
    'HS256 with the modulus': await hs256(modulus),
    'other claims under a good signature': `${header}.${Buffer.from(JSON.stringify(admin)).toString('base64url')}.${signature}`,
    'no signature': `${token.split('.').slice(0, 2).join('.')}.`,
    expired: await signed({ ...good, exp: now_s - 60 }),
    'not valid yet': await signed({ ...good, nbf: now_s + 60 }),
    'without an expiry': await signed({ ...good, exp: undefined } as JWTPayload),
    'another audience': await signed({ ...good, aud: 'another-service' }),
    'no audience': await signed({ ...good, aud: undefined } as JWTPayload),
    'another issuer': await signed({ ...good, iss: 'https://id.example/' }),
    'an unknown key': await signed(good, { kid: 'another' }),
  };
  for (const [name, one] of Object.entries(forged)) t.is(await identity.verify(one), null, name);
});

test('clocks may differ by a few seconds', async (t) => {
  const identity = identityOf(provider);
  const [jwk] = provider.keys();
  const good = decodeJwt(await provider.signIn('alice'));
  const key = await importJWK(jwk!, 'RS256');
  const signed = (claims: JWTPayload) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: jwk!.kid! }).sign(key);
  const now_s = Math.floor(Date.now() / 1000);
  t.truthy(await identity.verify(await signed({ ...good, nbf: now_s + 2 })));
});

test('after a rotation the service takes the new key, and no longer the old one', async (t) => {
  const rotating = await startProvider('ES256');
  t.teardown(rotating.stop);
  const identity = identityOf(rotating, { cooldown_ms: 0 });
  const old_token = await rotating.signIn('alice');
  const other_old = await rotating.signIn('bob');
  t.truthy(await identity.verify(old_token));
  await rotating.rotate();
  t.like(await identity.verify(await rotating.signIn('carol')), { user_id: 'carol' });
  t.is(await identity.verify(other_old), null, 'its key is gone');
});

test('while the provider is away, its last keys answer for an hour', async (t) => {
  const leaving = await startProvider();
  t.teardown(() => leaving.stop().catch(() => {}));
  // The keys are old at once, so that each token asks for them.
  const identity = identityOf(leaving, { cache_ms: 0, cooldown_ms: 0 });
  const tokens = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((user_id) => leaving.signIn(user_id)));
  const old_key = leaving.keys();
  t.like(await identity.verify(tokens[0]!), { user_id: 'a' });
  await leaving.stop();
  t.like(await identity.verify(tokens[1]!), { user_id: 'b' });

  const [jwk] = old_key;
  const unknown = await new SignJWT(decodeJwt(tokens[2]!))
    .setProtectedHeader({ alg: 'RS256', kid: 'new-key' })
    .sign(await importJWK(jwk!, 'RS256'));
  await t.throwsAsync(async () => identity.verify(unknown), { code: 'unavailable' }, 'it may be a new key');

  identity.now.ms = DAY_MS;
  await t.throwsAsync(async () => identity.verify(tokens[3]!), { code: 'unavailable' }, 'the keys are too old');
  await leaving.start();
  identity.now.ms = 2 * DAY_MS;
  t.like(await identity.verify(tokens[4]!), { user_id: 'e' });
});

test('a service that starts before its provider takes tokens as soon as it is there', async (t) => {
  const late = await startProvider();
  t.teardown(() => late.stop().catch(() => {}));
  const token = await late.signIn('alice');
  await late.stop();
  const identity = identityOf(late);
  await t.throwsAsync(async () => identity.verify(token), { code: 'unavailable' });
  await late.start();
  t.like(await identity.verify(token), { user_id: 'alice' });
});

test('a provider that is away, answers rubbish or is another one cannot be asked, and is asked again', async (t) => {
  const leaving = await startProvider('ES256');
  t.teardown(() => leaving.stop().catch(() => {}));
  const { issuer, jwks_url } = leaving;
  const identityAt = (at: string) =>
    openIdentity({ jwks_url, issuer: at, audience: AUDIENCE, client: { ...CLIENT, scope: 'openid' } });
  const { provider: client } = await identityAt(issuer);
  const { provider: other } = await identityAt(`${issuer}/other`);
  const begin = async (of = client) => await of!.begin('http://127.0.0.1:9/signed-in');
  await t.throwsAsync(async () => begin(other), { code: 'unavailable' });
  await leaving.stop();
  await t.throwsAsync(async () => begin(), { code: 'unavailable' });
  await leaving.start();
  const { url, pending } = await begin();
  t.true(url.startsWith(issuer));
  const returned = new URL(
    `http://127.0.0.1:9/signed-in?${new URLSearchParams({ code: 'x', iss: issuer, state: pending.state })}`,
  );
  t.true('refused' in (await client!.finish(returned, pending)), 'the provider knows no such code');
  await leaving.stop();
  await t.throwsAsync(async () => client!.finish(returned, pending), { code: 'unavailable' });
});
