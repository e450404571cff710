// The torture's own look at the probes: it says so when the thread that serves clients stands still, though the other one answers.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { listenOnLoopback } from '../support/loopback.ts';
import { until } from '../support/until.ts';
import { passed } from './fair-clock.ts';
import type { Findings } from './model.ts';
import type { Shape } from './shapes.ts';
import { HEALTH_MS, lookAtHttp } from './stranger.ts';

const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:http').createServer((_, response) => response.end());
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address()));
  parentPort.on('message', () => Atomics.wait(workerData, 0, 0));`;

test('a thread of http that stands still is found, and only while it does', async (t) => {
  const held = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(THREAD, { eval: true, workerData: held });
  t.teardown(() => thread.terminate());
  const { port } = await new Promise<AddressInfo>((resolve) => thread.once('message', resolve));
  const probes = createServer((_, response) => response.end());
  const probe_port = await listenOnLoopback(probes);
  t.teardown(() => probes.close());
  const shape = {
    ...{ url: `http://127.0.0.1:${port}`, probe_url: `http://127.0.0.1:${probe_port}`, processes: [{}] },
    http: { run: () => 1, pid: () => process.pid },
  } as unknown as Shape;
  const [health, memory]: Findings[] = [
    { broken: [], looked: 0 },
    { broken: [], looked: 0 },
  ];
  const looking = lookAtHttp(shape, health!, memory!, () => 'nothing');
  await until(() => health!.looked >= 4);
  t.deepEqual(health!.broken, []);
  thread.postMessage('stand still');
  await passed(HEALTH_MS + 1000);
  Atomics.store(held, 0, 1);
  Atomics.notify(held, 0);
  await until(() => health!.broken.length > 0);
  t.true((await looking.stop()) > 0);
  t.regex(health!.broken[0]!, /^\/healthz: (no answer|200) after \d+ ms, with nothing$/);
  t.true(memory!.looked > 0);
});
