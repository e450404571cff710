// `node test/web/screenshots.ts`: remakes the pictures of docs/console.md with a service, a website and jobs of its own.
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { startConsole } from '../support/console.ts';
import { page as answer, openSite } from '../support/sites.ts';

const FOLDER = join(import.meta.dirname, '../../docs/console');
const SLOW_MS = 1500;
const WINDOW: BrowserContextOptions = {
  viewport: { width: 860, height: 500 },
  locale: 'en-GB',
  timezoneId: 'Europe/Berlin',
  reducedMotion: 'reduce',
};
const USER = 'alice';
const FILE = 'shop.csv';

const SOUND = [
  '/',
  '/about',
  '/cookery',
  '/delivery',
  '/letters',
  '/maps',
  '/novels',
  '/poetry',
  '/travel',
  '/atlases',
];
const statuses = new Map([
  ['/basket', 500],
  ['/withdrawn', 410],
  ['/catalog', 404],
  ['/staff', 403],
]);
const redirects = new Map([
  ['/old-about', '/about'],
  ['/loop/a', '/loop/b'],
  ['/loop/b', '/loop/a'],
  ['/spring', '/hop'],
  ['/hop', '/catalogue'],
]);
const site = await openSite((request, response) => {
  const path = request.url!;
  const location = redirects.get(path);
  if (location) return void response.writeHead(301, { location }).end();
  request.url = `/status/${statuses.get(path.split('?')[0]!) ?? 200}`;
  if (path.startsWith('/slow/')) setTimeout(() => answer(request, response), SLOW_MS);
  else answer(request, response);
});
const service = await startConsole({ WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' });
const shop = [...SOUND, ...statuses.keys(), ...redirects.keys()].map((path) => `${site.url}${path}`);
try {
  await takeAll();
} finally {
  await service.stop();
  await site.close();
}

async function takeAll(): Promise<void> {
  const client = await service.client(USER);
  const submit = async (urls: readonly string[], filename: string): Promise<string> =>
    (await client.upload(`url\n${urls.join('\n')}\n`, '', filename)).body.job_id;
  const ended = async (job_id: string) => {
    await client.ended(job_id);
    return job_id;
  };

  const earlier = await ended(await submit([...shop, `${site.url}/summer`], FILE));
  // What changes on the website between the two checks of its list.
  statuses.set('/travel', 404).set('/maps', 503).delete('/basket');
  redirects.set('/novels', '/catalogue');
  const later = await ended(await submit([...shop, `${site.url}/autumn`], FILE));
  await ended(await submit([`${site.url}/`, `${site.url}/about`], 'newsletter.csv'));
  const running = await submit(
    Array.from({ length: 120 }, (_, n) => `${site.url}/${n % 5 === 0 ? 'catalog?' : 'slow/'}${n}`),
    'archive.csv',
  );
  const shared = (await client.ask('POST', `/jobs/${later}/share`, {})).body.url as string;

  const stranger = await (await service.browser.newContext(WINDOW)).newPage();
  await stranger.goto(`${service.url}/console/sign-in`);
  await stranger.getByRole('heading', { name: 'Sign in' }).waitFor();
  await take(stranger, 'sign-in');
  await stranger.goto(shared);
  await take(stranger, 'share');

  const hook = (await client.ask('POST', '/webhooks/endpoints', { url: `${site.url}/hook` })).body.id as string;
  await client.ask('POST', `/webhooks/endpoints/${hook}/test`);
  await ended(await submit(shop.slice(0, 4), 'banner.csv'));

  const page = await signedIn(USER);
  const show = (path: string) => page.goto(`${service.url}/console${path}`);
  await show(`/jobs/${running}`);
  await page.getByRole('heading', { name: 'Verdicts' }).waitFor();
  await page.getByRole('row').nth(2).waitFor();
  await take(page, 'job');
  await show('/jobs');
  await page.getByRole('row').nth(4).waitFor();
  await take(page, 'jobs');
  await client.ask('POST', `/jobs/${running}/cancel`);

  await show('/jobs/new');
  await page.getByLabel('Or paste a list').fill([...shop, `${site.url}/`, 'example.com/x', 'no url'].join('\n'));
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: /^Check \d+ URLs$/ }).waitFor();
  await take(page, 'new-job');

  await show(`/jobs/${later}?verdict=broken`);
  await page.getByRole('row').nth(1).getByRole('button').waitFor();
  await page.evaluate("document.querySelector('.results').scrollIntoView()");
  await take(page, 'results');
  await show(`/jobs/${later}?verdict=unreachable`);
  await page.getByRole('row').filter({ hasText: '/loop/a' }).getByRole('button').click();
  await page.getByRole('dialog').waitFor();
  await take(page, 'details');

  await page.emulateMedia({ colorScheme: 'dark' });
  await show(`/jobs/${later}/changes?since=${earlier}`);
  await page.getByRole('row').nth(1).waitFor();
  await take(page, 'compare');

  await page.emulateMedia({ colorScheme: 'light' });
  await show(`/account/webhooks/${hook}`);
  await page.getByText('delivered').nth(1).waitFor();
  await take(page, 'webhook');

  const admin = await signedIn('root', true);
  await admin.route(/\/admin\/growth-dashboard/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    await route.fulfill({ response, json: { ...json, series: json.series.map(drawnDay) } });
  });
  await admin.goto(`${service.url}/console/admin/growth?period=90d`);
  await admin.locator('canvas').nth(3).waitFor();
  await admin.evaluate("document.querySelector('.charts').scrollIntoView()");
  await take(admin, 'growth');
  await admin.goto(`${service.url}/console/admin/logs?non_2xx=true`);
  await admin.getByRole('row').nth(4).waitFor();
  await admin.evaluate("document.querySelector('.section').scrollIntoView()");
  await take(admin, 'worker-log');
  await admin.goto(`${service.url}/console/admin/domains/127.0.0.1`);
  await admin.getByRole('row').nth(4).waitFor();
  await take(admin, 'domain');
}

/** A day of a service that has been used for longer than this one. */
function drawnDay(point: object, n: number) {
  const week = 1 + Math.sin(n * 0.9) / 4;
  const grown = Math.round(400 + n * 9 + Math.sin(n / 5) * 20);
  return {
    ...point,
    users: grown,
    mau: Math.round(grown * 0.6),
    wau: Math.round(grown * 0.35 * week),
    dau: Math.round(grown * 0.12 * week),
    jobs: Math.round(40 * week + n),
    signups: Math.round(9 * week),
    urls_checked: Math.round(90_000 * week + n * 800),
    ...{ broken_urls: Math.round(5_000 * week), soft_404_urls: Math.round(1_800 * week) },
    ...{ paying_customers: Math.round(60 + n), mrr_cents: 190_000 + n * 2_900 },
  };
}

async function signedIn(user: string, is_admin = false): Promise<Page> {
  const page = await (await service.browser.newContext(WINDOW)).newPage();
  await page.goto(await service.link(user, is_admin));
  await page.getByRole('button', { name: user }).waitFor();
  return page;
}

async function take(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' });
}
