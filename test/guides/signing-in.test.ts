import { readFileSync } from 'node:fs';
import test from 'ava';
import type { JWTPayload } from 'jose';
import { identified } from '../../adapters/identity/claims.ts';
import { readConfig } from '../../settings/config.ts';
import { runGuide } from '../support/guide.ts';
import { AUDIENCE, startProvider } from '../support/identity-provider.ts';
import { testWith } from '../support/programs.ts';
import { openTestClient, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const guide = readFileSync(new URL('../../docs/guides/signing-in.md', import.meta.url), 'utf8');

testWith(
  'bash',
  'curl',
  'openssl',
)('a user signs in as the guide says, line by line', async (t) => {
  const provider = await startProvider();
  const SECRET = `whsec_${Buffer.alloc(24, 'g').toString('base64')}`;
  const service = await startTestService({
    ...{ IDENTITY_JWKS_URL: provider.jwks_url, IDENTITY_ISSUER: provider.issuer, IDENTITY_AUDIENCE: AUDIENCE },
    IDENTITY_WEBHOOK_SECRET: SECRET,
  });
  try {
    const replace = { '127.0.0.1:8080': new URL(service.url).host, 'https://id.example.com': provider.issuer };
    const [TOKEN, ADMIN_TOKEN] = [await provider.signIn('alice'), await provider.signIn('root', { role: 'admin' })];
    // For a moment after the first sign-in it is null, as the reference says.
    const alice = openTestClient(service.url, TOKEN);
    await until(async () => (await alice.ask('GET', '/users/me')).body.registered_at !== null);
    t.is(await runGuide('docs/guides/signing-in.md', { replace, env: { TOKEN, ADMIN_TOKEN, SECRET } }), null);
  } finally {
    await service.stop();
    await provider.stop();
  }
});

/** The settings of a recipe. */
function settingsOf(recipe: string): Record<string, string> {
  const [, settings] = /```shell\n([^`]*)```/.exec(recipe)!;
  const lines = settings!.trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/)));
}

const CHECKER = 'https://checker.example';
/** What an administrator's access token says where the recipe was followed: Keycloak's as 26.4 issued it. */
const TOKENS: Record<string, JWTPayload> = {
  Keycloak: {
    ...{ aud: ['url-checker', 'account'], sub: 'cafc161d-f83f-4cd2-9eea-52b4eee101c4', typ: 'Bearer' },
    realm_access: { roles: ['offline_access', 'default-roles-example', 'uma_authorization', 'url-checker-admin'] },
    resource_access: { account: { roles: ['manage-account', 'view-profile'] } },
    ...{ scope: 'openid profile email', email_verified: true, name: 'Root Example', email: 'root@example.com' },
  },
  Auth0: {
    ...{ aud: [CHECKER, 'https://tenant.auth0.com/userinfo'], sub: 'auth0|6512bd43', scope: 'openid email profile' },
    ...{ [`${CHECKER}/email`]: 'root@example.com', [`${CHECKER}/roles`]: ['url-checker-admin'] },
  },
};

for (const [name, token] of Object.entries(TOKENS)) {
  test(`with the settings for ${name} an administrator's token says who they are`, (t) => {
    const config = readConfig(settingsOf(guide.split(/^## /m).find((section) => section.startsWith(`${name}\n`))!));
    const { identity_user_claim: user, identity_email_claim: email } = config;
    const claims = { user, email, admin: config.identity_admin_claim, admin_value: config.identity_admin_value };
    t.true([token.aud].flat().includes(config.identity_audience!));
    t.like(identified(token, claims), { user_id: token.sub, email: 'root@example.com', is_admin: true });
  });
}

test('with each recipe the console signs people in, and the provider knows where it leads back to', (t) => {
  const recipes = guide.split(/^## /m).filter((section) => section.includes('```shell\nIDENTITY_'));
  t.deepEqual(
    recipes.map((section) => section.split('\n')[0]),
    ['Keycloak', 'Auth0'],
  );
  for (const recipe of recipes) {
    const { identity_client_id, identity_issuer, identity_audience } = readConfig(settingsOf(recipe));
    for (const value of [identity_client_id, identity_issuer, identity_audience]) t.truthy(value, recipe);
    t.true(recipe.includes('/console/provider/return'), recipe);
  }
});
