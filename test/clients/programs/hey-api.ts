// Uses the public API by the client that @hey-api/openapi-ts made of its document.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { client } from './generated/client.gen.ts';
import {
  createJob,
  createJobAndWait,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  getJob,
  getUsage,
  listJobResults,
  listJobs,
  listWebhookEndpoints,
  testWebhookEndpoint,
} from './generated/sdk.gen.ts';
import type { ApiError, HttpValidationError, JobResults } from './generated/types.gen.ts';

const { API_URL, API_KEY, SITE_URL } = process.env as Record<string, string>;
client.setConfig({ baseUrl: API_URL!, auth: () => API_KEY });
const urls = Array.from({ length: 5 }, (_, n) => `${SITE_URL}/${n}`);

const made = await createJobAndWait({
  body: { urls },
  query: { wait_seconds: 60, poll_interval: 1 },
  headers: { 'Idempotency-Key': randomUUID() },
});
const job = made.data!;
assert.equal(job.status, 'completed');
assert.equal(job.results.length, urls.length);

const found: string[] = [];
for (let cursor: string | null = ''; cursor !== null; ) {
  const page: { data?: JobResults } = await listJobResults({ path: { id: job.job_id }, query: { limit: 2, cursor } });
  found.push(...page.data!.results.map(({ url }) => url));
  cursor = page.data!.next_cursor;
}
assert.deepEqual(found, urls);

const { data: listed } = await listJobs({ query: { status: 'completed', limit: 10 } });
assert.ok(listed!.items.some(({ job_id }) => job_id === job.job_id));
const { data: usage } = await getUsage();
assert.ok(usage!.credit_balance > 0 && usage!.period_usage.period_end > usage!.period_usage.period_start);

const { data: endpoint } = await createWebhookEndpoint({
  body: { url: 'https://example.com/hook', events: ['job.completed', 'job.failed'] },
});
assert.match(endpoint!.signing_secret, /^whsec_/);
const path = { id: endpoint!.id };
const { data: endpoints } = await listWebhookEndpoints();
assert.ok(endpoints!.items.some(({ id }) => id === path.id));
const test = await testWebhookEndpoint({ path });
assert.equal(test.data!.event.type, 'endpoint.test');
assert.equal((await deleteWebhookEndpoint({ path })).response!.status, 204);

const missing = await getJob({ path: { id: randomUUID() } });
assert.equal((missing.error as ApiError).error.code, 'not_found');
const refused = await createJob({ body: { urls: ['no URL'] } });
assert.deepEqual((refused.error as HttpValidationError).detail[0]!.loc, ['body', 'urls']);
