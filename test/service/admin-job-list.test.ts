// Administrators find the jobs of all users, by status, by failure and by whose they are; and what robots find at the service.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { startTestService, type TestService } from '../support/service.ts';
import { openSite, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;
test.before(async () => {
  service = await startTestService();
  site = await openSite();
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

test('an administrator lists the jobs of all users and reads one', async (t) => {
  const admin = await service.client('root', { is_admin: true });
  const names = [`user-${randomUUID()}`, `user-${randomUUID()}`];
  const made: string[] = [];
  for (const name of names) {
    const key = await service.keyHolder(name);
    const { body } = await key.ask('POST', '/api/v2/jobs', { urls: [`${site.url}/${name}`], label: `label ${name}` });
    await key.ended(body.job_id);
    made.push(body.job_id);
  }
  const found = async (query: string) =>
    (await admin.ask('GET', `/admin/jobs?${query}`)).body.items.map(({ job_id }: { job_id: string }) => job_id);
  t.deepEqual((await found('limit=2')).toSorted(), made.toSorted());
  t.deepEqual(await found(`search=${names[0]}`), [made[0]]);
  t.deepEqual(await found(`search=${names[1]!.toUpperCase()}@example.com`), [made[1]]);
  t.deepEqual(await found(`search=${made[0]}`), [made[0]]);
  t.deepEqual(await found(`search=label ${names[1]}`), [made[1]]);
  t.deepEqual(await found(`search=${names[0]}&status=completed`), [made[0]]);
  t.deepEqual(await found(`search=${names[0]}&status=failed`), []);
  t.deepEqual(await found(`failure_reason=no_progress`), []);
  const { body } = await admin.ask('GET', `/admin/jobs/${made[0]}`);
  t.like(body, { job_id: made[0], owner_id: names[0], owner_email: `${names[0]}@example.com`, status: 'completed' });
  const user = await service.client(names[0]!);
  t.is((await user.ask('GET', '/admin/jobs')).status, 403);
});

test('an entry of the blocklist keeps what a request does not name', async (t) => {
  const admin = await service.client('root', { is_admin: true });
  const domain = `${randomUUID()}.example`;
  const block = async (body: object) => (await admin.ask('POST', '/domains/blocked', { domain, ...body })).body;
  t.like(await block({ reason: 'A letter came.', error_codes: ['451'] }), { block_type: 'other' });
  t.like(await block({ block_type: 'legal' }), { reason: 'A letter came.', block_type: 'legal', error_codes: ['451'] });
  t.like(await block({ error_codes: [] }), { reason: 'A letter came.', block_type: 'legal', error_codes: [] });
});

test('robots find what they may read, and models where the documents are', async (t) => {
  const robots = await fetch(`${service.url}/robots.txt`);
  t.is(robots.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.regex(await robots.text(), /^User-agent: \*\nAllow: \/docs\n.*Disallow: \/\n$/s);
  const text = await (await fetch(`${service.url}/llms.txt`)).text();
  for (const [, link] of text.matchAll(/\]\((http[^)]+)\)/g)) {
    const { status } = await fetch(link!.replace(/^http:\/\/[^/]+/, service.url));
    t.true(status === 200 || status === 405, `${link}: ${status}`);
  }
});
