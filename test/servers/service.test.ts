// The service past one machine: every role is a process of its own, over EventStoreDB's protocol, MongoDB and NATS. The test
// kills each of them in the middle of a job.
import { randomInt } from 'node:crypto';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { overServers } from '../support/over-servers.ts';
import { type Answer, openTestClient, type TestClient } from '../support/service.ts';
import { openSite } from '../support/sites.ts';

const URLS = 600;
const KILLS = 6;
const ROLES = ['http', 'projector', 'processes', 'checker', 'checker'];

const ENV = { SIGNUP_CREDITS: '1000', WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8', CHECKER_ACK_WAIT_MS: '1000' };

/** Asks until the answer is no 503: on a busy machine a store may be late, and the next request succeeds. */
async function answered(ask: () => Promise<Answer>): Promise<Answer> {
  let answer: Answer;
  await until(async () => (answer = await ask()).status !== 503);
  return answer!;
}

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
  // Five processes that start at once leave the stores little time.
  await until(async () => (await alice.ask('GET', '/readyz')).status === 200);
  const make = async (client: TestClient, path: string, body: object) => {
    const made = await answered(() => client.ask('POST', path, body));
    t.is(made.status, 201, JSON.stringify(made.body));
    return made.body;
  };
  const { key: secret } = await make(alice, '/users/me/api-keys', { name: 'test' });
  const key = openTestClient(running[0]!.url, secret, '/api/v2');
  const hook = { url: `${receiver.url}/hook`, events: ['job.completed'] };
  const endpoint = await make(key, '/api/v2/webhooks/endpoints', hook);
  const urls = Array.from({ length: URLS }, (_, i) => `${world.site.url}/${i}`);
  const { status, body: created } = await answered(() => alice.upload(urls.join('\n')));
  t.is(status, 201, JSON.stringify(created));
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, randomInt(400)));
    const victim = (kill + 1) % ROLES.length;
    await running[victim]!.kill();
    running[victim] = await start(ROLES[victim]!);
  }
  const job = await alice.ended(created.job_id);
  const read = async (path: string) => {
    const { status, body } = await answered(() => alice.ask('GET', path));
    t.is(status, 200, JSON.stringify(body));
    return body;
  };
  t.like(job, { status: 'completed', completed_urls: URLS, credits_allocated: URLS });
  const results = await read(`/jobs/${created.job_id}/results?limit=1000`);
  t.deepEqual(
    results.items.map((result: { url: string }) => result.url),
    urls,
  );
  t.is((await read('/users/me/credits')).credit_balance, 1000 - URLS);
  t.like(await read(`/jobs/${created.job_id}/stats`), { verdicts: { ok: URLS } });
  const exported = await read(`/jobs/${created.job_id}/export?format=csv`);
  t.is(exported.trim().split('\n').length, 1 + URLS);
  await until(async () => {
    const { body } = await key.ask('GET', `/api/v2/webhooks/endpoints/${endpoint.id}/deliveries`);
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
