// The pages of one machine and of three: their settings are valid, systemd takes the units, and nginx and Caddy pass requests on.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { SETTINGS } from '../../settings/config.ts';
import { until } from '../support/behind.ts';
import { freePort } from '../support/free-port.ts';
import { testWhereInstalled } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const GUIDE = read('docs/guides/one-machine.md');
const run = promisify(execFile);
const blocksOf = (language: string) => [...GUIDE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))];
const unitOf = (section: string) =>
  blocksOf('ini')
    .map(([, text]) => text!)
    .filter((text) => text.includes(section));

for (const name of ['one-machine', 'three-machines']) {
  test(`the settings of ${name}.md exist`, (t) => {
    const names = [...read(`docs/guides/${name}.md`).matchAll(/^([A-Z][A-Z_]+)=/gm)].map(([, each]) => each!);
    t.true(names.length > 8);
    t.deepEqual(
      names.filter((each) => !(each in SETTINGS)),
      [],
    );
  });
}

test('the unit starts what npm start does', (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const unit = unitOf('main.ts')[0]!;
  const environment = /^Environment=(.*)$/m.exec(unit)![1];
  const command = /^ExecStart=\/opt\/url-checker\/node_modules\/\.bin\/(.*)$/m.exec(unit)![1];
  t.is(`${environment} ${command}`, scripts.start!);
});

testWhereInstalled('systemd-analyze')('systemd takes the units of the guide', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'units-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const units = [
    ['url-checker.service', unitOf('main.ts')[0]!],
    ['url-checker-backup.service', unitOf('backup -- create')[0]!],
    ['url-checker-backup.timer', unitOf('[Timer]')[0]!],
  ] as const;
  for (const [name, text] of units) {
    await writeFile(join(folder, name), text.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
  }
  const paths = units.map(([name]) => join(folder, name));
  const { stderr } = await run('systemd-analyze', ['verify', '--man=no', ...paths]).catch((error) => error);
  const own = String(stderr)
    .split('\n')
    .filter((line) => line.includes(folder) || line.startsWith('url-checker'));
  t.deepEqual(own, []);
});

/** Asks by TLS from an address of its own; 0 when nothing answers. */
const askFrom = (port: number, from: string, path: string, headers: RequestOptions['headers'] = {}) =>
  new Promise<number>((resolve) => {
    const options = { port, host: '127.0.0.1', localAddress: from, path, headers, rejectUnauthorized: false };
    request({ ...options, servername: 'checker.example.com', agent: false }, (response) =>
      resolve(response.resume().statusCode!),
    )
      .on('error', () => resolve(0))
      .end();
  });

interface Proxy {
  folder: string;
  port: number;
  service: string;
}

/** `start` writes the configuration and returns the command line. */
async function passesOn(t: ExecutionContext, start: (proxy: Proxy) => Promise<readonly string[]>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-proxy-'));
  const port = await freePort();
  const limit = { RATE_LIMIT_PER_MINUTE: '1', ADDRESS_LIMIT_PER_MINUTE: '3', TRUSTED_PROXIES: '127.0.0.1' };
  const service = await startTestService(limit);
  const [program, ...args] = await start({ folder, port, service: new URL(service.url).host });
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const proxy = spawn(program!, args, { stdio: 'ignore', env });
  t.teardown(async () => {
    const ended = proxy.exitCode === null ? once(proxy, 'exit') : null;
    proxy.kill('SIGTERM');
    await ended;
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const headers = { host: 'checker.example.com' };
  await until(async () => (await askFrom(port, '127.0.0.5', '/healthz', headers)) === 200);
  t.is(await askFrom(port, '127.0.0.5', '/metrics', headers), 404);
  // What a client writes into the headers of proxies counts for nothing.
  const forged = (n: number) => ({
    ...headers,
    'x-forwarded-for': `192.0.2.${n}`,
    'x-real-client-ip': `192.0.2.${n}`,
  });
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++) statuses.push(await askFrom(port, '127.0.0.5', '/public-stats', forged(n)));
  t.deepEqual(statuses, [200, 200, 200, 429]);
  t.is(await askFrom(port, '127.0.0.6', '/public-stats', headers), 200);
}

testWhereInstalled('nginx', 'openssl')('nginx passes requests on as the guide says', async (t) => {
  await passesOn(t, async ({ folder, port, service }) => {
    const [key, certificate] = [join(folder, 'key'), join(folder, 'pem')];
    const subject = ['-subj', '/CN=checker.example.com', '-keyout', key, '-out', certificate, '-days', '1'];
    await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject]);
    const config = blocksOf('nginx')[0]![1]!
      .replace('127.0.0.1:8080', service)
      .replace('listen 443', `listen ${port}`)
      .replace('/etc/ssl/checker.pem', certificate)
      .replace('/etc/ssl/checker.key', key);
    await writeFile(join(folder, 'nginx.conf'), config);
    return [
      'nginx',
      '-p',
      folder,
      '-c',
      join(folder, 'nginx.conf'),
      '-g',
      `daemon off; pid ${folder}/pid; error_log stderr;`,
    ];
  });
});

testWhereInstalled('caddy')('Caddy passes requests on as the guide says', async (t) => {
  await passesOn(t, async ({ folder, port, service }) => {
    // A certificate of its own, because the name is not this machine's.
    const config = blocksOf('caddyfile')[0]![1]!
      .replace('127.0.0.1:8080', service)
      .replace('checker.example.com {', `checker.example.com:${port} {\n\ttls internal`);
    const options = '{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n';
    await writeFile(join(folder, 'Caddyfile'), options + config);
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
  });
});
