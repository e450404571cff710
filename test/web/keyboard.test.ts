// The console by the keyboard alone: menus, rows, sorts, tabs, files, filters and charts are reached by Tab and opened by Enter.
import test, { type ExecutionContext } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { consoleAndSite, newUser } from '../support/console.ts';

const { service, site } = consoleAndSite(test);

/** More stops than any page has. */
const MAX_STOPS = 80;

/** Goes on with Tab until the focus is there. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let stops = 0; stops < MAX_STOPS; stops++) {
    await page.keyboard.press('Tab');
    if ((await target.and(page.locator(':focus')).count()) === 1) return;
  }
  throw new Error(`${MAX_STOPS} times Tab, and the focus is not at ${target}`);
}

async function enter(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press('Enter');
}

const focused = (page: Page, target: Locator) => target.and(page.locator(':focus')).waitFor();

async function endedJob(t: ExecutionContext, user: string): Promise<string> {
  const client = await service.client(user);
  const { status, body } = await client.upload(`url\n${site.url}/\n${site.url}/status/404\n`);
  t.is(status, 201);
  await client.ended(body.job_id);
  return body.job_id;
}

test('the page is reached past its frame, and menus open, close and give the focus back', async (t) => {
  const user = newUser();
  const page = await service.open(t, '/jobs', { user });
  await enter(page, page.getByRole('link', { name: 'Skip to the page' }));
  await focused(page, page.locator('#page'));
  await enter(page, page.getByRole('link', { name: 'Check your first list' }));
  await page.getByRole('heading', { name: 'New job' }).waitFor();
  // What was clicked has left: the next Tab goes on in the new page.
  await focused(page, page.locator('#page'));
  await tabTo(page, page.getByLabel('Drop a file here'));
  const menu = page.getByRole('button', { name: user });
  await enter(page, menu);
  await tabTo(page, page.getByRole('radio', { name: 'system' }));
  await page.keyboard.press('ArrowDown');
  t.true(await page.getByRole('radio', { name: 'light' }).isChecked());
  await page.keyboard.press('Escape');
  await focused(page, menu);
});

test('filters, rows and exports of a job are used without a mouse', async (t) => {
  const user = newUser();
  const job_id = await endedJob(t, user);
  const page = await service.open(t, `/jobs/${job_id}`, { user });
  const row = page.getByRole('row').getByRole('button', { name: '/status/404' });
  await enter(page, row);
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await focused(page, row);
  await page.reload();
  await tabTo(page, page.getByLabel('URL contains'));
  await page.keyboard.type('404');
  await page.getByText('1 result', { exact: true }).waitFor();
  await tabTo(page, page.getByLabel('Status'));
  await page.keyboard.type('5xx');
  await page.getByText('No result passes these filters').waitFor();
  await enter(page, page.getByRole('button', { name: 'Show all results' }));
  await page.getByText('2 results', { exact: true }).waitFor();
  // The button has left with what was said of the filters.
  await focused(page, page.locator('#page'));
  await tabTo(page, page.getByRole('region', { name: 'Results' }));
  await page.reload();
  await enter(page, page.getByRole('button', { name: 'Export' }));
  await tabTo(page, page.getByRole('link', { name: 'Excel', exact: true }));
  await page.keyboard.press('Escape');
  await enter(page, page.getByRole('button', { name: 'Share' }));
  await enter(page, page.getByRole('button', { name: 'Make a link' }));
  await focused(page, page.getByLabel('The link', { exact: true }));
  await enter(page, page.getByRole('button', { name: 'Revoke', exact: true }));
  await enter(page, page.getByRole('button', { name: 'Revoke the link' }));
  await page.getByText('revoked', { exact: true }).waitFor();
  await focused(page, page.getByRole('dialog', { name: 'Share the results' }));
});

test('a table is sorted by its headings, and the numbers of a chart are a table', async (t) => {
  const page = await service.open(t, '/admin', { user: 'root', is_admin: true });
  const heading = page.getByRole('columnheader', { name: 'Credits' });
  await enter(page, heading.getByRole('link'));
  await page.locator('[aria-sort=descending]').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('[aria-sort=ascending]').waitFor();
  await focused(page, heading.getByRole('link'));
  await enter(page, page.getByRole('link', { name: 'Growth' }));
  const chart = page.getByRole('figure').first();
  await enter(page, chart.getByText('The numbers as a table'));
  await tabTo(page, chart.getByRole('region'));
  t.true((await chart.getByRole('row').count()) > 1);
});

/** Effects run a frame, or some milliseconds, after the page shows. Here they wait, once the field is there, until `released`. */
const SLOW = `
  const soon = setTimeout.bind(window);
  const isHeld = () => !window.released && document.querySelector('search input[type=search]');
  const later = (run) => (isHeld() ? soon(later, 20, run) : run());
  window.requestAnimationFrame = (run) => soon(later, 0, () => run(performance.now()));
  window.setTimeout = (run, wait_ms) => soon(later, wait_ms, run);`;

test('what is pasted as soon as the field is there filters, on a machine however slow', async (t) => {
  const user = newUser();
  const job_id = await endedJob(t, user);
  const page = await service.open(t, '/jobs', { user });
  await page.addInitScript({ content: SLOW });
  await page.goto(`${service.url}/console/jobs/${job_id}`);
  await page.getByLabel('URL contains').fill('404');
  await page.evaluate('window.released = true');
  await page.getByText('1 result', { exact: true }).waitFor();
});
