// A stranger who pipelines requests and reads nothing of the answers: the process keeps its memory, and answers others meanwhile.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { startServiceProcess } from '../support/service-process.ts';

const CONNECTIONS = 30;
const REQUESTS = 100;
/** The answers to all requests would be a gigabyte. */
const MOST_MORE_MB = 200;

test('a stranger who reads nothing of 3,000 answers takes neither the memory nor the turns of others', async (t) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'url-checker-stranger-'));
  const service = await startServiceProcess({ DATA_DIR });
  t.teardown(async () => {
    await service.kill();
    await rm(DATA_DIR, { recursive: true, force: true });
  });
  const memory_mb = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))![1]) / 1024;
  const description = async () => (await fetch(`${service.url}/openapi.json`)).text();
  await description();
  const before_mb = memory_mb();
  const port = Number(new URL(service.url).port);
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.9' }).on('error', () => {});
    socket.pause().write('GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(REQUESTS));
    return socket;
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  // Each answer of another client comes after turns in which the stranger's requests could have been worked on.
  for (let n = 0; n < 50; n++) {
    t.is((await fetch(`${service.url}/healthz`)).status, 200);
    if (n % 5 === 0) t.regex(await description(), /^\{"openapi"/);
  }
  t.true(memory_mb() - before_mb < MOST_MORE_MB, `${Math.round(memory_mb() - before_mb)} MB more`);
});
