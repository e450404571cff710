import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT, UnsecuredJWT } from 'jose';
import { issueLocalCode, issueLocalToken, openIdentity } from '../../../adapters/identity/index.ts';

const ALICE = { user_id: 'alice', email: 'Alice@Example.com', is_admin: false };

async function folder(t: { teardown(fn: () => Promise<void>): void }): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'identity-'));
  t.teardown(() => rm(made, { recursive: true }));
  return made;
}

test('a token of this folder names its user', async (t) => {
  const local = await folder(t);
  const identity = await openIdentity({ local });
  const token = await issueLocalToken(local, { ...ALICE, hours: 1 });
  t.deepEqual(await identity.verify(token), { ...ALICE, email: 'alice@example.com' });
  const admin = await issueLocalToken(local, { user_id: 'root', email: null, is_admin: true, hours: 1 });
  t.deepEqual(await identity.verify(admin), { user_id: 'root', email: null, is_admin: true });
});

test('a token lasts as long as requested', async (t) => {
  const local = await folder(t);
  const { iat, exp } = decodeJwt(await issueLocalToken(local, { ...ALICE, hours: 1.5 }));
  t.is(exp! - iat!, 5400);
});

test('a token expires also after it was verified', async (t) => {
  const local = await folder(t);
  const identity = await openIdentity({ local });
  // The token has expired; the tolerance for clocks keeps it valid for two seconds at most.
  const token = await issueLocalToken(local, { ...ALICE, hours: -3 / 3600 });
  t.truthy(await identity.verify(token));
  while (await identity.verify(token)) await new Promise((resolve) => setTimeout(resolve, 50));
  t.is(await identity.verify(token), null);
});

test('the key outlives the process, and is for its owner alone', async (t) => {
  const local = await folder(t);
  const token = await issueLocalToken(local, { ...ALICE, hours: 1 });
  const identity = await openIdentity({ local });
  t.truthy(await identity.verify(token));
  t.is((await stat(join(local, 'identity'))).mode & 0o777, 0o700);
  t.is((await stat(join(local, 'identity', 'signing-key.json'))).mode & 0o777, 0o600);
});

test('one of several starting processes makes the key, and all use it', async (t) => {
  const local = await folder(t);
  const tokens = await Promise.all(Array.from({ length: 20 }, () => issueLocalToken(local, { ...ALICE, hours: 1 })));
  t.is(new Set(tokens.map((token) => decodeProtectedHeader(token).kid)).size, 1);
  const identity = await openIdentity({ local });
  for (const token of tokens) t.truthy(await identity.verify(token));
  t.deepEqual(await readdir(join(local, 'identity')), ['signing-key.json']);
});

test('the code of a link signs in within ten minutes; a token is no code, and a code no token', async (t) => {
  const local = await folder(t);
  const identity = await openIdentity({ local });
  const [code, token] = await Promise.all([
    issueLocalCode(local, { ...ALICE, hours: 2 }),
    issueLocalToken(local, { ...ALICE, hours: 2 }),
  ]);
  t.like(await identity.signInBy!(code), { user: { user_id: 'alice' }, lasts_s: 7200 });
  const { iat, exp } = decodeJwt(code);
  t.is(exp! - iat!, 600);
  t.is(await identity.signInBy!(token), null);
  t.is(await identity.verify(code), null);
});

test('a token of another folder is refused', async (t) => {
  const identity = await openIdentity({ local: await folder(t) });
  t.is(await identity.verify(await issueLocalToken(await folder(t), { ...ALICE, hours: 1 })), null);
});

test('the error for a file without a key names it, and the file stays', async (t) => {
  const local = await folder(t);
  await issueLocalToken(local, { ...ALICE, hours: 1 });
  const path = join(local, 'identity', 'signing-key.json');
  await writeFile(path, '{}');
  await t.throwsAsync(() => openIdentity({ local }), { message: `${path} holds no signing key: remove it` });
  t.is(await readFile(path, 'utf8'), '{}');
});

/** A token that has the right signature and one fault. */
async function signed(local: string, change: (token: SignJWT) => SignJWT, header = {}): Promise<string> {
  await issueLocalToken(local, { ...ALICE, hours: 1 });
  const jwk = JSON.parse(await readFile(join(local, 'identity', 'signing-key.json'), 'utf8'));
  const right = new SignJWT({})
    .setProtectedHeader({ alg: 'EdDSA', kid: jwk.kid, ...header })
    .setIssuer('url-checker-local')
    .setAudience('url-checker')
    .setSubject('alice')
    .setExpirationTime('1h');
  return await change(right).sign(await importJWK(jwk, 'EdDSA'));
}

const WRONG: [what: string, token: (local: string) => Promise<string>][] = [
  ['nothing', async () => ''],
  ['text', async () => 'garbage'],
  ['three dots', async () => '...'],
  ['a very long text', async () => 'a'.repeat(100_000)],
  ['an unsigned token', async () => new UnsecuredJWT({ sub: 'alice' }).setExpirationTime('1h').encode()],
  ['an expired token', (local) => issueLocalToken(local, { ...ALICE, hours: -1 })],
  ['another issuer', (local) => signed(local, (token) => token.setIssuer('x'))],
  ['another audience', (local) => signed(local, (token) => token.setAudience('x'))],
  ['a token for later', (local) => signed(local, (token) => token.setNotBefore('1h'))],
  ['an empty user id', (local) => signed(local, (token) => token.setSubject(''))],
  ['a user id with a space', (local) => signed(local, (token) => token.setSubject('a b'))],
  ['a user id that is too long', (local) => signed(local, (token) => token.setSubject('a'.repeat(201)))],
  ['an unknown key id', (local) => signed(local, (token) => token, { kid: 'x' })],
  [
    'a tampered token',
    async (local) => {
      const [header, , signature] = (await signed(local, (token) => token)).split('.');
      const payload = Buffer.from(
        JSON.stringify({ sub: 'root', role: 'admin', iss: 'url-checker-local', aud: 'url-checker', exp: 4e9 }),
      );
      return [header, payload.toString('base64url'), signature].join('.');
    },
  ],
  [
    'a token signed with the public key as a secret',
    async (local) => {
      const { kid, x } = JSON.parse(await readFile(join(local, 'identity', 'signing-key.json'), 'utf8'));
      return await new SignJWT({ sub: 'alice' })
        .setProtectedHeader({ alg: 'HS256', kid })
        .setExpirationTime('1h')
        .sign(Buffer.from(x, 'base64url'));
    },
  ],
  [
    'a token with a key of its own in its header',
    async () => {
      const { publicKey, privateKey } = generateKeyPairSync('ed25519');
      const jwk = publicKey.export({ format: 'jwk' });
      return await new SignJWT({ sub: 'alice' })
        .setProtectedHeader({ alg: 'EdDSA', jwk: jwk as never })
        .setIssuer('url-checker-local')
        .setAudience('url-checker')
        .setExpirationTime('1h')
        .sign(privateKey);
    },
  ],
];
for (const [what, make] of WRONG) {
  test(`the verifier refuses ${what}`, async (t) => {
    const local = await folder(t);
    const identity = await openIdentity({ local });
    t.is(await identity.verify(await make(local)), null);
  });
}

test('the verifier accepts the right token', async (t) => {
  const local = await folder(t);
  const identity = await openIdentity({ local });
  t.like(await identity.verify(await signed(local, (token) => token)), { user_id: 'alice' });
});

test('a token is good without another verification for as long as it was verified, and no longer than it lasts', async (t) => {
  const local = await folder(t);
  const identity = await openIdentity({ local });
  const [long, short] = await Promise.all([1, 10 / 3600].map((hours) => issueLocalToken(local, { ...ALICE, hours })));
  t.is(identity.verifiedUntil!(long!), 0);
  t.is(identity.verifiedUntil!('eyJ.no.token'), 0);
  const before = Date.now();
  for (const token of [long!, short!]) await identity.verify(token);
  const until_ms = identity.verifiedUntil!(long!);
  t.true(until_ms >= before && until_ms <= Date.now() + 30_000, `${until_ms - before} ms`);
  t.true(identity.verifiedUntil!(short!) <= (decodeJwt(short!).exp! + 5) * 1000);
});
