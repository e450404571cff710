import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { openIdentity } from '../../../adapters/identity/index.ts';

const FROM = { issuer: 'https://id.example/', audience: 'url-checker' };

/** An identity provider that publishes these keys, and counts how often it is asked. */
async function provider(t: { teardown(fn: () => void): void }, answer: () => { status?: number; body: string }) {
  let asked = 0;
  const server: Server = createServer((_request, response) => {
    asked++;
    const { status = 200, body } = answer();
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const jwks_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  return { identity: await openIdentity({ jwks_url, ...FROM }), asked: () => asked, jwks_url };
}

async function key(alg: string, kid: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
  const token = (claims: object = {}, from = FROM) =>
    new SignJWT({ email: 'a@example.com', ...claims })
      .setProtectedHeader({ alg, kid })
      .setIssuer(from.issuer)
      .setAudience(from.audience)
      .setSubject('user_2f1c')
      .setExpirationTime('1h')
      .sign(privateKey);
  return { jwk, token };
}
const published = (...keys: JWK[]) => ({ body: JSON.stringify({ keys }) });

for (const alg of ['RS256', 'ES256', 'EdDSA']) {
  test(`the verifier accepts a token that is signed with ${alg}`, async (t) => {
    const { jwk, token } = await key(alg, 'k1');
    const { identity } = await provider(t, () => published(jwk));
    t.deepEqual(await identity.verify(await token()), {
      user_id: 'user_2f1c',
      email: 'a@example.com',
      is_admin: false,
    });
    t.like(await identity.verify(await token({ role: 'admin' })), { is_admin: true });
  });
}

test('the verifier refuses algorithms that are not pinned, even with a key of the provider', async (t) => {
  const { jwk, token } = await key('PS512', 'k1');
  const { identity } = await provider(t, () => published(jwk));
  t.is(await identity.verify(await token()), null);
});

test('only the claim admin makes an administrator', async (t) => {
  const { jwk, token } = await key('ES256', 'k1');
  const { identity } = await provider(t, () => published(jwk));
  for (const role of ['Admin', 'administrator', ['Admin'], [['admin']], true, { admin: true }]) {
    t.like(await identity.verify(await token({ role })), { is_admin: false });
  }
  t.like(await identity.verify(await token({ role: ['editor', 'admin'] })), { is_admin: true });
});

test('a token of another tenant of the same provider is refused', async (t) => {
  const { jwk, token } = await key('ES256', 'k1');
  const { identity } = await provider(t, () => published(jwk));
  t.is(await identity.verify(await token({}, { ...FROM, audience: 'other' })), null);
  t.is(await identity.verify(await token({}, { ...FROM, issuer: 'https://evil.example/' })), null);
});

test('the verifier fetches keys once, and unknown key ids cause few fetches', async (t) => {
  const [known, unknown] = [await key('ES256', 'k1'), await key('ES256', 'k2')];
  const { identity, asked } = await provider(t, () => published(known.jwk));
  t.truthy(await identity.verify(await known.token()));
  for (let i = 0; i < 10; i++) t.is(await identity.verify(await unknown.token()), null);
  t.true(asked() <= 2, String(asked()));
});

test('absent keys do not make a token invalid', async (t) => {
  const { jwk, token } = await key('ES256', 'k1');
  let answer: { status?: number; body: string } = { status: 500, body: 'oops' };
  const { identity } = await provider(t, () => answer);
  await t.throwsAsync(async () => identity.verify(await token()), { code: 'unavailable' });
  answer = { body: '<html>' };
  await t.throwsAsync(async () => identity.verify(await token()), { code: 'unavailable' });
  answer = published(jwk);
  t.truthy(await identity.verify(await token()));
});

test('an absent provider makes the verifier unavailable', async (t) => {
  const { token } = await key('ES256', 'k1');
  const identity = await openIdentity({ jwks_url: 'http://127.0.0.1:1/jwks', ...FROM });
  await t.throwsAsync(async () => identity.verify(await token()), { code: 'unavailable' });
});

test('an address that the provider has not verified is none', async (t) => {
  const { jwk, token } = await key('ES256', 'k1');
  const { identity } = await provider(t, () => published(jwk));
  t.like(await identity.verify(await token({ email_verified: false })), { email: null });
  t.like(await identity.verify(await token({ email_verified: true })), { email: 'a@example.com' });
});

test('settings name the claims of the user, the address and the administrator', async (t) => {
  const { jwk, token } = await key('ES256', 'k1');
  const { jwks_url } = await provider(t, () => published(jwk));
  const claims = {
    ...{ user: 'https://example.com/id', email: 'profile.mail', admin: 'realm_access.roles', admin_value: 'boss' },
  };
  const identity = await openIdentity({ jwks_url, ...FROM, claims });
  const given = {
    ...{ 'https://example.com/id': 'u-1', profile: { mail: 'U@Example.com' }, realm_access: { roles: ['boss'] } },
  };
  t.deepEqual(await identity.verify(await token(given)), { user_id: 'u-1', email: 'u@example.com', is_admin: true });
  t.is(await identity.verify(await token({ ...given, 'https://example.com/id': 7 })), null);
  const others = { ...given, profile: null, realm_access: { roles: 'boss of none' } };
  t.deepEqual(await identity.verify(await token(others)), { user_id: 'u-1', email: null, is_admin: false });
  t.is(await identity.verify(await token({ __proto__: { 'https://example.com/id': 'u-1' } })), null);
});
