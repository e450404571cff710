// kill -9 at any moment of a job: after a start it finishes, with one result for each URL and the right charge.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../adapters/identity/index.ts';
import { assertExactFolder } from './support/ledger.ts';
import { openTestClient } from './support/service.ts';
import { freePort, startServiceProcess } from './support/service-process.ts';
import { openSite, page } from './support/sites.ts';

const MOMENTS = 20;
const URLS = 200;
/** About how long the job takes: the moments are spread over it. */
const JOB_MS = 1500;

test('a job outlives kill -9 at 20 random moments', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-crash-'));
  // Slow enough that a job is under way for a while.
  const site = await openSite((request, response) => setTimeout(page, 50, request, response));
  const env = {
    DATA_DIR: data_dir,
    PORT: String(await freePort()),
    SIGNUP_CREDITS: String(MOMENTS * URLS),
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    CHECKER_ACK_WAIT_MS: '1000',
    CHECKER_RETRIES: '0',
  };
  const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
  let service = await startServiceProcess(env);
  try {
    for (let moment = 0; moment < MOMENTS; moment++) {
      const alice = openTestClient(service.url, token);
      const urls = Array.from({ length: URLS }, (_, i) => `${site.url}/${moment}/${i}`);
      const { status, body: created } = await alice.upload(urls.join('\n'));
      t.is(status, 201);
      const killed_after_ms = randomInt(JOB_MS);
      await new Promise((resolve) => setTimeout(resolve, killed_after_ms));
      await service.kill();
      service = await startServiceProcess(env);
      const job = await alice.ended(created.job_id);
      t.like(job, { status: 'completed', completed_urls: URLS }, `killed after ${killed_after_ms} ms`);
      const { body: results } = await alice.ask('GET', `/jobs/${created.job_id}/results?limit=1000`);
      t.deepEqual(
        results.items.map((result: { url: string }) => result.url),
        urls,
        `killed after ${killed_after_ms} ms`,
      );
      const { body: credits } = await alice.ask('GET', '/users/me/credits');
      t.is(credits.credit_balance, (MOMENTS - moment - 1) * URLS);
    }
    t.is(await service.stop(), 0);
    await assertExactFolder(t, data_dir);
  } finally {
    await service.kill();
    await site.close();
    await rm(data_dir, { recursive: true, force: true });
  }
});
