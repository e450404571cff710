// nginx and Caddy, configured as the guide says, pass requests on; and systemd takes the guide's units. NGINX_BIN, CADDY_BIN and
// SYSTEMD_ANALYZE_BIN name the programs, else they are looked for on the PATH.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { codeBlocks, UNITS } from '../support/one-machine.ts';
import { listedSuites } from '../support/server-suites.ts';
import { startTestService, type TestService } from '../support/service.ts';

const run = promisify(execFile);
const HOST = 'checker.example.com';

/** The status of an answer, by TLS, to a client with an address of its own; 0 when nothing answers. */
const askFrom = (port: number, from: string, path: string, headers: RequestOptions['headers'] = {}) =>
  new Promise<number>((resolve) => {
    const options = { port, host: '127.0.0.1', localAddress: from, path, rejectUnauthorized: false };
    request({ ...options, headers: { host: HOST, ...headers }, servername: HOST, agent: false }, (response) =>
      resolve(response.resume().statusCode!),
    )
      .on('error', () => resolve(0))
      .end();
  });

interface Place {
  folder: string;
  port: number;
  /** Host and port of the service. */
  service: string;
}

/** Runs a proxy before a service. `prepare` writes its configuration and returns the command line. */
async function startProxy(t: ExecutionContext, prepare: (place: Place) => Promise<readonly string[]>) {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-proxy-'));
  const port = await freePort();
  const limits = { RATE_LIMIT_PER_MINUTE: '1', ADDRESS_LIMIT_PER_MINUTE: '3', TRUSTED_PROXIES: '127.0.0.1' };
  const service = await startTestService(limits);
  const [program, ...args] = await prepare({ folder, port, service: new URL(service.url).host });
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const proxy = spawn(program!, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  let said = '';
  proxy.stderr.on('data', (text: Buffer) => (said = `${said}${text}`.slice(-2000)));
  const ended = once(proxy, 'exit');
  t.teardown(async () => {
    proxy.kill('SIGTERM');
    await ended;
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });
  await until(async () => proxy.exitCode !== null || (await askFrom(port, '127.0.0.5', '/healthz')) === 200);
  t.is(proxy.exitCode, null, `${program} has ended: ${said}`);
  return { service, port };
}

/** What a client writes into the headers of proxies counts for nothing, and each client has limits of its own. */
async function assertPassesOn(t: ExecutionContext, { port }: { service: TestService; port: number }): Promise<void> {
  t.is(await askFrom(port, '127.0.0.5', '/metrics'), 404);
  const forged = (n: number) => ({
    'x-forwarded-for': `192.0.2.${n}`,
    'x-real-client-ip': `192.0.2.${n}`,
    forwarded: `for=192.0.2.${n}`,
  });
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++) statuses.push(await askFrom(port, '127.0.0.5', '/public-stats', forged(n)));
  t.deepEqual(statuses, [200, 200, 200, 429]);
  t.is(await askFrom(port, '127.0.0.6', '/public-stats'), 200);
}

if (listedSuites(process.env.SERVER_SUITES).includes('proxies')) {
  const { NGINX_BIN = 'nginx', CADDY_BIN = 'caddy', SYSTEMD_ANALYZE_BIN = 'systemd-analyze' } = process.env;

  test('nginx passes requests on as the guide says', async (t) => {
    const proxied = await startProxy(t, async ({ folder, port, service }) => {
      const [key, certificate] = [join(folder, 'key'), join(folder, 'pem')];
      const subject = ['-subj', `/CN=${HOST}`, '-keyout', key, '-out', certificate, '-days', '1'];
      await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject]);
      // A package makes the folders of these; here there may be the program alone.
      const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ');
      const config = codeBlocks('nginx')[0]!
        .replace('http {', `http { ${temporary} access_log off;`)
        .replace('127.0.0.1:8080', service)
        .replace('listen 443', `listen ${port}`)
        .replace('/etc/ssl/checker.pem', certificate)
        .replace('/etc/ssl/checker.key', key);
      await writeFile(join(folder, 'nginx.conf'), config);
      const options = `daemon off; pid ${folder}/pid; error_log stderr;`;
      return [NGINX_BIN, '-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf'), '-g', options];
    });
    await assertPassesOn(t, proxied);
  });

  test('Caddy passes requests on as the guide says', async (t) => {
    const proxied = await startProxy(t, async ({ folder, port, service }) => {
      // A certificate of its own, because the name is not this machine's.
      const config = codeBlocks('caddyfile')[0]!
        .replace('127.0.0.1:8080', service)
        .replace(`${HOST} {`, `${HOST}:${port} {\n\ttls internal`);
      const options =
        '{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n';
      await writeFile(join(folder, 'Caddyfile'), options + config);
      return [CADDY_BIN, 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
    });
    await assertPassesOn(t, proxied);
  });

  test('systemd takes the units of the guide', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'units-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const paths: string[] = [];
    for (const [name, text] of Object.entries(UNITS)) {
      const path = join(folder, name);
      paths.push(path);
      await writeFile(path, text.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    }
    const verify = () => run(SYSTEMD_ANALYZE_BIN, ['verify', '--man=no', ...paths]).catch((error) => error);
    const own = async () =>
      String((await verify()).stderr)
        .split('\n')
        .filter((line) => line.includes(folder) || line.startsWith('url-checker'));
    await run(SYSTEMD_ANALYZE_BIN, ['--version']);
    t.deepEqual(await own(), []);
    await writeFile(paths[0]!, 'Environment=A=1\n[Service]\nType=oneshoot\n');
    t.not((await own()).length, 0, 'what is wrong is found');
  });
} else test.todo('reverse proxies: left out by SERVER_SUITES');
