import { readFileSync } from 'node:fs';
import test from 'ava';
import { readConfig } from '../../settings/config.ts';
import { runGuide } from '../support/guide.ts';
import { AUDIENCE, startProvider } from '../support/identity-provider.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

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
    t.is(await runGuide('docs/guides/signing-in.md', { replace, env: { TOKEN, ADMIN_TOKEN, SECRET } }), null);
  } finally {
    await service.stop();
    await provider.stop();
  }
});

test('with each recipe the console signs people in, and the provider knows where it leads back to', (t) => {
  const guide = readFileSync(new URL('../../docs/guides/signing-in.md', import.meta.url), 'utf8');
  const recipes = guide.split(/^## /m).filter((section) => section.includes('```shell'));
  t.deepEqual(
    recipes.map((section) => section.split('\n')[0]),
    ['Keycloak', 'Auth0'],
  );
  for (const recipe of recipes) {
    const [, settings] = /```shell\n([^`]*)```/.exec(recipe)!;
    const env = Object.fromEntries(
      settings!
        .trim()
        .split('\n')
        .map((line) => line.split(/=(.*)/)),
    );
    const { identity_client_id, identity_issuer, identity_audience } = readConfig(env);
    for (const value of [identity_client_id, identity_issuer, identity_audience]) t.truthy(value, recipe);
    t.true(recipe.includes('/console/provider/return'), recipe);
  }
});
