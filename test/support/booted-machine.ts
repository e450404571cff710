// The guide for one machine, carried out: mmdebstrap makes a Debian, a container boots it with its own systemd, and the blocks of the
// guide run in it word by word: installation, unit, crash, stop, backup, upgrade, nginx, reboot. Root only. It needs mmdebstrap and a
// network once, for the packages of Debian and npm; the booted machine has none. It takes three minutes, and is run by hand. Decision 205 says why.
//   node test/support/booted-machine.ts
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { codeBlocks, UNITS } from './one-machine.ts';
import { until } from './until.ts';

const run = promisify(execFile);

const INSIDE = 'BOOTED_MACHINE_FOLDER';
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'url-checker-ci');
/** Debian 13: the first whose own Node.js is new enough. systemd-container has the program that boots it. */
const DEBIAN = join(CACHE, 'one-machine-trixie.tar');
const PACKAGES = ['curl', 'git', 'npm', 'openssl', 'ca-certificates', 'dbus', 'nginx-light', 'systemd-sysv'];
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const CLONE = fileURLToPath(new URL('../..', import.meta.url));
/** Any address of the internet: on the loopback interface of the machine, where a website answers. */
const SITE = '93.184.215.14';
const SERVE = `require('http').createServer((_, response) => response.end('<title>A page</title>')).listen(8099)`;
const LIMIT_MS = 600_000;

const shellBlock = (guide: readonly string[], text: string) => guide.find((block) => block.includes(text))!;
const GUIDE = codeBlocks('shell');
const UPGRADING = readFileSync(new URL('../../docs/guides/upgrading.md', import.meta.url), 'utf8');

function makeDebian(): void {
  if (existsSync(DEBIAN)) return;
  mkdirSync(CACHE, { recursive: true });
  const include = `--include=${[...PACKAGES, 'systemd-container'].join(',')}`;
  execFileSync('mmdebstrap', ['--variant=minbase', include, 'trixie', `${DEBIAN}.new`], { stdio: 'inherit' });
  renameSync(`${DEBIAN}.new`, DEBIAN);
}

/** A command line of the container's own systemd-nspawn, so that the machine around it needs none. */
function nspawn(root: string, args: readonly string[]): [string, string[]] {
  const libraries = ['', '/systemd'].map((folder) =>
    join(root, `usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu${folder}`),
  );
  const loader = join(root, process.arch === 'arm64' ? 'lib/ld-linux-aarch64.so.1' : 'lib64/ld-linux-x86-64.so.2');
  const always = ['--register=no', '--keep-unit', '--quiet', '--machine=checker', `--directory=${root}`];
  const source = `--bind-ro=${join(root, '../source')}:/source`;
  return [
    loader,
    ['--library-path', libraries.join(':'), join(root, 'usr/bin/systemd-nspawn'), ...always, source, ...args],
  ];
}

async function carryOut(folder: string): Promise<void> {
  const root = join(folder, 'root');
  const environment = { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' };
  mkdirSync(root);
  execFileSync('tar', ['-xf', DEBIAN, '-C', root, '--numeric-owner']);
  execFileSync('git', ['clone', '--quiet', '--bare', CLONE, join(folder, 'source')]);
  const step = (said: string) => console.log(`${Math.round(performance.now() / 1000)} s: ${said}`);

  const install = shellBlock(GUIDE, 'git clone').replace('REPOSITORY', 'file:///source');
  const online = [
    '--resolv-conf=bind-host',
    `--bind-ro=${CERTIFICATES}`,
    `--setenv=NODE_EXTRA_CA_CERTS=${CERTIFICATES}`,
  ];
  await run(...nspawn(root, [...online, '--pipe', 'sh', '-ec', install]), { env: environment });
  step('installed');

  const [program, args] = nspawn(root, ['--boot', '--private-network', '--console=pipe']);
  const boot = () => spawn(program, args, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
  let container = boot();
  /** What a command prints in the machine; a reboot gives its first process another id. */
  const inside = async (script: string) => {
    const { stdout: init } = await run('pgrep', ['-P', String(container.pid)]);
    const enter = [
      '-t',
      init.trim(),
      '-a',
      'env',
      '-i',
      'HOME=/root',
      'LANG=C.UTF-8',
      `PATH=/usr/local/sbin:/usr/sbin:/usr/bin`,
    ];
    return (
      await run('nsenter', [...enter, 'npm_config_offline=true', 'sh', '-ec', script], { timeout: LIMIT_MS })
    ).stdout.trim();
  };
  const booted = () =>
    until(() =>
      inside('systemctl is-system-running').then(
        (state) => state === 'running',
        () => false,
      ),
    );
  const show = (properties: string) => inside(`systemctl show --value -p ${properties} url-checker`);
  const ready = () => inside(shellBlock(GUIDE, 'enable --now url-checker\n').split('\n')[1]!);
  const serve = async () => {
    const init = (await run('pgrep', ['-P', String(container.pid)])).stdout.trim();
    await run('nsenter', ['-t', init, '-n', 'ip', 'addr', 'add', `${SITE}/32`, 'dev', 'lo']);
    await inside(`systemd-run --quiet --unit=site node -e "${SERVE}"`);
  };
  await booted();
  await serve();

  const settings = shellBlock(GUIDE, '/etc/url-checker.env');
  await inside(settings);
  assert.equal(await inside('stat -c "%a %U" /etc/url-checker.env'), '600 root');
  await assert.rejects(inside(settings), /exists/);
  for (const [name, unit] of Object.entries(UNITS)) writeFileSync(join(root, 'etc/systemd/system', name), unit);
  await inside('systemctl daemon-reload');
  assert.match(await inside(`systemd-analyze verify ${Object.keys(UNITS).join(' ')} 2>&1`), /^$/);
  await inside(shellBlock(GUIDE, 'enable --now url-checker\n'));
  const exposure = /level for url-checker.service: ([\d.]+)/.exec(
    await inside('systemd-analyze security url-checker'),
  )![1];
  assert.ok(Number(exposure) < 2, exposure);
  assert.equal(await inside('stat -c "%a %U" /var/lib/url-checker'), '700 url-checker');
  step(`the unit runs, with an exposure level of ${exposure}`);

  await inside(shellBlock(GUIDE, '/usr/local/sbin/url-checker').replace(/^url-checker ops doctor.*$/m, ''));
  const token = await inside('url-checker token --user alice --email alice@example.com');
  const ask = (path: string, more = '') =>
    inside(`curl -s -H 'Authorization: Bearer ${token}' ${more} http://127.0.0.1:8080${path}`);
  await inside(`printf 'http://${SITE}:8099/%s\\n' a b c > /root/list.csv`);
  const { job_id } = JSON.parse(await ask('/jobs', '-F file=@/root/list.csv'));
  await until(async () => JSON.parse(await ask(`/jobs/${job_id}`)).status === 'completed');
  const results = await ask(`/jobs/${job_id}/results`);
  assert.equal(results.match(/"status_code":200/g)?.length, 3, results);
  const kept = async (when: string) => {
    await ready();
    assert.equal(await ask(`/jobs/${job_id}/results`), results, when);
    assert.match(await ask('/users/me/credits'), /"credit_balance":999997,/, when);
    step(`${when}: ready, with the job and the balance as before`);
  };

  await inside('kill -9 $(systemctl show --value -p MainPID url-checker)');
  await until(async () => (await show('NRestarts')) === '1');
  await kept('after kill -9');
  await inside('systemctl stop url-checker');
  assert.deepEqual((await show('Result,ExecMainStatus')).split('\n').sort(), ['0', 'success']);
  await inside('systemctl start url-checker');
  await kept('after a stop');

  await inside('systemctl start url-checker-backup.service');
  await inside(shellBlock(GUIDE, 'url-checker-backup.timer'));
  assert.match(await inside('systemctl list-timers'), /url-checker-backup\.timer/);
  await inside('url-checker ops doctor');
  step('backups: the unit, the timer and a rehearsal, and the doctor finds nothing');

  const [, upgrade] = /^```shell\n([\s\S]*?)```/m.exec(UPGRADING)!;
  await inside(upgrade!);
  await kept('after the upgrade');

  const [key, certificate] = ['/etc/ssl/checker.key', '/etc/ssl/checker.pem'];
  const names = '-newkey rsa:2048 -nodes -days 2 -subj /CN=checker.example.com';
  await inside(`openssl req -x509 ${names} -keyout ${key} -out ${certificate} 2>&1`);
  writeFileSync(join(root, 'etc/nginx/nginx.conf'), codeBlocks('nginx')[0]!);
  await inside('systemctl enable nginx && systemctl restart nginx');
  const proxied = (path: string) =>
    inside(
      `curl -sk -o /dev/null -w '%{http_code}' --resolve checker.example.com:443:127.0.0.1 https://checker.example.com${path}`,
    );
  assert.deepEqual([await proxied('/readyz'), await proxied('/metrics')], ['200', '404']);

  const ended = once(container, 'exit');
  await inside('systemctl reboot').catch(() => {}); // the shell ends with the machine
  await ended; // with --keep-unit the program leaves the second boot to whoever started it
  container = boot();
  await booted();
  await kept('after a reboot');
  assert.equal(await proxied('/readyz'), '200');
  await inside('systemctl is-active url-checker-backup.timer');
  await inside('systemctl poweroff');
}

const folder = process.env[INSIDE];
if (folder === undefined) {
  makeDebian();
  const made = mkdtempSync(join(tmpdir(), 'booted-machine-'));
  const own = 'mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd && exec "$0" "$@"';
  const words = [
    '--mount',
    '--pid',
    '--mount-proc',
    '--fork',
    '--kill-child',
    'sh',
    '-ec',
    own,
    process.execPath,
    process.argv[1]!,
  ];
  const { status } = spawnSync('unshare', words, { stdio: 'inherit', env: { ...process.env, [INSIDE]: made } });
  rmSync(made, { recursive: true, force: true, maxRetries: 5 });
  process.exitCode = status ?? 1;
} else {
  await carryOut(folder).then(
    () => process.exit(0),
    (error: Error) => {
      console.log(error);
      process.exit(1);
    },
  );
}
