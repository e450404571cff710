// Whoever reads a large job reads it in few requests, and reading costs nothing of what submissions may.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
test.before(async () => {
  const limits = { RATE_LIMIT_PER_MINUTE: '3', RATE_LIMIT_READS_PER_MINUTE: '1000' };
  service = await startTestService({ SIGNUP_CREDITS: '20000', CHECKER_ALLOW_ADDRESSES: '', ...limits });
});
test.after.always(() => service?.stop());

test('a page has up to 10,000 results, and a key exports all of them', async (t) => {
  const client = await service.keyHolder(`user-${randomUUID()}`);
  // Nobody is asked: the checker refuses each address that a name of this machine leads to.
  const urls = Array.from({ length: 10_500 }, (_, n) => `http://localhost:9/${n}`);
  const { body: job } = await client.ask('POST', '/api/v2/jobs', { urls });
  for (let n = 0; n < 10; n++) await client.ask('GET', `/api/v2/jobs/${job.job_id}`);
  t.is((await client.ended(job.job_id)).completed_urls, 10_500);
  const results = `/api/v2/jobs/${job.job_id}/results`;
  const first = (await client.ask('GET', `${results}?cursor=&limit=10000`)).body;
  t.is(first.results.length, 10_000);
  const rest = (await client.ask('GET', `${results}?cursor=${first.next_cursor}&limit=10000`)).body;
  t.deepEqual([rest.results.length, rest.next_cursor], [500, null]);
  t.deepEqual(
    [...first.results, ...rest.results].map(({ url }: { url: string }) => url),
    urls,
  );
  t.is((await client.ask('GET', `${results}?limit=10000`)).body.results.length, 10_000);
  t.is((await client.ask('GET', `${results}?limit=10001`)).status, 422);
  const exported = await client.ask('GET', `/api/v2/jobs/${job.job_id}/export`);
  t.is(exported.status, 200);
  t.is(String(exported.body).trim().split('\n').length, 10_501);
  const stranger = await service.keyHolder(`user-${randomUUID()}`);
  t.is((await stranger.ask('GET', `/api/v2/jobs/${job.job_id}/export`)).status, 404);
  // The reads have left what submissions may as it was.
  const more = { urls: ['http://localhost:9/more'] };
  t.is((await client.ask('POST', '/api/v2/jobs', more)).status, 201);
  t.is((await client.ask('POST', '/api/v2/jobs', more)).status, 201);
  t.is((await client.ask('POST', '/api/v2/jobs', more)).status, 429);
});
