// Jobs in a browser: a list is looked at, checked and read; hostile data stays text; what is shared is seen without an account.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import type { Page } from 'playwright-core';
import { zip } from '../intake/uploads.ts';
import { assertAccessible, consoleAndSite, newUser } from '../support/console.ts';
import { page } from '../support/sites.ts';

/** Answers `/held` when this resolves. */
const released = Promise.withResolvers<void>();
const { service, site } = consoleAndSite(test, {
  async answer(request, response) {
    if (request.url === '/held') await released.promise;
    page(request, response);
  },
});

const HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
const LONG = `/${'a'.repeat(1900)}`;
const PATHS = [
  '/',
  '/about',
  '/status/404',
  '/status/500',
  LONG,
  '/😀',
  `/?q=${encodeURIComponent(HOSTILE)}`,
  '/עברית',
];
const list = () => PATHS.map((path) => `${site.url}${path}`).join('\n');

/** A job that has ended, with this name of its file. */
async function endedJob(user: string, filename = 'urls.csv'): Promise<string> {
  const client = await service.client(user);
  const { body } = await client.upload(`url\n${list()}\n`, '', filename);
  await client.ended(body.job_id);
  return body.job_id;
}

const row = (page: Page, url: string) => page.getByRole('row').filter({ hasText: url });

test('a pasted list is looked at before a credit is spent, then checked before the eyes', async (t) => {
  const page = await service.open(t, '/jobs', { user: newUser() });
  await page.getByRole('link', { name: 'Check your first list' }).click();
  await page.getByLabel('Or paste a list').fill(`${list()}\n${site.url}/\nexample.com/x\nno url here\n`);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: 'Check 9 URLs' }).waitFor();
  await page.getByText('9 credits').waitFor();
  await page.getByText('Invalid: 1 row').waitFor();
  await assertAccessible(t, page);
  t.is(await page.getByText('300 credits').count(), 1);
  await page.getByRole('button', { name: 'Check 9 URLs' }).click();
  await page.getByText('completed').waitFor();
  t.regex(page.url(), /\/console\/jobs\/[0-9a-f-]{36}$/);
  await row(page, '/status/404').getByText('Broken').waitFor();
});

test('the page of a job says how many URLs are in flight', async (t) => {
  const user = newUser();
  const shown = await service.open(t, '/jobs', { user });
  const { body } = await (await service.client(user)).upload(`url\n${site.url}/held\n`);
  await shown.goto(`${service.url}/console/jobs/${body.job_id}`);
  await shown.getByText('1 in flight').waitFor();
  released.resolve();
  await shown.getByText('completed').waitFor();
  t.is(await shown.getByText('in flight').count(), 0);
});

test('a second column of URLs that is left out is named before the job starts', async (t) => {
  const page = await service.open(t, '/jobs/new', { user: newUser() });
  const rows = Array.from({ length: 9 }, (_, n) => `${site.url}/${n},${n === 0 ? `${site.url}/logo` : ''}`);
  const buffer = Buffer.from(`Website,Logo\n${rows.join('\n')}\n`);
  await page.getByLabel('Drop a file here').setInputFiles({ name: 'two.csv', mimeType: 'text/csv', buffer });
  await page.getByText('URLs in other columns are left out: B: Logo.').waitFor();
  await page.getByLabel('Column').selectOption('All columns with URLs');
  await page.getByRole('button', { name: 'Check 10 URLs' }).waitFor();
  t.is(await page.getByText('are left out: B').count(), 0);
});

test('the warnings of a list speak of what the page has', async (t) => {
  const user = newUser();
  const drop = async (name: string, buffer: Buffer) => {
    const page = await service.open(t, '/jobs/new', { user });
    await page.getByLabel('Drop a file here').setInputFiles({ name, mimeType: '', buffer });
    return page;
  };
  const columns = await drop('two.csv', Buffer.from(`a,b\n${site.url}/a,${site.url}/1\n${site.url}/b,${site.url}/2\n`));
  await columns.getByText('Choose it under “Column”, or all of them.').waitFor();
  const lists = { 'one.csv': `url\n${site.url}/1\n`, 'two.csv': `url\n${site.url}/2\n`, 'notes.pdf': '%PDF-1.7' };
  const sheets = await drop('lists.zip', await zip(lists));
  await sheets.getByText('Choose one under “Sheet”.').waitFor();
  await sheets.getByText('Drop those here by themselves.').waitFor();
  for (const page of [columns, sheets]) t.is(await page.getByRole('main').getByText('`').count(), 0);
});

test('the preview says what is wrong with a row, and how many of them it shows', async (t) => {
  const page = await service.open(t, '/jobs/new', { user: newUser() });
  const rows = Array.from({ length: 21 }, (_, n) => `Status: open ${n}`);
  await page.getByLabel('Or paste a list').fill(`${site.url}/\n${rows.join('\n')}\n`);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('Invalid: 21 rows, the first 20').waitFor();
  t.is(await page.getByText('row 2 Status: open 0 text without a URL').count(), 1);
});

test('each verdict leads to its results', async (t) => {
  const user = newUser();
  const page = await service.open(t, `/jobs/${await endedJob(user)}`, { user });
  await page.getByRole('link', { name: 'Broken', exact: true }).click();
  await page.getByText(/^[1-9]\d* results?$/).waitFor();
  await row(page, '/status/404').waitFor();
  t.is(await page.getByLabel('Verdict').inputValue(), 'broken');
  await page
    .getByLabel('Status')
    .getByText(/^4xx, 5xx or unreachable \(\d+\)$/)
    .waitFor({ state: 'attached' });
  await page.getByLabel('Verdict').selectOption('Soft 404');
  await page.getByText('No result passes these filters').waitFor();
  t.true(page.url().endsWith('?verdict=soft_404'));
});

test('a dropped file is taken, and its other column can be chosen', async (t) => {
  const page = await service.open(t, '/jobs/new', { user: newUser() });
  const csv = `a,b\n${site.url}/a,${site.url}/1\n${site.url}/b,${site.url}/2\n`;
  await page
    .getByLabel('Drop a file here')
    .setInputFiles({ name: 'two.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await page.getByRole('heading', { name: 'two.csv' }).waitFor();
  await page.getByLabel('Column').selectOption({ index: 1 });
  await page.getByRole('button', { name: 'Check 2 URLs' }).click();
  await row(page, `${site.url}/2`).waitFor();
  t.pass();
});

/** Gives the page of a new job a list of one URL; the button that starts the job. */
async function readyToStart(page: Page) {
  await page.getByLabel('Or paste a list').fill(`${site.url}/1`);
  await page.getByRole('button', { name: 'Preview' }).click();
  const start = page.getByRole('button', { name: 'Check 1 URL' });
  await start.waitFor();
  return start;
}
const jobsOf = async (user: string): Promise<number> =>
  (await (await service.client(user)).ask('GET', `/jobs?email=${user}@example.com`)).body.total;

test('a file whose answer is lost is sent again, and makes one job', async (t) => {
  const user = newUser();
  const page = await service.open(t, '/jobs/new', { user });
  const start = await readyToStart(page);
  const answers: number[] = [];
  const losing = createServer(async (request) => {
    const headers = request.headers as Record<string, string>;
    const { host: _host, connection: _connection, 'content-length': _length, ...rest } = headers;
    const init = { method: 'POST', headers: rest, body: await buffer(request) };
    answers.push((await fetch(`${service.url}/jobs`, init)).status);
    request.socket.destroy();
  });
  await once(losing.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => losing.close());
  const { port } = losing.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/jobs`;
  await page.route('**/jobs', (route) => route.continue({ url }), { times: 1 });
  await start.click();
  await page.getByText('completed').waitFor();
  t.deepEqual(answers, [201]);
  t.is(await jobsOf(user), 1);
});

test('a file is sent again until the key of its lost sending is free', async (t) => {
  const page = await service.open(t, '/jobs/new', { user: newUser() });
  const start = await readyToStart(page);
  const held = { detail: 'A request with the same key is still being worked on.', code: 'idempotency_in_progress' };
  let sent = 0;
  await page.route('**/jobs', (route) =>
    ++sent > 8 ? route.continue() : route.fulfill({ status: 409, headers: { 'retry-after': '5' }, json: held }),
  );
  await page.evaluate(() => {
    const { setTimeout } = globalThis;
    Object.assign(globalThis, { setTimeout: (run: () => void, wait_ms = 0) => setTimeout(run, wait_ms / 1000) });
  });
  await start.click();
  await page.getByText('completed').waitFor();
  t.is(sent, 9);
});

test('whoever sends a file by hand after the connection broke sends it with the same key', async (t) => {
  const user = newUser();
  const page = await service.open(t, '/jobs/new', { user });
  const start = await readyToStart(page);
  const keys = new Set<string | undefined>();
  page.on('request', (request) => {
    if (request.url() === `${service.url}/jobs`) keys.add(request.headers()['idempotency-key']);
  });
  await page.route('**/jobs', (route) => route.abort());
  await start.click();
  await page.getByText('The upload broke off.').waitFor();
  await page.unroute('**/jobs');
  await start.click();
  await page.getByText('completed').waitFor();
  t.is(keys.size, 1);
  t.regex([...keys][0] ?? '', /^[0-9a-f]{32}$/);
  t.is(await jobsOf(user), 1);
});

test('a file that is sent after the session has ended leads to the sign-in', async (t) => {
  const page = await service.open(t, '/jobs/new', { user: newUser() });
  // The page never asks by itself whether the session has ended.
  await page.addInitScript(() => {
    const { setTimeout } = globalThis;
    const unlessLong = (run: () => void, wait_ms = 0) => (wait_ms < 60_000 ? setTimeout(run, wait_ms) : 0);
    Object.assign(globalThis, { setTimeout: unlessLong });
  });
  await page.reload();
  const start = await readyToStart(page);
  await page.context().clearCookies({ name: 'session' });
  await start.click();
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  t.pass();
});

test('too few credits: the page says what will happen', async (t) => {
  const page = await service.open(t, '/jobs/new', { user: newUser() });
  await page.getByLabel('Or paste a list').fill(Array.from({ length: 310 }, (_, n) => `${site.url}/${n}`).join('\n'));
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('The job checks the first 300, then waits for the other 10 credits.').waitFor();
  t.pass();
});

test('the filters are in the address, and the export has what they leave', async (t) => {
  const user = newUser();
  const job_id = await endedJob(user);
  const page = await service.open(t, `/jobs/${job_id}?status_group=4xx`, { user });
  await page.getByText('1 result').waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'CSV', exact: true }).click(),
  ]);
  const lines = (await (await download.createReadStream()).toArray()).join('').trim().split('\r\n');
  t.is(lines.length, 2);
  t.true(lines[1]!.includes('/status/404'));
  await page.keyboard.press('Escape');
  await page.getByLabel('Status').selectOption('');
  await page.getByLabel('URL contains').fill('about');
  await row(page, `${site.url}/about`).waitFor();
  t.true(page.url().endsWith('?url_contains=about'));
  await page.reload();
  await page.getByText('1 result').waitFor();
});

test('hostile data stays text, in the list, on the page and in its details', async (t) => {
  const user = newUser();
  const job_id = await endedJob(user, `${HOSTILE}\u202e.csv`);
  const page = await service.open(t, '/jobs', { user });
  await page.getByRole('row').nth(1).waitFor();
  await page.goto(`${service.url}/console/jobs/${job_id}`);
  await page.getByRole('heading', { name: 'onerror=alert(1)' }).waitFor();
  await row(page, LONG).getByRole('button').click();
  const link = page.getByRole('dialog').getByRole('link', { name: LONG });
  t.is(await link.getAttribute('rel'), 'noopener noreferrer nofollow');
  t.is(await page.locator('main img, main script, dialog img').count(), 0);
  await assertAccessible(t, page);
  await page.keyboard.press('Escape');
  t.is(await page.getByRole('dialog').count(), 0);
  await assertAccessible(t, page);
});

test('the list of jobs and the menus are accessible, empty and full, light and dark', async (t) => {
  const user = newUser();
  const page = await service.open(t, '/jobs', { user });
  await page.getByRole('heading', { name: 'You have no jobs yet' }).waitFor();
  await assertAccessible(t, page);
  const job_id = await endedJob(user);
  await page.reload();
  await page.getByRole('row').nth(1).waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: user }).click();
  await assertAccessible(t, page);
  await page.getByRole('radio', { name: 'dark' }).check();
  t.is(await page.evaluate('getComputedStyle(document.documentElement).colorScheme'), 'dark');
  await page.getByRole('radio', { name: 'system' }).check();
  await page.goto(`${service.url}/console/jobs/${job_id}`);
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('link', { name: 'CSV', exact: true }).waitFor();
  await assertAccessible(t, page);
});

test('the list follows its jobs, and the page of a job says when it is not current', async (t) => {
  const user = newUser();
  const client = await service.client(user);
  const page = await service.open(t, '/jobs', { user });
  await page.getByRole('link', { name: 'Check your first list' }).waitFor();
  // More URLs than credits: the job waits for more.
  const urls = Array.from({ length: 301 }, (_, n) => `${site.url}/?n=${n}`).join('\n');
  const { body } = await client.upload(`url\n${urls}\n`, '', 'long.csv');
  await client.ended(body.job_id);
  await page.reload();
  const events = /\/events$/;
  const results = /\/results\?/;
  await page.route(events, (route) => route.abort());
  // The page asks again by itself only then: first comes the click.
  const away = { status: 503, headers: { 'Retry-After': '30' }, json: { detail: 'It is away.' } };
  await page.route(results, (route) => route.fulfill(away));
  await page.getByRole('link', { name: 'long.csv' }).click();
  await page.getByText('what you see is not current').waitFor();
  const alert = page.getByRole('alert').filter({ hasText: 'It is away. Trying again' });
  await alert.waitFor();
  await page.unroute(results);
  await alert.getByRole('button', { name: 'Try again' }).click();
  await alert.waitFor({ state: 'detached' });
  await page.unroute(events);
  await page.getByText('what you see is not current').waitFor({ state: 'detached' });
  await page.goBack();
  await page.getByText('paused: waits for credits').waitFor();
  await client.ask('POST', `/jobs/${body.job_id}/cancel`);
  await page.getByText('cancelled', { exact: true }).nth(1).waitFor();
  t.pass();
});

test('a job is deleted only after a question, and Back leads to a page that says so', async (t) => {
  const user = newUser();
  const job_id = await endedJob(user);
  const page = await service.open(t, `/jobs/${job_id}`, { user });
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('cannot be brought back').waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('heading', { name: 'You have no jobs yet' }).waitFor();
  await page.goBack();
  await page.getByText('There is no such job.').waitFor();
  t.pass();
});

test("another user's job is not shown", async (t) => {
  const job_id = await endedJob(newUser());
  const page = await service.open(t, `/jobs/${job_id}`, { user: newUser() });
  await page.getByText('There is no such job.').waitFor();
  t.is(await page.getByText(/Request [0-9a-f-]{36}/).count(), 1);
});

test('whoever has the link of a share sees the results without an account or a script, until it is revoked', async (t) => {
  const user = newUser();
  const job_id = await endedJob(user, HOSTILE);
  const page = await service.open(t, `/jobs/${job_id}`, { user });
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Make a link' }).click();
  const url = await page.getByLabel('The link', { exact: true }).inputValue();
  await assertAccessible(t, page);

  const shared = await service.open(t, url, { has_scripts: false });
  await row(shared, `${site.url}/status/404`).getByText('broken').waitFor();
  await shared.getByLabel('Status codes').fill('gone');
  await shared.getByRole('button', { name: 'Show' }).click();
  t.is(shared.url(), url, 'the browser sends no codes that the service would refuse');
  await shared.getByLabel('Status codes').fill('500');
  await shared.getByRole('button', { name: 'Show' }).click();
  t.is(await shared.getByRole('link', { name: site.url }).count(), 1);
  t.is((await fetch(url, { headers: { accept: 'text/html' } })).headers.get('x-robots-tag'), 'noindex');
  await (await service.open(t, `${url}?offset=5000`)).getByText('None of ').waitFor();
  await assertAccessible(t, await service.open(t, url));

  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('cannot be brought back').waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Revoke the link' }).click();
  await page.getByText('revoked', { exact: true }).waitFor();
  await shared.reload();
  await shared.getByRole('heading', { name: 'This link shows nothing any more' }).waitFor();
});

test('the first page stays under 150 kB compressed', async (t) => {
  const page = await service.open(t, '/jobs', { user: newUser() });
  await page.reload();
  await page.getByRole('heading', { name: 'You have no jobs yet' }).waitFor();
  const [bytes, ms] = await page.evaluate<[number, number]>(
    "[performance.getEntriesByType('resource').reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0), performance.now()]",
  );
  t.log(
    `the first page takes ${Math.round(bytes / 1000)} kB compressed, and shows the jobs after ${Math.round(ms)} ms`,
  );
  t.true(bytes > 10_000 && bytes < 150_000, `${bytes} bytes`);
});
