// kill -9 at any moment of a job: after a start it finishes, with one result for each URL and the right charge.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../adapters/identity/index.ts';
import { until } from './support/behind.ts';
import { assertExactFolder } from './support/ledger.ts';
import { openTestClient } from './support/service.ts';
import { freePort, startServiceProcess } from './support/service-process.ts';
import { openSite, page } from './support/sites.ts';

const MOMENTS = 20;
const URLS = 200;
/** The moments are between any two requests of a job, and up to this long after one: a job takes about ten times as long. */
const LATER_MS = 30;

test('a job outlives kill -9 at 20 random moments', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-crash-'));
  // Slow enough that a job is under way for a while.
  const site = await openSite((request, response) => setTimeout(page, 10, request, response));
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
      const asked_before = site.asked.size;
      const { status, body: created } = await alice.upload(urls.join('\n'));
      t.is(status, 201);
      const [requests, later_ms] = [randomInt(URLS + 1), randomInt(LATER_MS)];
      const killed_after = `killed ${later_ms} ms after request ${requests}`;
      await until(() => site.asked.size - asked_before >= requests);
      await new Promise((resolve) => setTimeout(resolve, later_ms));
      await service.kill();
      service = await startServiceProcess(env);
      const job = await alice.ended(created.job_id);
      t.like(job, { status: 'completed', completed_urls: URLS }, killed_after);
      const { body: results } = await alice.ask('GET', `/jobs/${created.job_id}/results?limit=1000`);
      t.deepEqual(
        results.items.map((result: { url: string }) => result.url),
        urls,
        killed_after,
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
