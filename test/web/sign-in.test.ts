// Signing in and out, in a browser: by a one-time link, once; strangers and ended sessions are asked to sign in.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import type { Page } from 'playwright-core';
import { assertAccessible, newUser, startConsole, type TestConsole } from '../support/console.ts';

const run = promisify(execFile);
let service: TestConsole;
test.before(async () => {
  service = await startConsole();
});
test.after.always(() => service?.stop());

test('a one-time link signs in, leaves no code in the address, and works once', async (t) => {
  const user = newUser();
  const link = await service.link(user);
  const page = await service.open(t, link);
  await page.getByRole('heading', { name: 'You have no jobs yet' }).waitFor();
  t.is(page.url(), `${service.url}/console/jobs`);
  const other = await service.open(t, link);
  await other.getByText('This link was used already.').waitFor();
  t.is(other.url(), `${service.url}/console/sign-in`);
  await assertAccessible(t, other);
});

test('no script sees the session, and nothing of it is stored', async (t) => {
  const page = await service.open(t, '/jobs', { user: newUser() });
  t.deepEqual(await page.evaluate('[document.cookie, Object.keys(localStorage), Object.keys(sessionStorage)]'), [
    '',
    ['theme'],
    [],
  ]);
});

test('a link of another issuer signs nobody in', async (t) => {
  const page = await service.open(t, '/sign-in#eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.');
  await page.getByText('This link is not valid, or has expired.').waitFor();
  t.is(await page.evaluate('location.hash'), '');
});

test('a stranger is asked to sign in, and comes to the page that they wanted', async (t) => {
  const page = await service.open(t, '/jobs?status=paused');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const { hash } = new URL(await service.link(newUser()));
  await page.goto(page.url() + hash);
  await page.getByRole('heading', { name: 'No job has this status' }).waitFor();
  t.is(page.url(), `${service.url}/console/jobs?status=paused`);
});

test('the page that asks for a link names a command that makes one for this very service', async (t) => {
  const page = await service.open(t, '/sign-in');
  const command = await page.getByText('npm run -s token').textContent();
  const { stdout } = await run('bash', ['-c', command!], { cwd: fileURLToPath(new URL('../../', import.meta.url)) });
  const other = await service.open(t, stdout.trim());
  await other.getByRole('heading', { name: 'You have no jobs yet' }).waitFor();
  t.true(other.url().startsWith(service.url));
});

test('signing out ends the session in every tab at once', async (t) => {
  const user = newUser();
  const page = await service.open(t, '/jobs', { user });
  const [{ name, value } = { name: '', value: '' }] = await page.context().cookies();
  const asked = () => fetch(`${service.url}/users/me`, { headers: { cookie: `${name}=${value}` } });
  t.is((await asked()).status, 200);
  const other = await page.context().newPage();
  await other.goto(`${service.url}/console/jobs`);
  await page.getByRole('button', { name: user }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  t.is((await asked()).status, 401);
  await other.getByRole('link', { name: 'paused' }).click();
  await other.getByRole('heading', { name: 'You are not signed in' }).waitFor();
});

test('a user signs another browser out, and then all of them', async (t) => {
  const user = newUser();
  const [first, second, third] = [
    await service.open(t, '/jobs', { user }),
    await service.open(t, '/jobs', { user }),
    await service.open(t, '/jobs', { user: newUser() }),
  ];
  const isSignedIn = async (page: Page) =>
    page.evaluate<boolean>("fetch('/users/me').then(({ status }) => status === 200)");
  await first.goto(`${service.url}/console/account/sessions`);
  await first.getByRole('button', { name: 'Sign out' }).click();
  await assertAccessible(t, first);
  await first.getByRole('button', { name: 'Sign it out' }).click();
  await first.getByText('The browser is signed out.').waitFor();
  t.deepEqual([await isSignedIn(first), await isSignedIn(second)], [true, false]);
  await second.getByRole('link', { name: 'paused' }).click();
  await second.getByRole('heading', { name: 'You are not signed in' }).waitFor();

  const again = await service.open(t, '/jobs', { user });
  await first.getByRole('button', { name: 'Sign all out' }).click();
  await assertAccessible(t, first);
  await first.getByRole('dialog').getByRole('button', { name: 'Sign all out' }).click();
  await first.getByRole('heading', { name: 'Sign in' }).waitFor();
  t.deepEqual([await isSignedIn(first), await isSignedIn(again)], [false, false]);
  t.true(await isSignedIn(third), "another user's browser");
});

test('a request that changes something is refused without the header of the console', async (t) => {
  const page = await service.open(t, '/jobs', { user: newUser() });
  const status = (headers: object) =>
    page.evaluate<number>(
      `fetch('/jobs/bulk-delete', { method: 'POST', body: '{"job_ids": ["a"]}', headers: ${JSON.stringify({
        'content-type': 'application/json',
        ...headers,
      })} }).then(({ status }) => status)`,
    );
  t.is(await status({}), 403);
  t.is(await status({ 'x-console': '1' }), 200);
});
