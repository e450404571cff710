// The port of METRICS_PORT: every process says whether it is up, whether the service works, and what it measures.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { startService } from '../../service/service.ts';
import { ROLES, type Role, readConfig } from '../../settings/config.ts';
import { until } from '../support/behind.ts';
import { silent } from '../support/stores.ts';

const ENV = { PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'silent' };

async function start(t: ExecutionContext, roles: string) {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'url-checker-metrics-'));
  const service = await startService(readConfig({ ...ENV, DATA_DIR, ROLES: roles }), silent);
  t.teardown(async () => {
    await service.stop();
    await rm(DATA_DIR, { recursive: true, force: true });
  });
  return { ...service, ask: (path: string) => fetch(`${service.metrics_url}${path}`) };
}

type Readiness = { status: string; failed?: string[]; checks: Record<string, { ok: boolean; detail?: string }> };

/** What the role waits for where it is alone; a role without a row works. */
const WAITS_FOR: Partial<Record<Role, string>> = { processes: 'no projector has made documents yet' };

for (const role of ROLES.filter((one) => one !== 'http')) {
  test(`a process of the role ${role} alone serves probes and metrics`, async (t) => {
    const { url, ask } = await start(t, role);
    t.is(url, null);
    const check = { ok: !WAITS_FOR[role], ...(WAITS_FOR[role] && { detail: WAITS_FOR[role] }) };
    const checked = async () => ((await (await ask('/readyz')).json()) as Readiness).checks[role];
    await until(async () => isDeepStrictEqual(await checked(), check));
    const health = await ask('/healthz');
    t.deepEqual([health.status, await health.json()], [200, { status: 'ok' }]);
    const others = ['projector', 'processes', 'checker'].filter((one) => one !== role || !check.ok).sort();
    await until(async () => {
      const ready = await ask('/readyz');
      const { failed, checks } = (await ready.json()) as Readiness;
      const alone = failed?.filter((name) => name !== 'queue').sort();
      return ready.status === 503 && isDeepStrictEqual(alone, others) && checks.event_log!.ok && checks.documents!.ok;
    });
    const metrics = await ask('/metrics');
    t.regex(metrics.headers.get('content-type')!, /^text\/plain/);
    const text = await metrics.text();
    t.regex(text, new RegExp(`^service_ready\\{check="${role}"\\} ${Number(check.ok)}$`, 'm'));
    t.regex(text, /^process_cpu_seconds_total /m);
    t.is((await ask('/jobs')).status, 404);
  });
}

test('with the http role both ports give the same answers', async (t) => {
  const { url, ask } = await start(t, 'all');
  await until(async () => (await fetch(`${url}/readyz`)).ok);
  for (const path of ['/healthz', '/readyz']) {
    t.deepEqual(await (await ask(path)).json(), await (await fetch(url + path)).json(), path);
  }
  t.regex(await (await ask('/metrics')).text(), /^http_request_duration_seconds_count\{/m);
  t.is((await ask('/openapi.json')).status, 404);
});

test('/metrics is not on the port of clients unless the operator asks for it', async (t) => {
  const { url } = await start(t, 'http');
  const answer = await fetch(`${url}/metrics`);
  t.is(answer.status, 404);
  t.is((await fetch(`${url}/healthz`)).status, 200);
});

test('while the thread of http is kept busy, METRICS_PORT answers /healthz and /readyz at once', async (t) => {
  const { metrics_url } = await start(t, 'all');
  await until(async () => (await fetch(`${metrics_url}/readyz`)).ok);
  // This thread is that of http. A thread of its own asks, and says what it was answered meanwhile.
  const asker = new Worker(ASKER, { eval: true, workerData: metrics_url });
  await once(asker, 'message');
  const said = new Int32Array(new SharedArrayBuffer(8));
  asker.postMessage(said);
  const until_ms = performance.now() + 20_000;
  while (Atomics.load(said, 1) === 0 && performance.now() < until_ms);
  t.deepEqual([...said], [200, 200]);
  await asker.terminate();
});

/** Asks with `http`, which needs no other thread. Writes the statuses into shared memory. */
const ASKER = `
  const { parentPort, workerData: url } = require('node:worker_threads');
  const status = (path) => new Promise((resolve) =>
    require('node:http').get(url + path, (response) => resolve(response.resume().statusCode)).on('error', () => resolve(-1)));
  parentPort.once('message', async (said) => {
    Atomics.store(said, 0, await status('/healthz'));
    Atomics.store(said, 1, await status('/readyz'));
  });
  parentPort.postMessage('ready');
`;
