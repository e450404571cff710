// What http uses is away when it answers nothing, refuses the key, fails, or cannot be written: a connection that is taken proves little.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { Blobs } from '../../../commands/blobs.ts';
import { probesOf } from '../../../http/server/outside-probes.ts';
import { probeDependencies } from '../../../roles/dependencies.ts';
import { readConfig } from '../../../settings/config.ts';

const BLOBS = { async *list() {} } as unknown as Blobs;

test('payments that take a connection and refuse the key, fail or say nothing are away, with the reason', async (t) => {
  let status = 200;
  const server = createServer((_, response) => {
    if (status > 0) response.writeHead(status).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = new AbortController();
  t.teardown(() => {
    stop.abort();
    server.closeAllConnections();
    server.close();
  });
  const api_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = readConfig({
    PAYMENT_API_URL: api_url,
    PAYMENT_SECRET_KEY: 'sk_test_1',
    PAYMENT_WEBHOOK_SECRET: 'whsec_12345678',
  });
  const probes = probesOf(config, BLOBS, {}).filter(({ name }) => name === 'payments');
  const probed = probeDependencies(probes, { signal: stop.signal });
  const asked = async (answer: number) => {
    status = answer;
    await probed.ask();
    return probed.states()[0];
  };
  await probed.ask();
  t.like(await asked(200), { status: 'ok' });
  t.like(await asked(401), { status: 'away', reason: 'it refuses the key (PAYMENT_SECRET_KEY) with 401' });
  t.like(await asked(503), { status: 'away', reason: 'it answers with 503' });
  t.like(await asked(404), { status: 'ok' });
  t.like(await asked(0), { status: 'away' });
});

test('files whose folder is not there are away', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'probed-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const probed = probeDependencies(probesOf(readConfig({ BLOB_URL: `file://${folder}` }), BLOBS, {}), {
    signal: stop.signal,
  });
  await probed.ask();
  t.like(probed.states()[0], { name: 'files', status: 'ok' });
  await rm(folder, { recursive: true });
  await probed.ask();
  t.like(probed.states()[0], {
    name: 'files',
    status: 'away',
    reason: 'its folder is missing: mount it, or restart the service',
  });
});
