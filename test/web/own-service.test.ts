// A service that sells nothing, in a browser: the console shows no prices, and nothing to buy.
import test from 'ava';
import { consoleAndSite, newUser } from '../support/console.ts';

const { service, site } = consoleAndSite(test, { env: { SIGNUP_CREDITS: '2' } });

const SELLING = /buy|\$ ?\d|price|subscribe|package/i;

test('no page of the account shows a price or leads to one', async (t) => {
  const user = newUser();
  for (const path of ['/account', '/account/buy', '/account/api-keys']) {
    const page = await service.open(t, path, { user });
    await page.getByRole('navigation', { name: 'Account' }).waitFor();
    await page.waitForLoadState('networkidle');
    const text = (await page.getByRole('main').textContent())!;
    if (path === '/account/buy') t.regex(text, /sells nothing/);
    else t.notRegex(text, SELLING, path);
  }
});

test('a list that the credits do not cover leads to nobody who sells', async (t) => {
  const user = newUser();
  const page = await service.open(t, '/jobs/new', { user });
  await page.getByRole('textbox').fill([1, 2, 3].map((n) => `${site.url}/${n}`).join('\n'));
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('An administrator can grant more.').waitFor();
  await page.getByRole('button', { name: 'Check 3 URLs' }).click();
  await page.getByText('Ask an administrator for more, then resume it.').waitFor();
  t.notRegex((await page.getByRole('main').textContent())!, SELLING);
});
