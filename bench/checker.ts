// The checker's engine against bare undici and the other link checkers, on the same URLs of one web server on loopback
// addresses: URL/s, CPU a URL, and memory over a million URLs. Every contestant has a process of its own.
// node bench/checker.ts [--urls 20000,200000] [--hosts 1,200,5000,20000] [--tls-hosts 200] [--rounds 5] [--warm-up 1]
//   [--only request,engine] [--memory-urls 1000000]
// nginx and lychee are used where they are installed (`cargo install lychee --locked`; LYCHEE names another binary), and
// the Node checkers are installed into a cache folder. 20,000 hosts need `ulimit -n 65000`.
import { execFile, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { BARE_LOOP, type Kind as BareKind } from './bare-loop.ts';
import { ENGINE_LOOP, type Kind as EngineKind, type MemoryMeasured, type MemoryRun } from './engine-loop.ts';
import { startLoop } from './loop-process.ts';
import { startLoopbackServer } from './loopback-server.ts';
import { addressOf, median, urlsOver } from './loopback-urls.ts';
import { type Certificate, startNginx } from './nginx.ts';

const CONCURRENCY = 256;
const PER_HOST = 64;
const NODE_PEERS = ['linkinator', 'broken-link-checker'] as const;
/** Most URLs of one run of a peer: slow peers would take all day, and memory. */
const MAX_PEER_URLS = 20_000;
const run = promisify(execFile);

interface Result {
  ms: number;
  /** Null when the contestant's process is not ours. */
  cpu_us: number | null;
}
interface Contestant {
  name: string;
  /** Most URLs of one run of this contestant. */
  max_urls: number;
  check(urls: readonly string[], list: string): Promise<Result>;
  stop(): Promise<void>;
}

export interface CheckerBench {
  urls: readonly number[];
  hosts: readonly number[];
  tls_hosts: number;
  rounds: number;
  warm_up: number;
  /** Names of contestants; empty for all. */
  only: readonly string[];
  memory_urls: number;
}

export const CHECKER_BENCH: CheckerBench = {
  urls: [20_000, 200_000],
  hosts: [1, 200, 5000, 20_000],
  tls_hosts: 200,
  rounds: 5,
  warm_up: 1,
  only: [],
  memory_urls: 1_000_000,
};

export async function benchChecker(bench: CheckerBench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-bench-'));
  try {
    const certificate = bench.tls_hosts > 0 ? await makeCertificate(folder, bench.tls_hosts) : null;
    const missing: string[] = [];
    const peers = await findPeers(bench.only, missing);
    const plain = await startServer(null, missing);
    try {
      for (const hosts of bench.hosts) {
        for (const count of bench.urls) {
          await compare(bench, peers, folder, urlsOver(hosts, count, plain.port), `${hosts} hosts`);
        }
      }
      if (bench.memory_urls > 0) await showMemory(bench.memory_urls, plain.port);
    } finally {
      await plain.stop();
    }
    if (certificate !== null) {
      const secure = await startServer(certificate, missing);
      try {
        for (const count of bench.urls) {
          const urls = urlsOver(bench.tls_hosts, count, secure.port, undefined, 'https');
          await compare(bench, peers, folder, urls, `${bench.tls_hosts} hosts, TLS`, certificate.cert);
        }
      } finally {
        await secure.stop();
      }
    }
    for (const what of new Set(missing)) console.log(what);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function startServer(certificate: Certificate | null, missing: string[]) {
  const nginx = await startNginx(certificate);
  if (nginx === null) missing.push('Not installed: nginx. A responder in Node answered, which is slower.');
  return nginx ?? (await startLoopbackServer(certificate));
}

/** A self-signed certificate for every address of the hosts. */
async function makeCertificate(folder: string, hosts: number): Promise<Certificate> {
  const certificate = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const names = Array.from({ length: hosts }, (_, host) => `IP:${addressOf(host)}`).join(',');
  const subject = ['-subj', '/CN=bench', '-days', '2', '-addext', `subjectAltName=${names}`];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await run('openssl', ['req', '-x509', ...key, '-keyout', certificate.key, '-out', certificate.cert, ...subject]);
  return certificate;
}

type Peer = Omit<Contestant, 'check'> & {
  check(urls: readonly string[], list: string, secure: boolean): Promise<Result>;
};

async function findPeers(only: readonly string[], missing: string[]): Promise<Peer[]> {
  const wanted = (name: string) => only.length === 0 || only.includes(name);
  const peers: Peer[] = [];
  if (wanted('lychee')) {
    const lychee = process.env.LYCHEE ?? 'lychee';
    const version = await run(lychee, ['--version']).catch(() => null);
    if (version === null) missing.push('Not installed: lychee (cargo install lychee --locked; LYCHEE=path names it).');
    else peers.push(lycheePeer(lychee));
  }
  const node_peers = NODE_PEERS.filter(wanted);
  if (node_peers.length === 0) return peers;
  const modules = await installNodePeers();
  if (modules === null) missing.push(`Not installed: ${node_peers.join(', ')} (npm could not install them).`);
  else peers.push(...node_peers.map((name) => nodePeer(name, modules)));
  return peers;
}

function lycheePeer(lychee: string): Peer {
  const flags = ['--host-concurrency', String(PER_HOST), '--host-request-interval', '0ms', '--max-retries', '0'];
  const output = ['--no-progress', '--format', 'json', '--max-concurrency', String(CONCURRENCY)];
  return {
    name: 'lychee',
    max_urls: Number.POSITIVE_INFINITY,
    async check(urls, list, secure) {
      const began = performance.now();
      const insecure = secure ? ['--insecure'] : [];
      await run(lychee, [...flags, ...output, ...insecure, '--output', `${list}.json`, list], { maxBuffer: 1e9 });
      const ms = performance.now() - began;
      const { successful } = JSON.parse(readFileSync(`${list}.json`, 'utf8')) as { successful: number };
      if (successful !== urls.length) throw new Error(`lychee found ${successful} of ${urls.length} URLs to be fine`);
      return { ms, cpu_us: null };
    },
    stop: async () => {},
  };
}

/** Folder of the peers' modules; null when npm cannot install them. */
async function installNodePeers(): Promise<string | null> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'url-checker-bench');
  await mkdir(cache, { recursive: true });
  const from = fileURLToPath(new URL('./peers/', import.meta.url));
  for (const file of ['package.json', 'package-lock.json']) await copyFile(join(from, file), join(cache, file));
  const done = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: cache }).catch(
    () => null,
  );
  return done === null ? null : cache;
}

function nodePeer(name: (typeof NODE_PEERS)[number], modules: string): Peer {
  const script = fileURLToPath(new URL('./peers/node-peer.ts', import.meta.url));
  return {
    name,
    max_urls: MAX_PEER_URLS,
    async check(urls, list, secure) {
      const began = performance.now();
      const env = { ...process.env, NODE_NO_WARNINGS: '1', ...(secure ? { NODE_TLS_REJECT_UNAUTHORIZED: '0' } : {}) };
      const { stdout } = await run(process.execPath, [script, name, modules, list, String(CONCURRENCY)], { env });
      const ms = performance.now() - began;
      if (Number(stdout) !== urls.length)
        throw new Error(`${name} found ${stdout.trim()} of ${urls.length} to be fine`);
      return { ms, cpu_us: null };
    },
    stop: async () => {},
  };
}

/** This project's contestants, each in a process that lives for the whole comparison. */
function ours(only: readonly string[], ca: string | undefined): Contestant[] {
  const options = { concurrency: CONCURRENCY, per_host: PER_HOST, ...(ca === undefined ? {} : { ca }) };
  const contestant = <Kind extends string>(name: string, script: string, kind: Kind): Contestant => {
    const loop = startLoop<Kind>(script, options);
    return { name, max_urls: Number.POSITIVE_INFINITY, check: (urls) => loop.measure(kind, urls), stop: loop.stop };
  };
  const makers: Record<string, () => Contestant> = {
    request: () => contestant<BareKind>('request', BARE_LOOP, 'request'),
    dispatch: () => contestant<BareKind>('dispatch', BARE_LOOP, 'dispatch'),
    engine: () => contestant<EngineKind>('engine', ENGINE_LOOP, 'at once'),
    'paced engine': () => contestant<EngineKind>('paced engine', ENGINE_LOOP, 'paced'),
  };
  return Object.entries(makers)
    .filter(([name]) => only.length === 0 || only.includes(name))
    .map(([, make]) => make());
}

async function compare(
  { rounds, warm_up, only }: CheckerBench,
  peers: readonly Peer[],
  folder: string,
  urls: readonly string[],
  title: string,
  cert?: string,
): Promise<void> {
  const list = join(folder, 'urls.txt');
  await writeFile(list, urls.join('\n'));
  const ca = cert === undefined ? undefined : readFileSync(cert, 'utf8');
  const contestants = [
    ...ours(only, ca),
    ...peers.map((peer): Contestant => ({ ...peer, check: (all, path) => peer.check(all, path, ca !== undefined) })),
  ].filter(({ max_urls }) => urls.length <= max_urls);
  const results = new Map<string, Result[]>();
  const failed = new Map<string, string>();
  // A contestant with a new process for each round has no warm-up.
  for (let round = -warm_up; round < rounds; round++) {
    for (let k = 0; k < contestants.length; k++) {
      // Each round begins with another contestant, so that none always follows the same one.
      const { name, check } = contestants[(k + round + warm_up) % contestants.length]!;
      if (failed.has(name)) continue;
      try {
        const result = await check(urls, list);
        if (round >= 0) results.set(name, [...(results.get(name) ?? []), result]);
      } catch (error) {
        failed.set(name, (error as Error).message.split('\n')[0]!);
        results.delete(name);
      }
    }
  }
  await Promise.all(contestants.map(({ name, stop }) => (failed.has(name) ? undefined : stop())));
  show(title, urls.length, contestants, results, failed);
}

function show(
  title: string,
  count: number,
  contestants: readonly Contestant[],
  results: ReadonlyMap<string, Result[]>,
  failed: ReadonlyMap<string, string>,
): void {
  const rate = (name: string): number => {
    const all = results.get(name);
    return all === undefined ? Number.NaN : count / (median(all.map(({ ms }) => ms)) / 1000);
  };
  console.log(`\n${count} URLs over ${title}`);
  for (const { name } of contestants) {
    const all = results.get(name);
    if (all === undefined) {
      console.log(`  ${name.padEnd(20)} failed: ${failed.get(name)}`);
      continue;
    }
    const cpu = all[0]!.cpu_us === null ? '' : `${median(all.map(({ cpu_us }) => cpu_us!)).toFixed(0)} µs of CPU a URL`;
    console.log(`  ${name.padEnd(20)} ${(rate(name) / 1000).toFixed(1).padStart(6)} k URL/s  ${cpu}`.trimEnd());
  }
  const node_peers = NODE_PEERS.filter((name) => results.has(name)).sort((a, b) => rate(b) - rate(a));
  for (const other of ['request', 'dispatch', 'lychee', ...node_peers.slice(0, 1)]) {
    for (const name of ['engine', 'paced engine']) {
      if (!results.has(name) || !results.has(other)) continue;
      console.log(`  ${name} / ${other} = ${(rate(name) / rate(other)).toFixed(2)}`);
    }
  }
}

async function showMemory(urls: number, port: number): Promise<void> {
  const options: MemoryRun = { urls, hosts: 5000, port, concurrency: CONCURRENCY, per_host: PER_HOST };
  // Without a limit V8 lets garbage grow to hundreds of megabytes before it collects.
  const execArgv = ['--max-semi-space-size=16', '--max-old-space-size=128'];
  const child = fork(ENGINE_LOOP, ['memory', JSON.stringify(options)], { execArgv });
  const measured = await new Promise<MemoryMeasured>((resolve, reject) => {
    child.once('message', (message) => resolve(message as MemoryMeasured));
    child.once('exit', (code) => reject(new Error(`the engine ended with ${code}`)));
  });
  const shown = measured.resident_mb.map((mb) => mb.toFixed(0)).join(' ');
  console.log(`\n${urls} URLs over 5000 hosts, the engine alone: ${(measured.per_s / 1000).toFixed(1)} k URL/s`);
  console.log(
    `  resident at each twentieth: ${shown} MB; at the most ${Math.max(...measured.resident_mb).toFixed(0)} MB`,
  );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      urls: { type: 'string' },
      hosts: { type: 'string' },
      'tls-hosts': { type: 'string' },
      rounds: { type: 'string' },
      'warm-up': { type: 'string' },
      only: { type: 'string' },
      'memory-urls': { type: 'string' },
    },
  });
  const numbers = (text: string | undefined, fallback: readonly number[]) =>
    text === undefined ? fallback : text.split(',').filter(Boolean).map(Number);
  const number = (text: string | undefined, fallback: number) => (text === undefined ? fallback : Number(text));
  await benchChecker({
    urls: numbers(values.urls, CHECKER_BENCH.urls),
    hosts: numbers(values.hosts, CHECKER_BENCH.hosts),
    tls_hosts: number(values['tls-hosts'], CHECKER_BENCH.tls_hosts),
    rounds: number(values.rounds, CHECKER_BENCH.rounds),
    warm_up: number(values['warm-up'], CHECKER_BENCH.warm_up),
    only: values.only?.split(',') ?? [],
    memory_urls: number(values['memory-urls'], CHECKER_BENCH.memory_urls),
  });
}
