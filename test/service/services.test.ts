// GET /admin/services of a whole service: it names what there is, agrees with /readyz and the metrics, and shows no secret.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { until } from '../support/behind.ts';
import { startTestService } from '../support/service.ts';
import { startTestProxy } from '../support/test-proxy.ts';

test('the live status names every process, store and projection, agrees with the probes, and shows no secret', async (t) => {
  const smtp = await startTestProxy({ behaviour: 'hang' });
  t.teardown(() => smtp.close());
  const service = await startTestService({ SMTP_URL: `smtp://user:secret-of-mail@127.0.0.1:${smtp.port}` });
  t.teardown(() => service.stop());
  const admin = await service.client('root', { is_admin: true });
  const get = async () => (await admin.ask('GET', '/admin/services')).body;
  const dependency = (body: Awaited<ReturnType<typeof get>>, name: string) =>
    body.dependencies.find((one: { name: string }) => one.name === name);
  let found = await get();
  const followed = () =>
    found.followers.map(({ follower, projection }: Record<string, string>) => `${follower}: ${projection}`);
  // On a busy machine a process may be late to say that it lives, and a follower to say where it is.
  await until(async () => {
    found = await get();
    if (!followed().includes('worker_log: worker_log')) return false;
    const is_working = found.processes.every(({ state }: { state: string }) => state === 'working');
    return (
      found.status === 'ok' && is_working && found.dependencies.every((one: { status: string }) => one.status === 'ok')
    );
  });
  t.like(await (await fetch(`${service.url}/readyz`)).json(), { status: 'ok' });
  t.deepEqual(found.dependencies.map(({ name, kind }: { name: string; kind: string }) => [name, kind]).sort(), [
    ['documents', 'sqlite'],
    ['event_log', 'sqlite'],
    ['files', 'files'],
    ['mail', 'smtp'],
    ['queue', 'sqlite'],
  ]);
  t.deepEqual(
    found.processes.map(({ role, state, pid }: Record<string, unknown>) => [role, state, pid]).sort(),
    ['checker', 'http', 'processes', 'projector'].map((role) => [role, 'working', process.pid]),
  );
  t.true(followed().length >= 18 && followed().includes('live: jobs'), followed().join());
  t.deepEqual(found.work, { queue_depth: 0, jobs: 0, batches_in_flight: 0, urls_in_flight: 0, oldest_batch: null });
  t.like(found, { failed: [], maintenance: { enabled: false } });
  await until(async () => (await get()).ledger_audit?.completed_at != null);
  t.like((await get()).ledger_audit, { violations: 0, found: [] });
  t.notRegex(JSON.stringify(found), /secret|127\.0\.0\.1/);
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  for (const [check] of metrics.matchAll(/service_ready\{check="\w+"\} \d/g)) t.regex(check, / 1$/);

  await admin.ask('POST', '/admin/maintenance', { enabled: true, message: 'We move.' });
  t.like((await get()).maintenance, { enabled: true, message: 'We move.' });
  await admin.ask('POST', '/admin/maintenance', { enabled: false });

  await smtp.close();
  await until(async () => dependency(await get(), 'mail').status === 'away');
  t.like(await (await fetch(`${service.url}/readyz`)).json(), { status: 'ok' });
});

test('work in flight is shown with its oldest batch', async (t) => {
  const site = http.createServer(() => {}).listen(0, '127.0.0.1');
  await once(site, 'listening');
  const { port } = site.address() as AddressInfo;
  const service = await startTestService({ CHECKER_TIMEOUT_MS: '300000' });
  t.teardown(async () => {
    await service.stop();
    site.closeAllConnections();
    site.close();
  });
  const admin = await service.client('root', { is_admin: true });
  const { body: job } = await admin.upload(
    Array.from({ length: 50 }, (_, n) => `http://127.0.0.1:${port}/${n}`).join('\n'),
  );
  let found = (await admin.ask('GET', '/admin/services')).body;
  await until(async () => {
    found = (await admin.ask('GET', '/admin/services')).body;
    return found.work?.urls_in_flight === 50 && found.work.oldest_batch !== null;
  });
  t.like(found.work, { jobs: 1, urls_in_flight: 50, oldest_batch: { job_id: job.job_id } });
});

test('roles that do not run are missing, and what they would do waits', async (t) => {
  const service = await startTestService({ ROLES: 'http,projector,processes' });
  t.teardown(() => service.stop());
  const admin = await service.client('root', { is_admin: true });
  await admin.upload('http://127.0.0.1:9/waits\n');
  let found = (await admin.ask('GET', '/admin/services')).body;
  await until(async () => {
    found = (await admin.ask('GET', '/admin/services')).body;
    return found.failed?.length === 1 && found.work?.jobs === 1;
  });
  t.is(found.status, 'unavailable');
  t.deepEqual(
    found.failed.map(({ check }: { check: string }) => check),
    ['checker'],
  );
  t.like(found.work, { urls_in_flight: 0, oldest_batch: null });
  t.false(found.processes.some(({ role }: { role: string }) => role === 'checker'));
});
