// A provider that answers the console's sign-in with anything but the truth signs nobody in.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { openJwksIdentity } from '../../../adapters/identity/jwks.ts';
import { openProvider } from '../../../adapters/identity/provider.ts';
import type { PendingSignIn, SignInProvider } from '../../../http/callers/identity.ts';
import { freePort } from '../../support/free-port.ts';

const CLIENT = { client_id: 'console', client_secret: 'secret', scope: 'openid' };
const AUDIENCE = 'url-checker';
const BACK = 'http://127.0.0.1:9/return';
const keys = await generateKeyPair('ES256', { extractable: true });
const stranger = await generateKeyPair('ES256');

interface World {
  provider: SignInProvider;
  issuer: string;
  /** What the token endpoint answers. */
  answers: { status: number; body: unknown };
}
let world: World;
const server = createServer();

test.before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answers: World['answers'] = { status: 200, body: {} };
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  server.on('request', (request, response) => {
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        ...{ issuer, jwks_uri: `${issuer}/jwks`, token_endpoint: `${issuer}/token` },
        ...{ authorization_endpoint: `${issuer}/auth`, response_types_supported: ['code'] },
        ...{ subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['ES256'] },
      },
      '/jwks': { keys: [jwk] },
    };
    const document = documents[request.url!];
    response.writeHead(document ? 200 : answers.status, { 'content-type': 'application/json' });
    const body = document ?? answers.body;
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  const identity = openJwksIdentity({ jwks_url: `${issuer}/jwks`, issuer, audience: AUDIENCE });
  world = { provider: openProvider({ issuer, audience: AUDIENCE, ...CLIENT }, identity), issuer, answers };
});
test.after.always(() => void server.close());

type Key = typeof keys.privateKey;
const signed = (claims: JWTPayload, key: Key = keys.privateKey, alg = 'ES256') =>
  new SignJWT(claims).setProtectedHeader({ alg, kid: 'one' }).sign(key);
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const idClaims = ({ nonce }: PendingSignIn, more: JWTPayload = {}): JWTPayload => ({
  ...{ iss: world.issuer, aud: CLIENT.client_id, sub: 'mallory', iat: inAnHour() - 3600, exp: inAnHour(), nonce },
  ...more,
});
const accessClaims = (more: JWTPayload = {}): JWTPayload => ({
  ...{ iss: world.issuer, aud: AUDIENCE, sub: 'mallory', email: 'mallory@example.com', exp: inAnHour() },
  ...more,
});

interface Told {
  id_token?: string;
  access_token?: string;
  status?: number;
  body?: unknown;
  returned?: Record<string, string>;
}

/** A sign-in in which the provider tells this besides the truth. */
async function signIn(tell: (pending: PendingSignIn) => Promise<Told>) {
  const { pending } = await world.provider.begin(BACK);
  const { status = 200, body, returned = {}, ...tokens } = await tell(pending);
  const truth = {
    ...{ token_type: 'bearer', access_token: await signed(accessClaims()) },
    id_token: await signed(idClaims(pending)),
  };
  Object.assign(world.answers, { status, body: body ?? { ...truth, ...tokens } });
  const query = new URLSearchParams({ code: 'any', state: pending.state, ...returned });
  return await world.provider.finish(new URL(`${BACK}?${query}`), pending);
}

const LIES: Record<string, (pending: PendingSignIn) => Promise<Told>> = {
  'another nonce': async (pending) => ({ id_token: await signed(idClaims(pending, { nonce: 'another' })) }),
  'no nonce': async (pending) => ({ id_token: await signed({ ...idClaims(pending), nonce: undefined }) }),
  'no ID token': async () => ({ id_token: undefined }),
  'an ID token of another issuer': async (pending) => ({
    id_token: await signed(idClaims(pending, { iss: 'https://evil.example' })),
  }),
  'an ID token for another client': async (pending) => ({
    id_token: await signed(idClaims(pending, { aud: 'other' })),
  }),
  'an old ID token': async (pending) => ({ id_token: await signed(idClaims(pending, { exp: 1 })) }),
  'an ID token without a signature': async (pending) => ({ id_token: new UnsecuredJWT(idClaims(pending)).encode() }),
  'another state': async () => ({ returned: { state: 'another' } }),
  'another issuer in the address': async () => ({ returned: { iss: 'https://evil.example' } }),
  'an error': async () => ({ returned: { error: 'access_denied' } }),
  'an access token without a signature': async () => ({ access_token: new UnsecuredJWT(accessClaims()).encode() }),
  'an access token with another signature': async () => ({
    access_token: await signed(accessClaims(), stranger.privateKey),
  }),
  'an access token of another issuer': async () => ({ access_token: await signed(accessClaims({ iss: 'other' })) }),
  'an access token for another service': async () => ({ access_token: await signed(accessClaims({ aud: 'other' })) }),
  'an access token without an audience': async () => ({ access_token: await signed(accessClaims({ aud: undefined })) }),
  'an old access token': async () => ({ access_token: await signed(accessClaims({ exp: 1 })) }),
  'an access token that is none': async () => ({ access_token: 'opaque' }),
  'a user id that names no stream': async () => ({ access_token: await signed(accessClaims({ sub: 'a b\n' })) }),
  'a refusal': async () => ({
    status: 400,
    body: { error: 'invalid_grant', error_description: 'the client is unknown' },
  }),
  'an endless refusal': async () => ({ status: 400, body: { error: 'x', error_description: 'long '.repeat(10_000) } }),
};

/** What the operator reads in the log. */
const REASONS: Record<string, RegExp> = {
  'an error': /access_denied/,
  'a refusal': /invalid_grant: the client is unknown$/,
  'an access token of another issuer': /issuer other, and IDENTITY_ISSUER is http:\/\/127/,
  'an access token for another service': /audience other, and IDENTITY_AUDIENCE is url-checker$/,
  'an access token without an audience': /audience null,/,
  'an access token that is none': /is not a JWT$/,
  'an access token without a signature': /signed with none,/,
  'an endless refusal': /^.{500}$/,
};

for (const [what, tell] of Object.entries(LIES)) {
  test.serial(`${what} signs nobody in`, async (t) => t.true('refused' in (await signIn(tell))));
}

test.serial('the operator is told why a sign-in failed', async (t) => {
  for (const [what, reason] of Object.entries(REASONS)) {
    const signed_in = await signIn(LIES[what]!);
    t.regex('refused' in signed_in ? signed_in.refused : '', reason, what);
  }
});

test.serial('the truth signs in, and an address that is not verified is none', async (t) => {
  const user = { user_id: 'mallory', is_admin: false };
  t.like(await signIn(async () => ({})), { user: { ...user, email: 'mallory@example.com' } });
  const access_token = await signed(accessClaims({ email: 'alice@example.com', email_verified: false }));
  t.like(await signIn(async () => ({ access_token })), { user: { ...user, email: null } });
});

test.serial('a provider that fails, or does not answer at all, is away', async (t) => {
  const away = { code: 'unavailable' };
  for (const body of ['<html>', '', '[]'])
    await t.throwsAsync(
      signIn(async () => ({ status: 502, body })),
      away,
      `a 502 with "${body}"`,
    );
  const issuer = `http://127.0.0.1:${await freePort()}`;
  const nobody = openProvider({ issuer, audience: AUDIENCE, ...CLIENT }, { verify: async () => null });
  await t.throwsAsync(nobody.begin(BACK), away);
});
