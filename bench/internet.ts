// A list of links checked on a simulated internet: the whole service, `npm run check` and, where it is on the PATH, lychee, against the
// schedule that no checker can beat. Names take 5 to 200 ms, first bytes 300 ms in the median and 10 s at the most; hosts are silent,
// refuse, redirect, drip or limit their rate. Needs root on Linux, for a network namespace of its own, iproute2 and openssl.
// node bench/internet.ts [--urls 10000] [--hosts 5000] [--tls 0.8] [--size 1] [--skew 0.8] [--seed 1] [--only service,check,lychee]
import { type ChildProcess, execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { issueLocalToken } from '../adapters/identity/index.ts';
import { openTestClient } from '../test/support/service.ts';
import { startServiceProcess } from '../test/support/service-process.ts';
import { idealSchedule } from './internet/ideal.ts';
import { NAME_SERVER } from './internet/names.ts';
import type { Seen, SimulatorArguments } from './internet/simulator.ts';
import { DEFAULT_WORLD, makeWorld, shuffled, type World, type WorldOptions, ZONE } from './internet/world.ts';
import { cpuMs } from './process-cpu.ts';
import { environmentOfStart } from './service.ts';

const INSIDE = 'URL_CHECKER_BENCH_INSIDE';
const LOOK_MS = 100;
/** The simulator must not be what is measured. */
const SIMULATOR_NICE = -15;
const PER_HOST = 10;

/** What one checker did with the list. */
interface Outcome {
  /** Seconds until so many URLs had a result that a reader saw; null where a checker shows none before its end. */
  seen_at: ((share: number) => number | null) | null;
  end_s: number;
  cpu_s: number;
  /** The verdicts by URL. */
  verdicts: Map<string, string>;
}

interface Surroundings {
  folder: string;
  list: string;
  world: World;
  env: Record<string, string>;
}

const { values } = parseArgs({
  options: {
    ...{ urls: { type: 'string' }, hosts: { type: 'string' }, tls: { type: 'string' }, size: { type: 'string' } },
    ...{ skew: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
  },
});
const { only, ...given } = values;
const options: WorldOptions = { ...DEFAULT_WORLD };
for (const [name, text] of Object.entries(given)) options[name as keyof WorldOptions] = Number(text);

const CHECKERS = { service: ofService, check: ofCheck, lychee: ofLychee } as const;

if (process.env[INSIDE] === undefined) {
  const args = ['-n', '-m', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const { status } = spawnSync('unshare', args, { stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } });
  process.exit(status ?? 1);
}
await bench();

async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'url-checker-internet-'));
  try {
    const world = makeWorld(options);
    const order = shuffled(world, options.seed);
    const list = join(folder, 'urls.csv');
    writeFileSync(list, `${order.map((n) => world.pages[n]!.url).join('\n')}\n`);
    const certificate = connectHosts(folder);
    const ca = join(folder, 'ca.pem');
    const env = { NODE_EXTRA_CA_CERTS: ca, SSL_CERT_FILE: ca, CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8' };
    const lines = [
      ['', '50 %', '90 %', '99 %', 'end', 'ideal 90 %', 'ideal end', 'ms a URL', 'requests a URL', 'connections'],
    ];
    lines[0]!.push('at once', 'on a host', 'late after 429', 'wrong');
    for (const [name, run] of Object.entries(CHECKERS)) {
      if (only !== undefined && !only.split(',').includes(name)) continue;
      if (name === 'lychee' && spawnSync('lychee', ['--version']).error) continue;
      const simulator = await startSimulator({ world: options, ...certificate });
      const outcome = await run({ folder, list, world, env });
      const seen = await endSimulator(simulator);
      lines.push(lineOf(name, outcome, seen, world, order));
    }
    for (const line of lines)
      console.log(line.map((cell, n) => (n === 0 ? cell.padEnd(8) : cell.padStart(15))).join(''));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Names go to the simulator, in this namespace alone. Returns a certificate of an authority of its own for all hosts. */
function connectHosts(folder: string): Pick<SimulatorArguments, 'cert' | 'key'> {
  const at = (name: string) => join(folder, name);
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  writeFileSync(at('resolv.conf'), `nameserver ${NAME_SERVER}\n`);
  execFileSync('mount', ['--bind', at('resolv.conf'), '/etc/resolv.conf']);
  for (const setting of ['ipv4.ip_local_port_range=10000 65000', 'core.somaxconn=65535', 'ipv4.tcp_tw_reuse=1']) {
    spawnSync('sysctl', ['-qw', `net.${setting}`], { stdio: 'ignore' });
  }
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30'];
  const files = (name: string) => ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
  openssl('req', '-x509', ...fresh, ...files('ca'), '-subj', '/CN=simulated authority');
  const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-addext', `subjectAltName=DNS:*.${ZONE}`];
  openssl(
    'req',
    '-x509',
    ...fresh,
    ...files('leaf'),
    '-subj',
    '/CN=simulated',
    ...signed,
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  );
  return { cert: readFileSync(at('leaf.pem'), 'utf8'), key: readFileSync(at('leaf.key'), 'utf8') };
}

async function startSimulator(args: SimulatorArguments): Promise<ChildProcess> {
  const simulator = fork(join(import.meta.dirname, 'internet/simulator.ts'), [JSON.stringify(args)]);
  await once(simulator, 'message');
  spawnSync('renice', ['-n', String(SIMULATOR_NICE), '-p', String(simulator.pid)], { stdio: 'ignore' });
  return simulator;
}

async function endSimulator(simulator: ChildProcess): Promise<Seen> {
  const told = once(simulator, 'message');
  simulator.send('end');
  const [seen] = await told;
  return seen as Seen;
}

/** Submitted as a file, and followed by its job, as the front end does. */
async function ofService({ folder, list, env }: Surroundings): Promise<Outcome> {
  const data_dir = join(folder, 'data');
  const service = await startServiceProcess({
    ...{ DATA_DIR: data_dir, SIGNUP_CREDITS: '1000000', ...env, ...(await environmentOfStart()) },
  });
  try {
    const token = await issueLocalToken(data_dir, { user_id: 'bench', email: null, is_admin: false, hours: 3 });
    const client = openTestClient(service.url, token, '', () => {});
    const cpu_before = cpuMs(service.pid);
    const began = performance.now();
    const { job_id } = (await client.upload(readFileSync(list, 'utf8'))).body;
    const line: { at_s: number; completed: number }[] = [];
    for (let job = { status: 'processing', total_urls: 0 }; job.status === 'processing'; ) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      ({ body: job } = await client.ask('GET', `/jobs/${job_id}`));
      const { completed_urls, total_urls } = job as unknown as { completed_urls: number; total_urls: number };
      line.push({ at_s: (performance.now() - began) / 1000, completed: completed_urls / total_urls });
    }
    const cpu_s = (cpuMs(service.pid) - cpu_before) / 1000;
    const csv = await (
      await fetch(`${service.url}/jobs/${job_id}/export?format=csv`, { headers: { authorization: `Bearer ${token}` } })
    ).text();
    const seen_at = (share: number) => line.find(({ completed }) => completed >= share)?.at_s ?? null;
    return { seen_at, end_s: line.at(-1)!.at_s, cpu_s, verdicts: verdictsOf(csv) };
  } finally {
    await service.stop();
    rmSync(data_dir, { recursive: true, force: true });
  }
}

/** The columns of an export that no URL or verdict of a simulated world needs quotes for. */
function verdictsOf(csv: string): Map<string, string> {
  const [head, ...rows] = csv.trim().split(/\r?\n/);
  const columns = head!.replace(/^\uFEFF/, '').split(',');
  const [url, verdict] = [columns.indexOf('url'), columns.indexOf('verdict')];
  return new Map(rows.map((row) => row.split(',')).map((cells) => [cells[url]!, cells[verdict]!]));
}

async function ofCheck({ folder, list, env }: Surroundings): Promise<Outcome> {
  const out = join(folder, 'check.csv');
  // As `npm run check` starts it: a cache of compiled modules halves what a start costs.
  const at = (name: string) => join(import.meta.dirname, '..', name);
  const args = ['--import', at('boot.js'), at('cli/check.ts'), list, '-q', '-o', out, '--fail-on', 'none'];
  const ran = await runProgram(process.execPath, args, {
    ...env,
    ...(await environmentOfStart()),
    DATA_DIR: join(folder, 'runs'),
  });
  return { ...ran, seen_at: null, verdicts: verdictsOf(readFileSync(out, 'utf8')) };
}

/** lychee tells broken from working alone, and knows no soft 404. */
async function ofLychee({ folder, list, world, env }: Surroundings): Promise<Outcome> {
  const out = join(folder, 'lychee.json');
  const limits = [
    '--max-concurrency',
    '1000',
    '--host-concurrency',
    String(PER_HOST),
    '--host-request-interval',
    '0ms',
  ];
  const args = [
    '--no-progress',
    '--format',
    'json',
    '--output',
    out,
    '--timeout',
    '15',
    '--max-retries',
    '2',
    ...limits,
    list,
  ];
  const ran = await runProgram('lychee', args, env);
  const { error_map = {}, fail_map = {}, timeout_map = {} } = JSON.parse(readFileSync(out, 'utf8'));
  const failed = new Set(
    [error_map, fail_map, timeout_map]
      .flatMap((map) => Object.values(map as Record<string, { url: string }[]>).flat())
      .map(({ url }) => url),
  );
  const good = ['ok', 'redirected', 'soft_404'];
  const verdicts = new Map(
    world.pages.map(({ url, verdict }) => {
      const is_right = failed.has(url) !== good.includes(verdict);
      return [url, is_right ? verdict : failed.has(url) ? 'broken' : 'ok'];
    }),
  );
  return { ...ran, seen_at: null, verdicts };
}

async function runProgram(program: string, args: readonly string[], env: Record<string, string>) {
  const began = performance.now();
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
  let cpu_s = 0;
  const looking = setInterval(() => {
    // It may have ended since.
    if (child.exitCode === null) cpu_s = cpuMs(child.pid!) / 1000;
  }, LOOK_MS);
  await once(child, 'exit');
  clearInterval(looking);
  return { end_s: (performance.now() - began) / 1000, cpu_s };
}

function lineOf(name: string, outcome: Outcome, seen: Seen, world: World, order: readonly number[]): string[] {
  const urls = world.pages.length;
  const { seen_at, end_s, cpu_s, verdicts } = outcome;
  const ideal = idealSchedule(world, order, PER_HOST, (1000 * cpu_s) / urls);
  const wrong = new Map<string, number>();
  for (const { url, verdict, host } of world.pages) {
    const found = verdicts.get(url) ?? 'none';
    if (found === verdict) continue;
    const what = `${host.kind}: ${verdict} as ${found}`;
    wrong.set(what, (wrong.get(what) ?? 0) + 1);
  }
  for (const [what, count] of wrong) console.error(`${name}: ${count} wrong, ${what}`);
  const seconds = (value: number | null | undefined) => (value == null ? '–' : value.toFixed(1));
  const times = [0.5, 0.9, 0.99].map((share) => seconds(seen_at?.(share)));
  const costs = [(1000 * cpu_s) / urls, seen.requests / urls].map((value) => value.toFixed(2));
  const counts = [seen.connections, seen.most_at_once, seen.most_on_a_host, seen.late_after_429];
  const all_wrong = [...wrong.values()].reduce((sum, count) => sum + count, 0);
  return [
    name,
    ...times,
    seconds(end_s),
    seconds(ideal.p90),
    seconds(ideal.end),
    ...costs,
    ...[...counts, all_wrong].map(String),
  ];
}
