// The account in a browser: credits are bought and accounted for, keys are made and revoked, hostile names stay text.
import test from 'ava';
import { assertAccessible, consoleAndSite, newUser } from '../support/console.ts';

const { service, site } = consoleAndSite(test, { env: { PAYMENT_SANDBOX: 'on' } });

const HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e';

test('credits that are bought are in the balance, its lots and the ledger', async (t) => {
  const page = await service.open(t, '/account', { user: newUser() });
  await page.getByRole('row', { name: 'Welcome credits' }).first().waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Buy credits' }).first().click();
  const buy = page.getByRole('button', { name: 'Buy 5,000 credits' });
  await buy.waitFor();
  await assertAccessible(t, page);
  await buy.click();
  await page.getByRole('button', { name: 'Pay' }).click();
  await page.getByText('Thank you.').waitFor();
  t.is(page.url(), `${service.url}/console/account?checkout=done`);
  await page.getByRole('link', { name: '5,300 credits' }).waitFor();
  const lots = page.getByRole('region', { name: 'Your credits by where they came from' });
  await lots.getByRole('row', { name: 'Purchase' }).getByRole('cell', { name: '5,000' }).first().waitFor();
  await page.getByRole('region', { name: 'Ledger' }).getByRole('row', { name: '+5,000 5,300' }).waitFor();
  await assertAccessible(t, page);
  await page.getByRole('link', { name: 'Payments' }).click();
  await page.getByRole('row', { name: 'credits 5,000 $5' }).waitFor();
  await assertAccessible(t, page);
});

test('the account says which mails about credits come, and keeps the choice', async (t) => {
  const page = await service.open(t, '/account', { user: newUser() });
  const mails = page.getByRole('region', { name: 'Mails about your credits' });
  await mails.getByLabel('Low is below so many credits').fill('250');
  await mails.getByLabel('before credits expire').uncheck();
  await assertAccessible(t, page);
  await mails.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.reload();
  t.is(await mails.getByLabel('Low is below so many credits').inputValue(), '250');
  t.false(await mails.getByLabel('before credits expire').isChecked());
  await mails.getByLabel('when my balance is low').uncheck();
  await mails.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.reload();
  t.false(await mails.getByLabel('when my balance is low').isChecked());
  await mails.getByLabel('when my balance is low').check();
  t.is(await mails.getByLabel('Low is below so many credits').inputValue(), '');
});

test('a checkout that is declined leads back to what can be bought', async (t) => {
  const page = await service.open(t, '/account/buy', { user: newUser() });
  await page.getByRole('button', { name: 'Buy 5,000 credits' }).click();
  await page.getByRole('button', { name: 'Decline' }).click();
  await page.getByRole('heading', { name: 'Packages' }).waitFor();
  t.is(page.url(), `${service.url}/console/account/buy`);
});

test('a plan is subscribed to by the year, and changed in the portal', async (t) => {
  const page = await service.open(t, '/account/buy', { user: newUser() });
  await page.getByRole('link', { name: 'yearly' }).click();
  t.true(page.url().endsWith('?interval=year'));
  await page.getByRole('button', { name: 'Subscribe to Pro' }).click();
  await page.getByRole('button', { name: 'Pay' }).click();
  await page.getByText('Thank you.').waitFor();
  await page.goto(`${service.url}/console/account/buy`);
  await page.getByText('paid by the year').waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Change or cancel' }).click();
  await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
  t.is(new URL(page.url()).pathname.split('/')[1], 'sandbox');
});

test('the ledger leads to the job, and its filter is in the address', async (t) => {
  const user = newUser();
  const client = await service.client(user);
  const { body } = await client.upload(`url\n${site.url}/1\n${site.url}/2\n`);
  await client.ended(body.job_id);
  const page = await service.open(t, '/account', { user });
  const ledger = page.getByRole('region', { name: 'Ledger' });
  await ledger.getByRole('row', { name: '−2 298' }).waitFor();
  await page.getByLabel('Show').selectOption('Welcome credits');
  await ledger.getByRole('row', { name: '−2 298' }).waitFor({ state: 'detached' });
  t.true(page.url().endsWith('?type=signup_bonus'));
  await page.goto(`${service.url}/console/account?type=purchase`);
  await page.getByRole('heading', { name: 'The ledger has no such entry' }).waitFor();
  await page.getByRole('button', { name: 'Show everything' }).click();
  await ledger.getByRole('link', { name: 'Reserved for a job' }).click();
  await page.getByText('completed').waitFor();
  t.is(page.url(), `${service.url}/console/jobs/${body.job_id}`);
});

test('an API key is shown once, works, and is refused after its revocation', async (t) => {
  const page = await service.open(t, '/account/api-keys', { user: newUser() });
  await page.getByRole('heading', { name: 'You have no API keys yet' }).waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'New API key' }).click();
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByRole('button', { name: 'Make the key' }).click();
  const key = await page.getByLabel('The key').inputValue();
  t.regex(await page.evaluate<string>("getComputedStyle(document.querySelector('input.key')).fontFamily"), /mono/);
  await assertAccessible(t, page);
  const asked = () =>
    fetch(`${service.url}/api/v2/usage`, { headers: { authorization: `Bearer ${key}` } }).then(({ status }) => status);
  t.is(await asked(), 200);
  await page.getByRole('button', { name: 'Close' }).click();
  t.false((await page.content()).includes(key));
  t.is(await page.locator('main img, main script').count(), 0);
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('cannot be brought back').waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Revoke the key' }).click();
  await page.getByRole('heading', { name: 'You have no API keys yet' }).waitFor();
  t.is(await asked(), 401);
});

test('a user sees the browsers that are signed in', async (t) => {
  const page = await service.open(t, '/account/sessions', { user: newUser() });
  await page.getByRole('heading', { name: 'Signed-in browsers' }).waitFor();
  await page.getByText('this browser').waitFor({ timeout: 20_000 });
  await assertAccessible(t, page);
});

for (const path of ['/account', '/account/buy', '/account/api-keys', '/account/webhooks', '/account/webhooks/any']) {
  test(`a stranger is asked to sign in at ${path}`, async (t) => {
    const page = await service.open(t, path);
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
    t.is(await page.getByRole('table').count(), 0);
  });
}
