// The worker log in a browser: it follows the checkers until it is paused, its filters are in the address, and entries are deleted for good.
import test from 'ava';
import { assertAccessible, newUser, startConsole, type TestConsole } from '../support/console.ts';
import { openSite, type Site } from '../support/sites.ts';

const ROOT = { user: 'root', is_admin: true };
const HOSTILE = 'javascript:"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e🦊';

let service: TestConsole;
let site: Site;
test.before(async () => {
  site = await openSite();
  service = await startConsole();
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

/** The id of a job whose URLs are checked and in the log. */
async function checked(urls: readonly string[]): Promise<string> {
  const client = await service.client(newUser());
  const { body } = await client.upload(`url\n${urls.map((url) => `"${url.replaceAll('"', '""')}"`).join('\n')}\n`);
  await client.ended(body.job_id);
  const root = await service.client('root', { is_admin: true });
  while ((await root.ask('GET', `/logs?job_id=${body.job_id}`)).body.total < urls.length);
  return body.job_id;
}

test('the log follows the checkers until it is paused', async (t) => {
  const page = await service.open(t, '/admin/logs', ROOT);
  await page.getByRole('heading', { name: 'Attempts', exact: true }).waitFor();
  await checked([`${site.url}/followed`]);
  await page.getByRole('link', { name: `${site.url}/followed` }).waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Pause' }).press('Enter');
  await page.getByRole('button', { name: 'Follow again', pressed: true }).waitFor();
  await checked([`${site.url}/paused`]);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.clock.install();
  await page.clock.fastForward(60_000);
  t.is(await page.getByRole('link', { name: `${site.url}/paused` }).count(), 0);
  t.deepEqual(
    asked.filter((path) => path === '/logs'),
    [],
  );
  await page.getByRole('button', { name: 'Follow again' }).click();
  await page.clock.fastForward(60_000);
  await page.getByRole('link', { name: `${site.url}/paused` }).waitFor();
});

test('filters are in the address, and hostile URLs stay text', async (t) => {
  const long = `${site.url}/${'long'.repeat(505)}`;
  const job_id = await checked([`${site.url}/status/404`, `${site.url}/2`, long, 'http://127.0.0.2:9/']);
  const page = await service.open(t, '/jobs', ROOT);
  const is_list = ({ pathname }: URL) => pathname === '/logs';
  await page.route(is_list, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    for (const item of json.items) if (item.url.endsWith('/2')) Object.assign(item, { url: HOSTILE, domain: null });
    await route.fulfill({ response, json });
  });
  await page.goto(`${service.url}/console/admin/logs?job_id=${job_id}`);
  await page.getByRole('cell', { name: 'onerror' }).first().waitFor();
  t.is(await page.getByRole('link', { name: 'onerror' }).count(), 0);
  await page.getByTitle(long).waitFor();
  t.is(await page.getByRole('row').count(), 1 + 4);
  t.is(await page.locator('main img, main script').count(), 0);
  await assertAccessible(t, page);
  await page.getByLabel('Status', { exact: true }).selectOption('404');
  await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
  t.true(page.url().endsWith(`?job_id=${job_id}&status_code=404`));
  await page.getByLabel('Errors', { exact: true }).selectOption('with an error');
  await page.getByRole('heading', { name: 'No entry passes these filters' }).waitFor();
  await assertAccessible(t, page);
  await page.goto(`${service.url}/console/admin/logs?job_id=${job_id}&has_error=true`);
  await page
    .getByRole('row', { name: 'connection refused' })
    .getByRole('link', { name: '127.0.0.2', exact: true })
    .click();
  await page.waitForURL('**&has_error=true&domain=127.0.0.2');
  t.is(await page.getByLabel('Domain', { exact: true }).inputValue(), '127.0.0.2');
});

test('entries are deleted one by one and by the filters', async (t) => {
  const job_id = await checked([`${site.url}/1`, `${site.url}/status/500`, `${site.url}/3`]);
  const page = await service.open(t, `/admin/logs?job_id=${job_id}`, ROOT);
  await page.getByRole('button', { name: `Delete the entry of ${site.url}/1` }).click();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Delete it' }).click();
  await page.getByRole('row').nth(3).waitFor({ state: 'detached' });
  await page.getByLabel('without a 2xx').check();
  await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete entries' }).click();
  await page.getByText(`All entries of the job ${job_id}, without a 2xx leave the log for good.`).waitFor();
  await assertAccessible(t, page);
  const hours = page.getByLabel('Only those older than');
  await hours.pressSequentially('2e');
  await page.getByRole('button', { name: 'Delete these' }).click();
  // What is no number yet is asked for again, and deletes nothing.
  await hours.and(page.locator(':focus')).waitFor();
  await hours.clear();
  await page.getByRole('button', { name: 'Delete these' }).click();
  await page.getByText('1 entry is deleted.').waitFor();
  await page.getByLabel('without a 2xx').uncheck();
  await page.getByRole('link', { name: `${site.url}/3` }).waitFor();
  t.is(await page.getByRole('row').count(), 1 + 1);
});
