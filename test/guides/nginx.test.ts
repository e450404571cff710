// The configuration of nginx in the guide of deploying, run before a service: the clients' addresses count, and streams come through.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { testWhereInstalled } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

const GUIDE = new URL('../../docs/guides/deploying.md', import.meta.url);

testWhereInstalled('nginx', 'openssl')('nginx passes requests on as the guide says', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-nginx-'));
  const port = await freePort();
  const limit = { RATE_LIMIT_PER_MINUTE: '1', ADDRESS_LIMIT_PER_MINUTE: '3', TRUSTED_PROXIES: '127.0.0.1' };
  const service = await startTestService(limit);
  const [key, certificate] = [join(folder, 'key'), join(folder, 'pem')];
  const subject = ['-subj', '/CN=checker.example.com', '-keyout', key, '-out', certificate, '-days', '1'];
  await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject]);
  const guide = await readFile(GUIDE, 'utf8');
  const config = /```nginx\n([\s\S]*?)```/
    .exec(guide)![1]!
    .replace('127.0.0.1:8080', new URL(service.url).host)
    .replace('listen 443', `listen ${port}`)
    .replace('/etc/ssl/checker.pem', certificate)
    .replace('/etc/ssl/checker.key', key);
  await writeFile(join(folder, 'nginx.conf'), config);
  const own = `daemon off; pid ${folder}/pid; error_log stderr;`;
  const nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', own], { stdio: 'ignore' });
  t.teardown(async () => {
    const ended = nginx.exitCode === null ? once(nginx, 'exit') : null;
    nginx.kill('SIGTERM');
    await ended;
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const ask = (path: string, from: string, headers: RequestOptions['headers'] = {}) =>
    new Promise<number>((resolve) => {
      const options = { port, host: '127.0.0.1', localAddress: from, path, headers, rejectUnauthorized: false };
      request({ ...options, agent: false }, (response) => resolve(response.resume().statusCode!))
        .on('error', () => resolve(0))
        .end();
    });
  await until(async () => (await ask('/healthz', '127.0.0.5')) === 200);
  t.is(await ask('/metrics', '127.0.0.5'), 404);
  // What a client writes into the headers of proxies counts for nothing.
  const forged = (n: number) => ({ 'x-forwarded-for': `192.0.2.${n}`, 'x-real-client-ip': `192.0.2.${n}` });
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++) statuses.push(await ask('/public-stats', '127.0.0.5', forged(n)));
  t.deepEqual(statuses, [200, 200, 200, 429]);
  t.is(await ask('/public-stats', '127.0.0.6'), 200);
});
