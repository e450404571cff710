// A service whose identity provider is away says so, in words, wherever somebody meets it.
import test from 'ava';
import { until } from '../support/behind.ts';
import { AUDIENCE, startProvider } from '../support/identity-provider.ts';
import { openTestClient, startTestService } from '../support/service.ts';

test('an identity provider that is away is named in errors, by readiness and to administrators', async (t) => {
  const provider = await startProvider('ES256');
  t.teardown(() => provider.stop().catch(() => {}));
  const token = await provider.signIn('root', { role: 'admin' });
  await provider.stop();
  const service = await startTestService({
    ...{ IDENTITY_JWKS_URL: provider.jwks_url, IDENTITY_ISSUER: provider.issuer, IDENTITY_AUDIENCE: AUDIENCE },
  });
  t.teardown(() => service.stop());
  const ask = (path: string) => openTestClient(service.url, token).ask('GET', path);
  const identityOf = async () => (await ask('/readyz')).body.checks.identity_provider;

  await until(async () => (await ask('/readyz')).status === 200);
  t.like((await ask('/readyz')).body, { status: 'ok', failed: undefined }, 'sessions and API keys work');
  const { ok, detail } = await identityOf();
  t.false(ok);
  t.regex(detail, /nobody can sign in.*sessions and API keys work/);
  const refused = await ask('/users/me');
  t.is(refused.status, 503);
  t.like(refused.body, {
    code: 'unavailable',
    detail: 'The identity provider does not answer. Try again in a few seconds.',
  });

  await provider.start();
  await until(async () => (await ask('/users/me')).status === 200);
  const { dependencies } = (await ask('/admin/services')).body;
  t.like(
    dependencies.find(({ name }: { name: string }) => name === 'identity_provider'),
    { kind: 'openid', status: 'ok' },
  );
  t.deepEqual(await identityOf(), { ok: true });
});
