// The figures of growth in a browser: charts with their numbers as tables, the days in the address, notes, hostile text.
import test from 'ava';
import { assertAccessible, newUser, startConsole, type TestConsole } from '../support/console.ts';
import { openSite, type Site } from '../support/sites.ts';

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e${'🦊'.repeat(150)}`;
const ROOT = { user: 'root', is_admin: true };
const today = () => new Date().toISOString().slice(0, 10);

let service: TestConsole;
let site: Site;
test.before(async () => {
  site = await openSite();
  service = await startConsole();
  const buyer = await service.client('buyer');
  await buyer.ask('POST', '/paywall-events', { event: 'paywall_shown', properties: {} });
  const checkout = await buyer.ask('POST', '/checkout/create', { plan: 'pro', interval: 'month' });
  await fetch(`${checkout.body.checkout_url}/pay`, { method: 'POST' });
  const { body } = await buyer.upload(`url\n${site.url}/1\n${site.url}/2\n`);
  await buyer.ended(body.job_id);
  const root = await service.client('root', { is_admin: true });
  let shown = await root.ask('GET', '/admin/growth-dashboard');
  while (shown.body.totals.urls_checked < 2 || shown.body.revenue.customers_end < 1) {
    shown = await root.ask('GET', '/admin/growth-dashboard');
  }
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

test('growth is drawn for the days in the address, and its numbers are in tables', async (t) => {
  const page = await service.open(t, '/admin/growth', ROOT);
  const urls = page.getByRole('figure').filter({ has: page.getByRole('heading', { name: 'URLs', exact: true }) });
  await urls.getByRole('listitem').getByText('Checked 2').waitFor();
  await urls.locator('canvas').waitFor();
  await urls.getByText('The numbers as a table').press('Enter');
  await urls.getByRole('row', { name: `${today()} 2 0 0` }).waitFor();
  t.is(await urls.getByRole('row').count(), 1 + 30);
  await page.getByRole('link', { name: '7 days' }).click();
  await urls.getByRole('row').nth(8).waitFor({ state: 'detached' });
  t.true(page.url().endsWith('/admin/growth?period=7d'));
  await page.getByRole('figure').filter({ hasText: 'MRR $29' }).locator('canvas').waitFor();
  await assertAccessible(t, page);
});

test('a note of any text stands beside its day until it is deleted', async (t) => {
  const page = await service.open(t, '/admin/growth', ROOT);
  await page.getByText('There is none yet').waitFor();
  await page.getByLabel('What happened').fill(HOSTILE);
  await page.getByRole('button', { name: 'Add the note' }).click();
  const note = page.getByRole('listitem').filter({ hasText: 'onerror' });
  await note.getByText(today()).waitFor();
  t.is(await page.locator('main img, main script').count(), 0);
  await assertAccessible(t, page);
  await page.getByLabel('What happened').fill(' ');
  await page.getByRole('button', { name: 'Add the note' }).click();
  await page.getByRole('alert').getByText('text').waitFor();
  await note.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There is none yet').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await note.getByText(today()).waitFor();
  await note.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There is none yet').waitFor();
});

test('revenue has its movements, also in other currencies', async (t) => {
  const page = await service.open(t, '/jobs', ROOT);
  await page.route(/\/admin\/revenue-review/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    const { series: _, other_currencies: __, ...usd } = json;
    json.other_currencies = [{ ...usd, currency: 'eur', refunds_cents: 1_250 }];
    await route.fulfill({ response, json });
  });
  await page.goto(`${service.url}/console/admin/revenue?period=90d`);
  await page.getByRole('row', { name: 'New customers +$29 +€29' }).waitFor();
  await page.getByRole('row', { name: 'Refunded $0 −€12.50' }).waitFor();
  await assertAccessible(t, page);
});

test('cohorts are a heat map of who came back', async (t) => {
  const page = await service.open(t, '/admin/retention', ROOT);
  const row = page.getByRole('table', { name: 'Cohorts' }).getByRole('row').nth(1);
  await row.getByRole('cell', { name: today().slice(0, 7) }).waitFor();
  const [, users, share] = await row.getByRole('cell').allTextContents();
  t.is(share, `${Math.round(1000 / Number(users)) / 10}%`);
  await page.getByRole('row', { name: /^Subscribed to a plan 1 / }).waitFor();
  await assertAccessible(t, page);
});

test('who met the paywall is listed with whether they paid', async (t) => {
  const page = await service.open(t, '/admin/paywall', ROOT);
  await page.getByRole('link', { name: 'buyer@example.com' }).waitFor();
  await page.getByRole('figure').getByRole('listitem').getByText('Shown 1').waitFor();
  await assertAccessible(t, page);
  await page.getByRole('link', { name: 'buyer@example.com' }).click();
  await page.getByRole('heading', { name: 'buyer' }).waitFor();
});

test('an error shows its request ID, and the figures stay', async (t) => {
  const page = await service.open(t, '/admin/growth', ROOT);
  await page.getByRole('heading', { name: 'Paying customers' }).waitFor();
  await page.route(/\/admin\/growth-dashboard/, (route) =>
    route.fulfill({ status: 500, headers: { 'x-request-id': 'r-1' }, json: { detail: 'It broke.', code: 'internal' } }),
  );
  await page.getByRole('link', { name: '90 days' }).click();
  await page.getByRole('alert').getByText('What you see is not current. It broke. Request r-1').waitFor();
  await page.route(/\/admin\/growth-dashboard/, (route) =>
    route.fulfill({ contentType: 'application/json', body: '{"totals": {' }),
  );
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('alert').getByText('What you see is not current. The service cannot be reached.').waitFor();
  t.is(await page.getByRole('figure').count(), 6);
});

test('an ended session shows no figures', async (t) => {
  const user = newUser();
  const page = await service.open(t, '/admin/growth', { user, is_admin: true });
  await page.getByRole('heading', { name: 'Paying customers' }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${service.url}/console/admin`);
  await other.getByRole('button', { name: user }).click();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByRole('link', { name: '90 days' }).click();
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  t.is(await page.getByRole('figure').count(), 0);
});
