// Administration in a browser of a service that checks nothing, so that a test says what checkers found: the pool of proxies, a job that
// failed, and the trail of what administrators did.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { openJobs } from '../../commands/jobs/job.ts';
import { assertAccessible, newUser, startConsole, type TestConsole } from '../support/console.ts';
import { observeProxy } from '../support/observed-proxy.ts';
import { commandContext, openFolderLog } from '../support/stores.ts';

const ROOT = { user: 'root', is_admin: true };
const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e${'🦊'.repeat(500)}`;

let service: TestConsole;
let folder: string;
const list = () => join(folder, 'proxies.txt');
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proxies-'));
  await writeFile(list(), '');
  service = await startConsole({ PROXY_LIST_URL: pathToFileURL(list()).href, ROLES: 'http,projector,processes' });
});
test.after.always(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** As a checker tells what it found. */
async function troubled(proxy: { proxy_id: string; address: string }): Promise<void> {
  const log = await openFolderLog(service.data_dir);
  await observeProxy(log, proxy, ['shop.example']);
  await log.close();
}

test('the list is reloaded, a proxy is found, and its troubled domains are listed', async (t) => {
  const root = await service.client('root', { is_admin: true });
  const page = await service.open(t, '/admin/proxies', ROOT);
  await page.getByRole('heading', { name: 'No proxy matches' }).waitFor();
  await page.getByRole('button', { name: 'Read the list now' }).click();
  await page.getByRole('alert').getByText('it names no proxy').waitFor();
  await assertAccessible(t, page);
  await writeFile(list(), 'http://user:secret@127.0.0.1:1\nhttp://127.0.0.1:2\n');
  await page.getByRole('button', { name: 'Read the list now' }).click();
  await page.getByText('The list has 2 proxies: 2 new, 0 gone.').waitFor();
  await page.getByRole('row').nth(2).waitFor();
  t.false((await page.content()).includes('secret'));

  const [proxy] = (await root.ask('GET', '/proxies?search=:1')).body.items;
  await troubled(proxy);
  while ((await root.ask('GET', '/proxies/stats')).body.requests === 0);
  await page.reload();
  await page.getByRole('link', { name: 'degraded 1' }).click();
  await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
  await page.getByLabel('Search').fill(':1');
  await page.waitForURL('**/admin/proxies?status=degraded&search=%3A1');
  await page.getByRole('cell', { name: '60%' }).waitFor();
  await assertAccessible(t, page);
  await page.getByRole('link', { name: '1 troubled domains of http://127.0.0.1:1' }).click();
  await page.getByRole('row', { name: 'shop.example blocked 1' }).waitFor();
  await assertAccessible(t, page);
  await page.getByLabel('Search').fill('other');
  await page.getByRole('heading', { name: 'No troubled domain matches' }).waitFor();
});

test('hostile addresses stay text', async (t) => {
  const page = await service.open(t, '/jobs', ROOT);
  const item = { status: 'removed', success_rate: null, block_rate: null, latency_ms: null, requests: 0, timed_out: 0 };
  const times = { last_used_at: null, quarantined_since: null, retry_at: null, listed_at: null, removed_at: null };
  const proxy = { proxy_id: HOSTILE, address: HOSTILE, ...item, failed: 0, troubled_domains: 0, ...times };
  await page.route(/\/proxies\?/, (route) =>
    route.fulfill({ json: { items: [proxy], total: 1, page: 1, page_size: 25 } }),
  );
  await page.goto(`${service.url}/console/admin/proxies`);
  await page.getByRole('cell', { name: 'onerror' }).first().waitFor();
  t.is(await page.locator('main img, main script').count(), 0);
  await assertAccessible(t, page);
});

test('a failed job is run again, its file downloaded, and the audit trail has both', async (t) => {
  const user = newUser();
  const client = await service.client(user);
  const { job_id } = (await client.upload('url\nhttp://127.0.0.1:9/\n', '', `${HOSTILE.slice(0, 90)}.csv`)).body;
  const log = await openFolderLog(service.data_dir);
  const failed = await openJobs(log).run(job_id, { type: 'fail', reason: 'no_progress' }, commandContext());
  await log.close();
  t.true(failed.ok);
  while ((await client.ask('GET', `/jobs/${job_id}`)).body.status !== 'failed');
  const page = await service.open(t, `/admin/users/${user}`, ROOT);
  await page.getByRole('heading', { name: '1 job on 1 day' }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Get the file' }).click(),
  ]);
  const text = (await (await download.createReadStream()).toArray()).join('');
  t.is(text, 'url\nhttp://127.0.0.1:9/\n');
  await page.getByRole('button', { name: 'Run again' }).click();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Run it again' }).click();
  const jobs = page.getByRole('table', { name: 'Jobs' });
  await jobs.getByRole('row').nth(2).waitFor();
  t.is(await page.locator('main img, main script').count(), 0);
  await assertAccessible(t, page);
  await jobs.getByRole('row').filter({ hasText: 'failed' }).getByRole('link').click();
  await page.getByRole('heading', { name: 'No entry passes these filters' }).waitFor();
  t.true(page.url().endsWith(`/admin/logs?job_id=${job_id}`));

  await page.goto(`${service.url}/console/admin/audit-trail?offset=-1`);
  const entry = page.getByRole('row').filter({ hasText: 'job rerun' }).filter({ hasText: user });
  await entry.getByRole('link', { name: 'job rerun' }).click();
  await page.getByLabel('only: job rerun').waitFor();
  await assertAccessible(t, page);
  await page.getByLabel('By the administrator').fill('nobody');
  await page.getByLabel('By the administrator').press('Enter');
  await page.getByRole('heading', { name: 'No administrator did anything like that' }).waitFor();
  t.true(page.url().endsWith('?action=job_rerun&admin_id=nobody'));
});
