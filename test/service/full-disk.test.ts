// A service whose files may not grow, as on a full disk: it answers reads, refuses writes, and goes on by itself.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { until } from '../support/behind.ts';
import { assertExactFolder } from '../support/ledger.ts';
import { openTestClient } from '../support/service.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { openSite } from '../support/sites.ts';

const URLS = 300;

/** No file of the service grows past so many bytes: the system refuses as it does without room. */
const limitOf =
  ({ pid }: ServiceProcess) =>
  (bytes: number | 'unlimited') =>
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);

test('without room the service answers reads and refuses writes, and loses nothing', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-full-'));
  let answered = 0;
  const held: (() => void)[] = [];
  const site = await openSite((_, response) => {
    const answer = () => response.end('late');
    answered += 1;
    if (answered <= 50) answer();
    else held.push(answer);
  });
  const service = await startServiceProcess({
    DATA_DIR: data_dir,
    LOG_FILE: join(data_dir, 'service.log'),
    SIGNUP_CREDITS: '1000',
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    CHECKER_RETRIES: '0',
    CHECKER_PER_HOST: '300',
    CHECKER_TIMEOUT_MS: '120000',
  });
  const limitFiles = limitOf(service);
  try {
    const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
    const alice = openTestClient(service.url, token);
    const urls = Array.from({ length: URLS }, (_, i) => `${site.url}/${i}`);
    const { body: created } = await alice.upload(urls.join('\n'));
    await until(() => held.length > 0);

    limitFiles(4096);
    for (const answer of held.splice(0)) answer();
    const refused = await alice.upload(urls.join('\n'));
    t.is(refused.status, 503, JSON.stringify(refused.body));
    t.is(refused.body.code, 'storage_full');
    t.truthy(refused.headers.get('retry-after'));
    const small = await alice.ask('POST', '/users/me/api-keys', { name: 'test' });
    t.deepEqual([small.status, small.body.code], [503, 'storage_full']);
    t.is((await alice.ask('GET', `/jobs/${created.job_id}`)).body.status, 'processing');
    t.is((await alice.ask('GET', '/healthz')).status, 200);
    // The roles cannot say that they live, so it is not ready; and they outlive several tries.
    await until(async () => (await alice.ask('GET', '/readyz')).status === 503);
    for (const answer of held.splice(0)) answer();
    t.is((await alice.ask('GET', `/jobs/${created.job_id}`)).body.status, 'processing');

    limitFiles('unlimited');
    const answering = setInterval(() => {
      for (const answer of held.splice(0)) answer();
    }, 20);
    const job = await alice.ended(created.job_id);
    clearInterval(answering);
    t.like(job, { status: 'completed', completed_urls: URLS });
    await until(async () => (await alice.ask('GET', '/readyz')).status === 200);
    const again = await alice.upload(`${site.url}/again`);
    t.is(again.status, 201);
    const answering_again = setInterval(() => {
      for (const answer of held.splice(0)) answer();
    }, 20);
    t.is((await alice.ended(again.body.job_id)).status, 'completed');
    clearInterval(answering_again);
    t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, 1000 - URLS - 1);
    t.is(await service.stop(), 0);
    t.deepEqual(await readdir(join(data_dir, 'uploads')), [], 'nothing stays of what was refused');
    await assertExactFolder(t, data_dir);
  } finally {
    await service.kill();
    await site.close();
    await rm(data_dir, { recursive: true, force: true });
  }
});

for (const [where, leaveBehind] of Object.entries({
  'an empty folder': async () => {},
  'the folder of a service that was killed': async (env: Record<string, string>) => {
    const service = await startServiceProcess(env);
    await openTestClient(service.url, await tokenOf(env.DATA_DIR!)).upload('http://127.0.0.1:9/');
    await service.kill();
  },
})) {
  test(`a service that starts without room in ${where} says so once, waits, and continues with room`, async (t) => {
    t.timeout(300_000);
    const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-full-'));
    t.teardown(() => rm(data_dir, { recursive: true, force: true }));
    const env = { DATA_DIR: data_dir, LOG_LEVEL: 'warn', CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8', CHECKER_RETRIES: '0' };
    const token = await tokenOf(data_dir);
    await leaveBehind(env);
    const service = await startServiceProcess(env, ['prlimit', '--fsize=0:']);
    t.teardown(service.kill);
    const alice = openTestClient(service.url, token);
    t.is((await alice.ask('GET', '/healthz')).status, 200);
    const { status, body } = await alice.ask('GET', '/readyz');
    t.is(status, 503);
    t.regex(body.checks.start.detail, /there is no room to write/);
    const refused = await alice.upload('http://127.0.0.1:9/');
    t.deepEqual([refused.status, refused.body.code], [503, 'storage_full']);
    t.truthy(refused.headers.get('retry-after'));
    const told = service.output().match(/^.*waiting for room.*$/gm) ?? [];
    const of_threads = new Set(told.map((line) => String(JSON.parse(line).roles)));
    t.is(told.length, of_threads.size, 'each thread says so once');

    limitOf(service)('unlimited');
    await until(async () => (await alice.ask('GET', '/readyz')).status === 200);
    const created = await alice.upload('http://127.0.0.1:9/again');
    t.is((await alice.ended(created.body.job_id)).status, 'completed');
    t.is(await service.stop(), 0);
    await assertExactFolder(t, data_dir);
  });
}

test('a service that waits for room stops on SIGTERM', async (t) => {
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-full-'));
  t.teardown(() => rm(data_dir, { recursive: true, force: true }));
  for (const ROLES of ['http', 'projector,processes', 'checker']) {
    const service = await startServiceProcess({ DATA_DIR: data_dir, ROLES }, ['prlimit', '--fsize=0:']);
    t.is(await service.stop(), 0, ROLES);
  }
});

const tokenOf = (data_dir: string) =>
  issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
