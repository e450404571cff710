// kill -9 at any moment of jobs: after a start each finishes, with one result for each URL and the right charge.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { assertExactFolder } from '../support/ledger.ts';
import { type Answer, openTestClient } from '../support/service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { openSite, page } from '../support/sites.ts';

const KILLS = 3;
/** Jobs under way at each kill: each begins when the one before it has had a random number of requests. */
const JOBS = 4;
const URLS = 100;
/** The moments are between any two requests of a job, and up to this long after one: a job takes about ten times as long. */
const LATER_MS = 30;

/** Asks as clients do: after 503 again, because an embedded store that was busy for too long, or documents behind the log, changed nothing. */
async function answered(ask: () => Promise<Answer>): Promise<Answer> {
  let answer = await ask();
  await until(async () => answer.status !== 503 || (answer = await ask()).status !== 503);
  return answer;
}

test('twelve jobs outlive kill -9, each at a random moment', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-crash-'));
  // Slow enough that a job is under way for a while.
  const site = await openSite((request, response) => setTimeout(page, 10, request, response));
  const env = {
    DATA_DIR: data_dir,
    PORT: String(await freePort()),
    SIGNUP_CREDITS: String(KILLS * JOBS * URLS),
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    CHECKER_ACK_WAIT_MS: '1000',
    CHECKER_RETRIES: '0',
  };
  const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
  const askedOf = (urls: readonly string[]) => urls.filter((url) => site.asked.has(url.slice(site.url.length))).length;
  let service = await startServiceProcess(env);
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const alice = openTestClient(service.url, token);
      const started: { job_id: string; urls: string[] }[] = [];
      const moments: string[] = [];
      for (let job = 0; job < JOBS; job++) {
        const urls = Array.from({ length: URLS }, (_, i) => `${site.url}/${kill}/${job}/${i}`);
        const { status, body } = await answered(() => alice.upload(urls.join('\n')));
        t.is(status, 201, JSON.stringify(body));
        started.push({ job_id: body.job_id, urls });
        const requests = randomInt(job === JOBS - 1 ? URLS + 1 : URLS / 2);
        await until(() => askedOf(urls) >= requests);
        moments.push(`job ${job} had ${requests} requests`);
      }
      const later_ms = randomInt(LATER_MS);
      await new Promise((resolve) => setTimeout(resolve, later_ms));
      await service.kill();
      const killed = `killed ${later_ms} ms after ${moments.join(', ')}`;
      service = await startServiceProcess(env);
      for (const { job_id, urls } of started) {
        t.like(await alice.ended(job_id), { status: 'completed', completed_urls: URLS }, killed);
        const { body: results } = await answered(() => alice.ask('GET', `/jobs/${job_id}/results?limit=1000`));
        t.deepEqual(
          results.items.map((result: { url: string }) => result.url),
          urls,
          killed,
        );
      }
      const { body: credits } = await answered(() => alice.ask('GET', '/users/me/credits'));
      t.is(credits.credit_balance, (KILLS - kill - 1) * JOBS * URLS);
    }
    t.is(await service.stop(), 0);
    await assertExactFolder(t, data_dir);
  } finally {
    await service.kill();
    await site.close();
    await rm(data_dir, { recursive: true, force: true });
  }
});
