// Comparing two jobs of a list, in a browser: what broke, healed and moved, what was added and left out.
import test from 'ava';
import type { Page } from 'playwright-core';
import { assertAccessible, consoleAndSite, newUser } from '../support/console.ts';
import { page as answer } from '../support/sites.ts';

/** What the website says by now. */
const statuses = new Map<string, number>();
const moved = new Map<string, string>();
const { service, site } = consoleAndSite(test, {
  answer(request, response) {
    const path = request.url!;
    const location = moved.get(path);
    if (location) return void response.writeHead(301, { location }).end();
    request.url = `/status/${statuses.get(path) ?? 200}`;
    answer(request, response);
  },
});

async function endedJob(user: string, paths: readonly string[], filename = 'shop.csv'): Promise<string> {
  const client = await service.client(user);
  const urls = paths.map((path) => `${site.url}${path}`).join('\n');
  const { body } = await client.upload(`url\n${urls}\n`, '', filename);
  await client.ended(body.job_id);
  return body.job_id;
}

/** Two jobs of a list of the user's own, between which a page of the website broke, one healed and one moved. */
async function checkedTwice(user: string): Promise<{ earlier: string; later: string }> {
  const [same, breaks, heals, moves] = ['same', 'breaks', 'heals', 'moves'].map((name) => `/${user}/${name}`);
  statuses.set(heals!, 500);
  const earlier = await endedJob(user, [same!, breaks!, heals!, moves!, `/${user}/left-out`]);
  statuses.set(breaks!, 404).set(heals!, 200);
  moved.set(moves!, '/elsewhere');
  return { earlier, later: await endedJob(user, [same!, breaks!, heals!, moves!, `/${user}/new`]) };
}

const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const kind = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Kind of change' }).getByRole('link', { name });

test('a job is compared with an earlier one of the same file', async (t) => {
  const user = newUser();
  await endedJob(user, ['/'], 'other.csv');
  const { earlier, later } = await checkedTwice(user);
  const page = await service.open(t, `/jobs/${later}`, { user });
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.getByText('Earlier jobs of the same list').first().waitFor();
  t.is(await page.getByRole('row').count(), 2, 'the heading, and the only earlier job of this file');
  await assertAccessible(t, page);
  await page.getByRole('row').nth(1).getByRole('link').click();

  await row(page, '/breaks').getByText('404').waitFor();
  t.true(page.url().endsWith(`/changes?since=${earlier}`));
  const cellsOf = (text: string) => row(page, text).getByRole('cell').allInnerTexts();
  t.deepEqual((await cellsOf('/breaks')).toSpliced(1, 1), ['broke', 'OK 200', 'Broken 404']);
  t.deepEqual((await cellsOf('/heals')).toSpliced(1, 1), ['healed', 'Broken 500', 'OK 200']);
  t.deepEqual((await cellsOf('/left-out')).toSpliced(1, 1), ['removed', 'OK 200', 'not checked']);
  t.deepEqual((await cellsOf('/new')).toSpliced(1, 1), ['added', 'not checked', 'OK 200']);
  t.true((await cellsOf('/moves'))[3]!.includes(`${site.url}/elsewhere`));
  await page.getByText('1 unchanged').waitFor();
  await assertAccessible(t, page);
});

test('the kind of change is in the address, and Back leads to all', async (t) => {
  const user = newUser();
  const { earlier, later } = await checkedTwice(user);
  const page = await service.open(t, `/jobs/${later}/changes?since=${earlier}`, { user });
  await kind(page, 'all 5').waitFor();
  await kind(page, 'broke 1').click();
  await row(page, '/heals').waitFor({ state: 'detached' });
  t.true(page.url().endsWith('&change=broke'));
  await page.reload();
  await row(page, '/breaks').waitFor();
  t.is(await page.getByRole('row').count(), 2);
  await kind(page, 'changed 0').click();
  await page.getByRole('heading', { name: 'No change of this kind' }).waitFor();
  await page.goBack();
  await page.goBack();
  await row(page, '/heals').waitFor();
});

test('a long comparison shows that it works on it', async (t) => {
  const user = newUser();
  const { earlier, later } = await checkedTwice(user);
  const page = await service.open(t, `/jobs/${later}/changes`, { user });
  const compared = Promise.withResolvers<void>();
  await page.route('**/changes?since=*', async (route) => {
    if (route.request().isNavigationRequest()) return route.continue();
    await compared.promise;
    await route.continue();
  });
  await page.getByRole('row').nth(1).getByRole('link').click();
  await page.getByRole('status').getByRole('heading', { name: 'Comparing 5 URLs' }).waitFor();
  await assertAccessible(t, page);
  compared.resolve();
  await kind(page, 'all 5').waitFor();
  t.true(page.url().includes(earlier));
});

test('a list that was checked once, and a job that is not there', async (t) => {
  const user = newUser();
  const job_id = await endedJob(user, ['/'], 'once.csv');
  const page = await service.open(t, `/jobs/${job_id}/changes`, { user });
  await page.getByRole('heading', { name: 'No earlier job of this list' }).waitFor();
  await assertAccessible(t, page);
  await page.goto(`${page.url()}?since=none`);
  await page.getByText('There is no such job to compare with').waitFor();
  await page.getByRole('link', { name: 'Compare with another job' }).click();
  await page.getByRole('heading', { name: 'No earlier job of this list' }).waitFor();
  t.pass();
});

test('a comparison is read at 360 px and at a zoom of 200 %', async (t) => {
  const user = newUser();
  const { earlier, later } = await checkedTwice(user);
  // A window of 1,280 px at 200 % has the 640 px of this one.
  for (const width of [360, 640]) {
    const page = await service.open(t, `/jobs/${later}/changes?since=${earlier}`, { user, width });
    await row(page, '/breaks').waitFor();
    t.true((await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')) <= 0, `${width} px`);
    await page.getByRole('region', { name: 'Changes' }).focus();
    await page.keyboard.press('End');
    await row(page, '/breaks').getByText('404').scrollIntoViewIfNeeded();
    await kind(page, 'removed 1').click();
    await row(page, '/breaks').waitFor({ state: 'detached' });
    t.true(await row(page, '/left-out').isVisible());
  }
});
