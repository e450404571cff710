// The worker log from outside: what checkers did, found by each filter, and deleted by administrators or with its job.
import test from 'ava';
import { openErasures } from '../../commands/users/user.ts';
import { openBehind, until } from '../support/behind.ts';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { commandContext } from '../support/stores.ts';
import { startTestSite, type TestSite } from '../support/test-site.ts';

let service: TestService;
let site: TestSite;
let admin: TestClient;
let alice: TestClient;

test.before(async () => {
  [service, site] = await Promise.all([startTestService({ CHECKER_RETRIES: '1' }), startTestSite()]);
  [admin, alice] = await Promise.all([service.client('root', { is_admin: true }), service.client('alice')]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

const logs = async (query: string) => (await admin.ask('GET', `/logs?${query}`)).body;
// biome-ignore lint/suspicious/noExplicitAny: what a test looks at it knows
type Entry = any;

async function checked(paths: readonly string[], entries: number): Promise<string> {
  const urls = paths.map((path) => (path.includes('://') ? path : `http://127.0.0.1:${site.port}${path}`));
  const { body } = await alice.upload(urls.join('\n'));
  await alice.ended(body.job_id);
  await until(async () => (await logs(`job_id=${body.job_id}`)).total === entries);
  return body.job_id;
}

test.serial('each attempt has an entry, which each filter finds', async (t) => {
  // The second attempt at the third URL succeeds; the last URL has no answer.
  const job_id = await checked(['/fine', '/status/404', '/503-once', 'http://127.0.0.1:1/refused'], 5);
  const { items, page, page_size } = await logs(`job_id=${job_id}`);
  t.deepEqual([page, page_size], [1, 100]);
  const by_url = Object.groupBy(items as Entry[], ({ url }) => new URL(url).pathname);
  t.like(by_url['/fine']![0], { job_id, domain: '127.0.0.1', status_code: 200, error_code: null, attempt: 1 });
  t.regex(by_url['/fine']![0].worker, /^[0-9a-f]{8}$/);
  t.is(by_url['/fine']![0].proxy_id, null);
  t.true(by_url['/fine']![0].duration_ms >= 0);
  t.deepEqual(
    by_url['/503-once']!.map(({ attempt, status_code }: Entry) => [attempt, status_code]),
    [
      [2, 200],
      [1, 503],
    ],
  );
  t.like(by_url['/refused']![0], { status_code: null, error_code: 'connection_refused', duration_ms: null });
  t.is(new Set(items.map(({ log_id }: Entry) => log_id)).size, 5);

  const totals = { 'domain=127.0.0.1': 5, 'domain=HTTP://127.0.0.1/': 5, 'domain=other.example': 0 };
  for (const [query, total] of Object.entries({
    ...totals,
    'status_code=200': 2,
    'status_code=503': 1,
    'non_2xx=true': 3,
    'non_2xx=false': 5,
    'has_error=true': 1,
    'has_error=false': 4,
    'non_2xx=true&has_error=false': 2,
    'status_code=200&has_error=true': 0,
  })) {
    t.is((await logs(`job_id=${job_id}&${query}`)).total, total, query);
  }
  const pages = [1, 2, 3, 4].map((each) => logs(`job_id=${job_id}&page_size=2&page=${each}`));
  t.deepEqual(
    (await Promise.all(pages)).flatMap((each) => each.items),
    items,
  );
  t.is((await admin.ask('GET', '/logs?page_size=1001')).status, 422);
  t.is((await admin.ask('GET', '/logs?page=0')).status, 422);

  const options = (await admin.ask('GET', '/logs/filter-options')).body;
  t.true(options.domains.some(({ domain }: Entry) => domain === '127.0.0.1'));
  t.true(options.status_codes.some(({ status_code }: Entry) => status_code === null));
  const stats = (await admin.ask('GET', '/logs/stats?hours=2')).body;
  t.is(stats.series.length, 2);
  t.is(stats.totals.entries, (await logs('')).total);
});

test.serial('an administrator deletes one entry, some, and all', async (t) => {
  const job_id = await checked(['/fine', '/status/404', '/status/500'], 3);
  const [{ log_id }] = (await logs(`job_id=${job_id}&status_code=404`)).items;
  t.is((await admin.ask('DELETE', `/logs/${log_id}`)).status, 204);
  t.is((await logs(`job_id=${job_id}`)).total, 2);
  t.is((await admin.ask('DELETE', `/logs/${log_id}`)).status, 404);
  t.is((await admin.ask('DELETE', '/logs/no-entry')).status, 404);

  for (const query of ['', '?non_2xx=false', '?older_than_hours=0']) {
    const refused = await admin.ask('DELETE', `/logs${query}`);
    t.deepEqual([refused.status, refused.body.detail[0].type], [422, 'filter_required']);
  }
  const some = await admin.ask('DELETE', `/logs?job_id=${job_id}&non_2xx=true`);
  t.deepEqual([some.status, some.body], [200, { deleted: 1 }]);
  t.deepEqual(
    (await logs(`job_id=${job_id}`)).items.map(({ status_code }: Entry) => status_code),
    [200],
  );
  t.deepEqual((await admin.ask('DELETE', `/logs?job_id=${job_id}&older_than_hours=1`)).body, { deleted: 0 });
  t.is((await logs(`job_id=${job_id}`)).total, 1);
  t.deepEqual((await admin.ask('DELETE', `/logs?job_id=${job_id}&older_than_hours=0`)).body, { deleted: 1 });

  t.true((await logs('')).total > 0);
  t.is((await admin.ask('POST', '/logs/truncate')).status, 200);
  t.is((await logs('')).total, 0);
  t.is((await alice.ask('GET', `/jobs/${job_id}/results`)).body.total, 3, 'the results stay');
});

test.serial('the entries of a deleted job go with it', async (t) => {
  const [deleted, kept] = [await checked(['/fine', '/status/404'], 2), await checked(['/fine'], 1)];
  t.is((await alice.ask('DELETE', `/jobs/${deleted}`)).status, 200);
  await until(async () => (await logs(`job_id=${deleted}`)).total === 0);
  t.is((await logs(`job_id=${kept}`)).total, 1);
});

test.serial('an erased user is in no entry of the worker log, and in none of its filters', async (t) => {
  const ada = await service.client('ada');
  const { body } = await ada.upload('http://analytical-engine.invalid/a\nhttp://analytical-engine.invalid/b\n');
  await ada.ended(body.job_id);
  await until(async () => (await logs('domain=analytical-engine.invalid')).total > 0);
  const behind = await openBehind(service.data_dir);
  t.teardown(() => behind.close());
  await openErasures(behind.log).erase('ada', commandContext());
  await until(async () => (await logs('domain=analytical-engine.invalid')).total === 0);
  t.is((await logs(`job_id=${body.job_id}`)).total, 0);
  await until(
    async () => !JSON.stringify((await admin.ask('GET', '/logs/filter-options')).body).includes('analytical'),
  );
  t.false(JSON.stringify(await logs('page_size=200')).includes(body.job_id));
});
