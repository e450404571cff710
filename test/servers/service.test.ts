// The service past one machine: every role is a process of its own, over EventStoreDB's protocol, MongoDB and NATS. The test
// kills each of them in the middle of a job.
import { randomInt } from 'node:crypto';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { overServers } from '../support/over-servers.ts';
import { openTestClient } from '../support/service.ts';
import { openSite } from '../support/sites.ts';

const URLS = 600;
const KILLS = 6;
const ROLES = ['http', 'projector', 'processes', 'checker', 'checker'];

const ENV = { SIGNUP_CREDITS: '1000', WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8', CHECKER_ACK_WAIT_MS: '1000' };

overServers('a job outlives kill -9 of its roles, each a process over the servers', ENV, async (t, world) => {
  const delivered: unknown[] = [];
  const receiver = await openSite((request, response) => {
    delivered.push(request.headers['service-event-id']);
    response.end();
  });
  t.teardown(receiver.close);
  const PORT = String(await freePort());
  const start = (role: string) => world.start({ ROLES: role, ...(role === 'http' ? { PORT } : {}) });
  const running = await Promise.all(ROLES.map(start));
  const alice = await world.alice(running[0]!);
  const made = await alice.ask('POST', '/users/me/api-keys', { name: 'test' });
  const key = openTestClient(running[0]!.url, made.body.key, '/api/v2');
  const { body: endpoint } = await key.ask('POST', '/api/v2/webhooks/endpoints', {
    url: `${receiver.url}/hook`,
    events: ['job.completed'],
  });
  const urls = Array.from({ length: URLS }, (_, i) => `${world.site.url}/${i}`);
  const { status, body: created } = await alice.upload(urls.join('\n'));
  t.is(status, 201, JSON.stringify(created));
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, randomInt(400)));
    const victim = (kill + 1) % ROLES.length;
    await running[victim]!.kill();
    running[victim] = await start(ROLES[victim]!);
  }
  const job = await alice.ended(created.job_id);
  t.like(job, { status: 'completed', completed_urls: URLS, credits_allocated: URLS });
  const { body: results } = await alice.ask('GET', `/jobs/${created.job_id}/results?limit=1000`);
  t.deepEqual(
    results.items.map((result: { url: string }) => result.url),
    urls,
  );
  t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, 1000 - URLS);
  t.like((await alice.ask('GET', `/jobs/${created.job_id}/stats`)).body, { verdicts: { ok: URLS } });
  const exported = await alice.ask('GET', `/jobs/${created.job_id}/export?format=csv`);
  t.is(exported.body.trim().split('\n').length, 1 + URLS);
  await until(async () => {
    const { body } = await key.ask('GET', `/api/v2/webhooks/endpoints/${endpoint.id}/deliveries`);
    // On a busy machine a read may be answered with 503, and the next one succeeds.
    return body.items?.[0]?.status === 'delivered';
  });
  t.true(delivered.length > 0 && delivered.every((id) => id === delivered[0]), 'one event, whatever the test killed');

  // The client repeats a request with its key, then cancels and deletes the job.
  const body = { urls: urls.slice(0, 300).map((url) => `${url}?again`) };
  const first = await key.ask('POST', '/api/v2/jobs', body, { 'idempotency-key': 'once' });
  const again = await key.ask('POST', '/api/v2/jobs', body, { 'idempotency-key': 'once' });
  t.deepEqual([first.status, again.body], [201, first.body]);
  t.is(again.headers.get('idempotency-replayed'), 'true');
  const cancelled = await alice.ask('POST', `/jobs/${first.body.job_id}/cancel`);
  t.is(cancelled.status, 200, JSON.stringify(cancelled.body));
  t.is((await alice.ask('DELETE', `/jobs/${first.body.job_id}`)).status, 200);
  for (const service of running) t.is(await service.stop(), 0);
  await world.assertExact();
});
