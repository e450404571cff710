// Uses the public API by openapi-fetch, with the types that openapi-typescript made of its document.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.ts';

const { API_URL, API_KEY, SITE_URL } = process.env as Record<string, string>;
const client = createClient<paths>({ baseUrl: API_URL!, headers: { Authorization: `Bearer ${API_KEY}` } });
const urls = Array.from({ length: 5 }, (_, n) => `${SITE_URL}/${n}`);

const made = await client.POST('/api/v2/jobs/wait', {
  params: { query: { wait_seconds: 60, poll_interval: 1 }, header: { 'Idempotency-Key': randomUUID() } },
  body: { urls },
});
assert.equal(made.response.status, 201);
const job: components['schemas']['JobWithResults'] = made.data!;
assert.equal(job.status, 'completed');
assert.equal(job.results.length, urls.length);

const found: string[] = [];
for (let cursor: string | null = ''; cursor !== null; ) {
  const page: { data?: components['schemas']['JobResults'] } = await client.GET('/api/v2/jobs/{id}/results', {
    params: { path: { id: job.job_id }, query: { limit: 2, cursor } },
  });
  found.push(...page.data!.results.map(({ url }) => url));
  cursor = page.data!.next_cursor;
}
assert.deepEqual(found, urls);

const { data: listed } = await client.GET('/api/v2/jobs', { params: { query: { status: 'completed', limit: 10 } } });
assert.ok(listed!.items.some(({ job_id }) => job_id === job.job_id));
const { data: usage } = await client.GET('/api/v2/usage', {});
assert.ok(usage!.credit_balance > 0 && usage!.period_usage.period_end > usage!.period_usage.period_start);

const endpoint = await client.POST('/api/v2/webhooks/endpoints', {
  body: { url: 'https://example.com/hook', events: ['job.completed', 'job.failed'] },
});
assert.match(endpoint.data!.signing_secret, /^whsec_/);
const path = { id: endpoint.data!.id };
const { data: endpoints } = await client.GET('/api/v2/webhooks/endpoints', {});
assert.ok(endpoints!.items.some(({ id }) => id === path.id));
const test = await client.POST('/api/v2/webhooks/endpoints/{id}/test', { params: { path } });
const event: components['schemas']['WebhookEvent'] = test.data!.event;
assert.equal(event.type, 'endpoint.test');
const removed = await client.DELETE('/api/v2/webhooks/endpoints/{id}', { params: { path } });
assert.equal(removed.response.status, 204);

const missing = await client.GET('/api/v2/jobs/{id}', { params: { path: { id: randomUUID() } } });
const error = missing.error as components['schemas']['ApiError'];
assert.equal(error.error.code, 'not_found');
const refused = await client.POST('/api/v2/jobs', { body: { urls: ['no URL'] } });
assert.equal(refused.response.status, 422);
const problems = (refused.error as components['schemas']['HTTPValidationError']).detail;
assert.deepEqual(problems[0]!.loc, ['body', 'urls']);
