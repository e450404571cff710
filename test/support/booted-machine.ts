// The guide for one machine, carried out: mmdebstrap makes a Debian, a container boots it with its own systemd, and the blocks of the
// guide run in it word by word: installation, unit, crash, stop, backup, upgrade, nginx, Caddy, reboot. Root only. It needs mmdebstrap and a
// network once, for the packages of Debian and npm; the booted machine has none. It takes three minutes, and is run by hand. Decision 205 says why.
//   node test/support/booted-machine.ts
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
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
const PACKAGES = ['caddy', 'curl', 'git', 'npm', 'openssl', 'ca-certificates', 'dbus', 'nginx-light', 'systemd-sysv'];
/** Debian 13: the first whose own Node.js is new enough. systemd-container has the program that boots it. */
const DEBIAN = join(CACHE, `trixie-${PACKAGES.join('-')}.tar`);
/** What npm has downloaded for an earlier run, of the machine and of whoever runs this. */
const NPM_CACHE = join(CACHE, 'npm-of-one-machine');
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const CLONE = fileURLToPath(new URL('../..', import.meta.url));
/** Any address of the internet: on the loopback interface of the machine, where a website answers. */
const SITE = '93.184.215.14';
const SERVE = `require('http').createServer((_, response) => response.end('<title>A page</title>')).listen(8099)`;
const LIMIT_MS = 600_000;
const ENVIRONMENT = { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' };

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
  const bound = [`--bind-ro=${join(root, '../source')}:/source`, `--bind=${NPM_CACHE}:/root/.npm`];
  return [
    loader,
    ['--library-path', libraries.join(':'), join(root, 'usr/bin/systemd-nspawn'), ...always, ...bound, ...args],
  ];
}

/** The Debian of a folder, with what the steps of the guide do in it. */
class Machine {
  #container: ChildProcess | null = null;
  readonly root: string;

  constructor(folder: string) {
    this.root = join(folder, 'root');
    for (const made of [this.root, NPM_CACHE]) mkdirSync(made, { recursive: true });
    execFileSync('tar', ['-xf', DEBIAN, '-C', this.root, '--numeric-owner']);
    execFileSync('git', ['clone', '--quiet', '--bare', CLONE, join(folder, 'source')]);
  }

  /** Runs a script before the machine has booted, with the network that it has not later. */
  async prepare(script: string) {
    const certificates = [`--bind-ro=${CERTIFICATES}`, `--setenv=NODE_EXTRA_CA_CERTS=${CERTIFICATES}`];
    const online = ['--resolv-conf=bind-host', ...certificates, '--setenv=npm_config_prefer_offline=true'];
    await run(...nspawn(this.root, [...online, '--pipe', 'sh', '-ec', script]), { env: ENVIRONMENT });
  }

  async boot() {
    const [program, args] = nspawn(this.root, ['--boot', '--private-network', '--console=pipe']);
    this.#container = spawn(program, args, { env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'inherit'] });
    const state = () => this.inside('systemctl is-system-running').catch(() => 'starting');
    await until(async () => (await state()) === 'running');
    await run('nsenter', ['-t', await this.#init(), '-n', 'ip', 'addr', 'add', `${SITE}/32`, 'dev', 'lo']);
    await this.inside(`systemd-run --quiet --unit=site node -e "${SERVE}"`);
  }

  /** With --keep-unit systemd-nspawn leaves the second boot to whoever started it. */
  async reboot() {
    const ended = once(this.#container!, 'exit');
    await this.inside('systemctl reboot').catch(() => {}); // the shell ends with the machine
    await ended;
    await this.boot();
  }

  /** What a command prints in the machine. */
  async inside(script: string) {
    const environment = [
      'HOME=/root',
      'LANG=C.UTF-8',
      'PATH=/usr/local/sbin:/usr/sbin:/usr/bin',
      'npm_config_offline=true',
    ];
    const enter = ['-t', await this.#init(), '-a', 'env', '-i', ...environment, 'sh', '-ec', script];
    return (await run('nsenter', enter, { timeout: LIMIT_MS })).stdout.trim();
  }

  put(path: string, text: string) {
    writeFileSync(join(this.root, path), text);
  }

  /** Its first process; a reboot gives it another id. */
  async #init() {
    return (await run('pgrep', ['-P', String(this.#container!.pid)])).stdout.trim();
  }
}

const step = (said: string) => console.log(`${Math.round(performance.now() / 1000)} s: ${said}`);

async function carryOut(machine: Machine): Promise<void> {
  const inside = (script: string) => machine.inside(script);
  const show = (properties: string) => inside(`systemctl show --value -p ${properties} url-checker`);

  // Debian starts a web server when it is installed; here each has its turn.
  const install = shellBlock(GUIDE, 'git clone').replace('REPOSITORY', 'file:///source');
  await machine.prepare(`systemctl disable --quiet caddy nginx\n${install}`);
  step('installed');
  await machine.boot();
  step('booted');

  const settings = shellBlock(GUIDE, '/etc/url-checker.env');
  await inside(settings);
  assert.equal(await inside('stat -c "%a %U" /etc/url-checker.env'), '600 root');
  await assert.rejects(inside(settings), /exists/);
  for (const [name, unit] of Object.entries(UNITS)) machine.put(`etc/systemd/system/${name}`, unit);
  await inside('systemctl daemon-reload');
  assert.equal(await inside(`systemd-analyze verify ${Object.keys(UNITS).join(' ')} 2>&1`), '');
  await inside(shellBlock(GUIDE, 'enable --now url-checker\n'));
  const analysed = await inside('systemd-analyze security url-checker');
  const exposure = /level for url-checker.service: ([\d.]+)/.exec(analysed)![1];
  assert.ok(Number(exposure) < 2, exposure);
  assert.equal(await inside('stat -c "%a %U" /var/lib/url-checker'), '700 url-checker');
  // A container gives no more files than it has.
  const files = async (pid: string) => Number(await inside(`awk '/^Max open files/ { print $5 }' /proc/${pid}/limits`));
  assert.equal(await files(await show('MainPID')), Math.min(65_536, await files('1')));
  step(`the unit runs, with an exposure level of ${exposure}`);

  await inside(shellBlock(GUIDE, '/usr/local/sbin/url-checker').replace(/^url-checker ops doctor.*$/m, ''));
  const kept = await checkedJob(machine);

  await inside(`kill -9 ${await show('MainPID')}`);
  await until(async () => (await show('NRestarts')) === '1');
  await kept('after kill -9');
  await inside('systemctl stop url-checker');
  assert.deepEqual((await show('Result,ExecMainStatus')).split('\n').sort(), ['0', 'success']);
  const compiled = async () => (await inside('find /var/cache/url-checker -type f -printf "%i %P\\n"')).split('\n');
  const written = await compiled();
  assert.ok(written.length > 500, 'the stop keeps the compiled modules');
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
  assert.deepEqual(
    new Set(written).difference(new Set(await compiled())),
    new Set(),
    'later starts compile nothing anew',
  );

  const [key, certificate] = ['/etc/ssl/checker.key', '/etc/ssl/checker.pem'];
  const names = '-newkey rsa:2048 -nodes -days 2 -subj /CN=checker.example.com';
  await inside(`openssl req -x509 ${names} -keyout ${key} -out ${certificate} 2>&1`);
  machine.put('etc/nginx/nginx.conf', codeBlocks('nginx')[0]!);
  // Its own authority signs, because the machine has no network.
  machine.put('etc/caddy/Caddyfile', `{\n\tlocal_certs\n}\n${codeBlocks('caddyfile')[0]}`);
  const address = '--resolve checker.example.com:443:127.0.0.1 https://checker.example.com';
  const proxied = (path: string) =>
    inside(`curl -sk -o /dev/null -w '%{http_code}' --retry 20 --retry-all-errors ${address}${path}`);
  for (const [proxy, other] of [
    ['caddy', 'nginx'],
    ['nginx', 'caddy'],
  ]) {
    await inside(`systemctl disable --quiet --now ${other}; systemctl enable --quiet --now ${proxy}`);
    assert.deepEqual([await proxied('/readyz'), await proxied('/metrics')], ['200', '404'], proxy);
    step(`${proxy} passes requests on`);
  }

  await machine.reboot();
  await kept('after a reboot');
  assert.equal(await proxied('/readyz'), '200');
  await inside('systemctl is-active url-checker-backup.timer');
  await inside('systemctl poweroff');
}

/** Checks three URLs; what it returns sees that the job and the balance are as they were. */
async function checkedJob(machine: Machine) {
  const inside = (script: string) => machine.inside(script);
  const token = await inside('url-checker token --user alice --email alice@example.com');
  const ask = (path: string, more = '') =>
    inside(`curl -s -H 'Authorization: Bearer ${token}' ${more} http://127.0.0.1:8080${path}`);
  await inside(`printf 'http://${SITE}:8099/%s\\n' a b c > /root/list.csv`);
  const { job_id } = JSON.parse(await ask('/jobs', '-F file=@/root/list.csv'));
  await until(async () => JSON.parse(await ask(`/jobs/${job_id}`)).status === 'completed');
  const results = await ask(`/jobs/${job_id}/results`);
  assert.equal(results.match(/"status_code":200/g)?.length, 3, results);
  step('a job is completed');
  return async (when: string) => {
    await inside(shellBlock(GUIDE, 'enable --now url-checker\n').split('\n')[1]!);
    assert.equal(await ask(`/jobs/${job_id}/results`), results, when);
    assert.match(await ask('/users/me/credits'), /"credit_balance":999997,/, when);
    step(`${when}: ready, with the job and the balance as before`);
  };
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
  const machine = new Machine(folder);
  await carryOut(machine).then(
    () => process.exit(0),
    async (error: Error) => {
      console.log(error);
      console.log(await machine.inside('journalctl --no-pager -n 60 -o cat').catch(() => ''));
      process.exit(1);
    },
  );
}
