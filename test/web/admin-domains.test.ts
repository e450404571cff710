// The health of domains and the blocklist in a browser: found, sorted, blocked, changed and unblocked; hostile text stays text.
import test from 'ava';
import { assertAccessible, startConsole, type TestConsole } from '../support/console.ts';
import { openSite, type Site } from '../support/sites.ts';

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e${'🦊'.repeat(100)}`;
const ROOT = { user: 'root', is_admin: true };
const LONG = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example.com`;

let service: TestConsole;
let site: Site;
test.before(async () => {
  site = await openSite();
  service = await startConsole();
  const client = await service.client('alice');
  const { body } = await client.upload(`url\n${site.url}/1\n${site.url}/status/404\nhttp://127.0.0.2:9/\n`);
  await client.ended(body.job_id);
  const root = await service.client('root', { is_admin: true });
  while ((await root.ask('GET', '/domains/health?min_checks=1')).body.total < 2);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

test('the worst domain comes first, and its page says what its checks found', async (t) => {
  const page = await service.open(t, '/admin/domains', ROOT);
  await page.getByRole('heading', { name: 'No domain has 10 checks yet' }).waitFor();
  await assertAccessible(t, page);
  await page.getByRole('link', { name: 'Show all domains' }).click();
  await page.getByRole('row').nth(1).getByText('127.0.0.2').waitFor();
  await page.getByRole('link', { name: 'Checks', exact: true }).click();
  await page.getByRole('row').nth(1).getByRole('link', { name: '127.0.0.1' }).waitFor();
  t.true(page.url().endsWith('?min_checks=1&sort_by=checks'));
  await assertAccessible(t, page);
  await page.getByRole('link', { name: '127.0.0.1' }).click();
  await page.getByRole('row', { name: '404 1 50%' }).waitFor();
  await page.getByText('No check ended with an error.').waitFor();
  await assertAccessible(t, page);
  await page.goBack();
  await page.getByLabel('Domain', { exact: true }).fill('127.0.0.2');
  await page.getByLabel('Domain', { exact: true }).press('Enter');
  await page.getByRole('row', { name: 'connection refused 1 100%' }).waitFor();
  await page.goto(`${service.url}/console/admin/domains/never.example`);
  await page.getByRole('alert').getByText('has never checked a URL of this domain. Request').waitFor();
  await assertAccessible(t, page);
});

// Alone: it begins with an empty list.
test.serial('a domain is blocked, found, changed and unblocked', async (t) => {
  const page = await service.open(t, '/admin/blocklist', ROOT);
  await page.getByRole('heading', { name: 'The blocklist is empty' }).waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Block a domain' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Domain').fill('com');
  await dialog.getByRole('button', { name: 'Block it' }).click();
  await dialog.getByRole('alert').getByText('has no domain name such as').waitFor();
  await dialog.getByLabel('Domain').fill(`https://${LONG.toUpperCase()}/`);
  await dialog.getByLabel('Reason').fill(HOSTILE);
  await dialog.getByLabel('Errors').fill('403  999');
  await assertAccessible(t, page);
  await dialog.getByRole('button', { name: 'Block it' }).click();
  const row = page.getByRole('row').filter({ hasText: LONG });
  await row.getByText('onerror').waitFor();
  await row.getByRole('cell', { name: '403, 999' }).waitFor();
  t.is(await page.locator('main img, main script').count(), 0);

  await page.getByLabel('Is a domain blocked?').fill(`www.${LONG}`);
  await page.getByRole('search').getByText('blocked', { exact: true }).waitFor();
  t.true(page.url().endsWith(`?search=www.${LONG}`));
  await assertAccessible(t, page);
  const change = row.getByRole('button', { name: 'Change' });
  await change.press('Enter');
  await dialog.getByRole('button', { name: 'Keep it as it is' }).press('Enter');
  await change.and(page.locator(':focus')).waitFor();
  await change.press('Enter');
  await dialog.getByLabel('Reason').fill('The owner asked.');
  await dialog.getByRole('button', { name: 'Change it' }).click();
  await row.getByRole('cell', { name: 'The owner asked.' }).waitFor();
  await page.getByRole('search').getByText('The owner asked.').waitFor();
  await row.getByRole('button', { name: 'Remove' }).press('Enter');
  await page.getByRole('heading', { name: 'The blocklist is empty' }).waitFor();
  await page.getByText('It is not blocked.').waitFor();
  t.is(await page.evaluate('document.activeElement.id'), 'page', 'the focus is where the row was');
  // It stays for as long as it has the focus.
  const undo = page.getByRole('button', { name: 'Undo' });
  await undo.focus();
  await assertAccessible(t, page);
  await undo.press('Enter');
  await row.getByRole('cell', { name: 'The owner asked.' }).waitFor();
});

test('a domain is blocked from its page', async (t) => {
  const page = await service.open(t, '/admin/domains/127.0.0.2', ROOT);
  await page.getByRole('button', { name: 'Block this domain' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Block it' }).click();
  await page.getByText('on the blocklist', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'To the blocklist' }).click();
  await page.getByRole('row').filter({ hasText: '127.0.0.2' }).getByText('other').waitFor();
  await assertAccessible(t, page);
});
