// A million URLs in one JSON body: read as they come, so that the process hardly grows.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { openTestClient } from '../support/service.ts';
import { startServiceProcess } from '../support/service-process.ts';

const MAX_GROWTH_MB = 300;

test('a million URLs in one body make one job, and the process grows by less than 300 MB', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-million-'));
  const env = { DATA_DIR: data_dir, SIGNUP_CREDITS: '1000000' };
  const running = await Promise.all(['http', 'projector'].map((role) => startServiceProcess({ ...env, ROLES: role })));
  const { url, pid } = running[0]!;
  const rss_mb = () => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024;
  try {
    const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
    const made = await openTestClient(url, token).ask('POST', '/users/me/api-keys', {});
    const client = openTestClient(url, made.body.key);
    const urls = Array.from(
      { length: 1_000_000 },
      (_, i) => `https://host${i % 5000}.example.com/a/long/path/page-${i}?from=${i}`,
    );
    const body = Buffer.from(JSON.stringify({ urls }));
    const before_mb = rss_mb();
    let most_mb = before_mb;
    const looking = setInterval(() => void (most_mb = Math.max(most_mb, rss_mb())), 100);
    const began_ms = performance.now();
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'million' };
    const answer = await client.send('/api/v2/jobs', { method: 'POST', headers, body });
    const took_ms = Math.round(performance.now() - began_ms);
    clearInterval(looking);
    t.is(answer.status, 201);
    t.like(answer.body, { total_urls: 1_000_000, credits_allocated: 1_000_000 });
    const growth_mb = Math.round(most_mb - before_mb);
    t.log(`${Math.round(body.length / 1e6)} MB in ${took_ms} ms: ${Math.round(before_mb)} MB + ${growth_mb} MB`);
    t.true(growth_mb < MAX_GROWTH_MB, `${growth_mb} MB`);
    t.deepEqual(await readdir(join(data_dir, 'uploads')), []);
  } finally {
    await Promise.all(running.map((service) => service.kill()));
    await rm(data_dir, { recursive: true, force: true });
  }
});
