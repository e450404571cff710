// Every page of the table of pages on a phone, in both themes; and how smoothly a long table of results scrolls. Each page's own test
// looks at it on a desktop.
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { until } from '../support/behind.ts';
import { appendCheckedJob } from '../support/checked-job.ts';
import { assertAccessible, startConsole, type TestConsole } from '../support/console.ts';
import { dragScrollBar, framesOf, memoryOf, wheel } from '../support/frames.ts';

const USER = 'alice';
const URLS = 20_000;
/** More would mean that rows out of view stay. */
const MAX_ELEMENTS = 1000;
const SETTLED = 'main :is(h1, .empty, .failure)';

/** Of `web/app/pages.ts`, whose types are those of browsers. */
let pages: readonly { path: string; access: string }[];
let service: TestConsole;
let job_id: string;
let endpoint_id: string;
test.before(async () => {
  pages = (await import(join(import.meta.dirname, '../../web/app/pages.ts'))).PAGES;
  service = await startConsole();
  const log = await openSqliteEventStore({ path: join(service.data_dir, 'events.db') });
  job_id = await appendCheckedJob(log, { urls: URLS, hosts: 500, owner_id: USER });
  await log.close();
  const client = await service.client(USER);
  endpoint_id = (await client.ask('POST', '/webhooks/endpoints', { url: 'https://example.com/hook' })).body.id;
  await until(async () => (await client.ask('GET', `/jobs/${job_id}`)).body.completed_urls === URLS);
});
test.after.always(() => service?.stop());

for (const access of ['user', 'admin'] as const) {
  test(`each page for ${access}s is accessible on a phone`, async (t) => {
    const visitor = access === 'user' ? { user: USER } : { user: 'root', is_admin: true };
    const page = await service.open(t, '/jobs', { ...visitor, width: 360 });
    // The tests of domains and proxies have such things to show.
    const params: Record<string, string> = { job_id, endpoint_id, user_id: USER };
    for (const { path } of pages.filter((one) => one.access === access)) {
      const name = /\{(\w+)\}/.exec(path)?.[1];
      if (name !== undefined && params[name] === undefined) continue;
      await page.goto(`${service.url}/console${name === undefined ? path : path.replace(`{${name}}`, params[name]!)}`);
      await page.locator(SETTLED).first().waitFor();
      await assertAccessible(t, page);
    }
  });
}

test('a long table of results scrolls with the elements of the rows in view alone', async (t) => {
  const page = await service.open(t, `/jobs/${job_id}`, { user: USER });
  await page.locator('.grid tbody button').nth(10).waitFor();
  const before = await memoryOf(page);
  const [turned, dragged] = [
    await framesOf(page, () => wheel(page, 150)),
    await framesOf(page, () => dragScrollBar(page, 150)),
  ];
  const after = await memoryOf(page);
  for (const [by, { median_fps, worst_fps }] of Object.entries({ wheel: turned, 'scroll bar': dragged })) {
    t.log(`${by}: median ${median_fps.toFixed(0)} frames a second, worst ${worst_fps.toFixed(0)}`);
  }
  t.log(`heap ${before.heap_mb.toFixed(1)} MB before, ${after.heap_mb.toFixed(1)} MB after`);
  t.true(after.elements < MAX_ELEMENTS, `${after.elements} elements`);
});
