// Pages over which the checker's thread hangs, or ends: the service finds the URL, gives it up, and checks all others.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { openBehind } from '../support/behind.ts';
import { openTestClient } from '../support/service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { html, page, startTestSite } from '../support/test-site.ts';

const PLANTED = new URL('../support/planted-parser.ts', import.meta.url).href;

async function startWorld() {
  const data_dir = await mkdtemp(join(tmpdir(), 'checker-fault-'));
  const site = await startTestSite({
    behaviours: {
      '/p/*': ({ path }, socket) => page(socket, html(`Planted: ${path.split('/')[2]}`, path).toLowerCase()),
    },
  });
  const service = await startServiceProcess({
    DATA_DIR: data_dir,
    NODE_OPTIONS: `--import ${PLANTED}`,
    LOG_LEVEL: 'fatal',
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    CHECKER_RETRIES: '0',
    CHECKER_ACK_WAIT_MS: '2000',
    METRICS_ON_PORT: 'on',
  });
  const close = async () => {
    await service.kill();
    await site.close();
    await rm(data_dir, { recursive: true, force: true });
  };
  const client = async (user_id: string) => {
    const behind = await openBehind(data_dir);
    const position = await behind.grant(user_id, 1000);
    await behind.close();
    const token = await issueLocalToken(data_dir, {
      user_id,
      email: `${user_id}@example.com`,
      is_admin: false,
      hours: 1,
    });
    const its = openTestClient(service.url, token);
    return { ...its, position };
  };
  return { site, service, client, close };
}
type World = Awaited<ReturnType<typeof startWorld>>;

let world: World;
test.before(async () => {
  world = await startWorld();
});
test.after.always(() => world?.close());

const urlsOf = ({ site }: World, job: string, count: number, planted: readonly string[]) =>
  [
    ...Array.from({ length: count }, (_, i) => `${site.origin}/p/${job}/${i}`),
    ...planted.map((what) => `${site.origin}/p/${what}/${job}`),
  ].toSorted();

async function resultsOf(client: Awaited<ReturnType<World['client']>>, urls: readonly string[]) {
  const { body } = await client.upload(urls.join('\n'), '', 'urls.txt');
  const job = await client.ended(body.job_id);
  const { body: results } = await client.ask('GET', `/jobs/${body.job_id}/results?limit=1000`);
  return { job, results: results.items as { url: string; verdict: string; error_code: string | null }[] };
}

test.serial('the checker gives up a page that hangs it, and checks every other URL', async (t) => {
  t.timeout(300_000);
  const jobs = [
    { user: 'alice', urls: urlsOf(world, 'a', 60, ['hang']) },
    { user: 'bob', urls: urlsOf(world, 'b', 60, []) },
  ];
  const ended = await Promise.all(
    jobs.map(async ({ user, urls }) => ({ urls, ...(await resultsOf(await world.client(user), urls)) })),
  );
  for (const { urls, job, results } of ended) {
    t.like(job, { status: 'completed', completed_urls: urls.length });
    t.deepEqual(results.map(({ url }) => url).toSorted(), urls);
    for (const { url, verdict, error_code } of results) {
      const is_planted = url.includes('/hang/');
      t.like(
        { verdict, error_code },
        is_planted ? { verdict: 'unreachable', error_code: 'checker_fault' } : { verdict: 'ok', error_code: null },
        url,
      );
    }
  }
  const metrics = await (await fetch(`${world.service.url}/metrics`)).text();
  t.regex(metrics, /^checker_threads_replaced_total 1$/m);
  // The thread that replaces another one continues with its counts.
  const checked = [...metrics.matchAll(/^checker_checks_total\{verdict="\w+"\} (\d+)$/gm)];
  t.true(checked.reduce((sum, [, count]) => sum + Number(count), 0) >= jobs.flatMap(({ urls }) => urls).length);
});

test.serial('the checker gives up a page that takes all memory, and one that makes a parser throw', async (t) => {
  t.timeout(300_000);
  const urls = urlsOf(world, 'c', 40, ['memory', 'throw']);
  const { job, results } = await resultsOf(await world.client('carol'), urls);
  t.like(job, { status: 'completed', completed_urls: urls.length });
  const faults = results.filter(({ error_code }) => error_code === 'checker_fault').map(({ url }) => url);
  t.deepEqual(
    faults.toSorted(),
    urls.filter((url) => /memory|throw/.test(url)),
  );
  t.is(results.filter(({ verdict }) => verdict === 'ok').length, 40);
});
