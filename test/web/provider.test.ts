// Signing in at an identity provider, in a browser, with a real OpenID provider.
import test from 'ava';
import type { Page } from 'playwright-core';
import { startConsole, type TestConsole } from '../support/console.ts';
import { freePort } from '../support/free-port.ts';
import { AUDIENCE, CLIENT, startProvider, type TestProvider } from '../support/identity-provider.ts';

let provider: TestProvider;
let service: TestConsole;
test.before(async () => {
  const port = await freePort();
  provider = await startProvider('ES256', `http://127.0.0.1:${port}/console/provider/return`);
  service = await startConsole({
    ...{ PORT: String(port), IDENTITY_JWKS_URL: provider.jwks_url, IDENTITY_ISSUER: provider.issuer },
    ...{ IDENTITY_AUDIENCE: AUDIENCE, IDENTITY_CLIENT_ID: CLIENT.client_id },
    ...{ IDENTITY_CLIENT_SECRET: CLIENT.client_secret, IDENTITY_CLIENT_SCOPE: 'openid' },
  });
});
test.after.always(async () => {
  await service?.stop();
  await provider?.stop();
});

/** Fills in the two forms of the provider: who the user is, and the consent. */
async function signInAt(page: Page, user_id: string): Promise<void> {
  await page.waitForURL(`${provider.issuer}/**`);
  await page.getByPlaceholder('Enter any login').fill(user_id);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

const isAdministrator = (page: Page) =>
  page.evaluate<boolean>("fetch('/users/me').then((answer) => answer.json()).then(({ flags }) => flags.is_admin)");

test('a user signs in at the provider and comes to the page that they wanted', async (t) => {
  provider.know('alice');
  const page = await service.open(t, '/jobs?status=paused');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Continue to your identity provider' }).click();
  const credited = page.waitForResponse(`${service.url}/users/me/fingerprint`);
  await signInAt(page, 'alice');
  await page.getByRole('heading', { name: 'No job has this status' }).waitFor();
  t.is(page.url(), `${service.url}/console/jobs?status=paused`);
  await page.getByRole('button', { name: 'alice@example.com' }).waitFor();
  t.is((await credited).status(), 200, 'what brings the credits of a new account');
  t.false(await isAdministrator(page));
});

test('an administrator of the provider is one of the service', async (t) => {
  provider.know('root', { role: 'admin' });
  const page = await service.open(t, '/sign-in');
  await page.getByRole('link', { name: 'Continue to your identity provider' }).click();
  await signInAt(page, 'root');
  await page.getByRole('link', { name: 'Administration' }).waitFor();
  t.true(await isAdministrator(page));
  const [session] = (await page.context().cookies()).filter(({ name }) => name === 'session');
  t.true(session!.expires <= Date.now() / 1000 + 3600, 'it ends with the token that gave the role');
});

test('an answer of the provider is worth nothing in another browser, and nothing twice', async (t) => {
  provider.know('carol');
  const page = await service.open(t, '/sign-in');
  let returned = '';
  page.on('request', (request) => {
    if (request.url().includes('/provider/return?')) returned = request.url();
  });
  await page.getByRole('link', { name: 'Continue to your identity provider' }).click();
  await signInAt(page, 'carol');
  await page.getByRole('button', { name: 'carol@example.com' }).waitFor();
  await page.context().clearCookies({ name: 'session' });
  for (const again of [await service.open(t, '/sign-in'), page]) {
    await again.goto(returned, { waitUntil: 'commit' }); // what it leads to interrupts a wait for the whole page
    await again.getByText('Your identity provider did not sign you in.').waitFor();
  }
  t.pass();
});

test('a sign-in leads to the provider alone', async (t) => {
  const start = (next: string) =>
    fetch(`${service.url}/console/provider/sign-in?${new URLSearchParams({ next })}`, { redirect: 'manual' });
  t.is((await start('//evil.example')).status, 422);
  t.is((await start('/\\\\evil.example')).status, 422);
  t.is((await start('https://evil.example')).status, 422);
  t.is((await start(`/${'\u6f22'.repeat(1500)}`)).status, 422, 'no cookie has room for it');
  const begun = await start('/jobs');
  const cookie = begun.headers.get('set-cookie')!.split(';')[0]!;
  const stale = await fetch(`${service.url}/console/provider/return?state=stale`, { headers: { cookie } });
  t.is(stale.headers.get('set-cookie'), null, 'the sign-in of another tab goes on');
  const page = await begun.text();
  const { origin, searchParams } = new URL(page.match(/<a href="([^"]+)"/)![1]!.replaceAll('&#38;', '&'));
  t.is(origin, provider.issuer);
  t.is(searchParams.get('code_challenge_method'), 'S256');
});
