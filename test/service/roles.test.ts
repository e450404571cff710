// Roles as processes of their own over one folder, and a service that ends as it should.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { assertExactFolder } from '../support/ledger.ts';
import { openTestClient } from '../support/service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { openSite } from '../support/sites.ts';

test('http, projector, processes and two checkers as processes over one folder complete a job', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-roles-'));
  const site = await openSite();
  const env = { DATA_DIR: data_dir, SIGNUP_CREDITS: '1000', CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8' };
  const ROLES = ['http', 'projector', 'processes', 'checker', 'checker'];
  const running = await Promise.all(ROLES.map((role) => startServiceProcess({ ...env, ROLES: role })));
  try {
    const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
    const alice = openTestClient(running[0]!.url, token);
    const urls = Array.from({ length: 300 }, (_, i) => `${site.url}/${i}`);
    const { body: created } = await alice.upload(urls.join('\n'));
    const job = await alice.ended(created.job_id);
    t.like(job, { status: 'completed', completed_urls: 300 });
    for (const url of urls) t.is(site.asked.get(url.slice(site.url.length)), 1, url);
    for (const service of running) t.is(await service.stop(), 0);
    await assertExactFolder(t, data_dir);
  } finally {
    await Promise.all(running.map((service) => service.kill()));
    await site.close();
    await rm(data_dir, { recursive: true, force: true });
  }
});

test('a service that stops during a job exits with 0, and continues the job after its start', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-stop-'));
  const site = await openSite((_, response) => setTimeout(() => response.end('late'), 100));
  const env = { DATA_DIR: data_dir, CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8' };
  const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
  let service = await startServiceProcess(env);
  try {
    const urls = Array.from({ length: 300 }, (_, i) => `${site.url}/${i}`);
    const { body: created } = await openTestClient(service.url, token).upload(urls.join('\n'));
    while (site.asked.size < 20) await new Promise((resolve) => setTimeout(resolve, 5));
    t.is(await service.stop(), 0);
    t.true(site.asked.size < 300, 'it ended in the middle');
    service = await startServiceProcess(env);
    const job = await openTestClient(service.url, token).ended(created.job_id);
    t.like(job, { status: 'completed', completed_urls: 300 });
    t.is(await service.stop(), 0);
    t.deepEqual(await readdir(join(data_dir, 'uploads')).catch(() => []), []);
    await assertExactFolder(t, data_dir);
  } finally {
    await service.kill();
    await site.close();
    await rm(data_dir, { recursive: true, force: true });
  }
});
