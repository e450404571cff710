// A stranger beside the clients: pipelines requests and reads nothing, leaves requests half-sent, and floods. Meanwhile others look at what
// the service owes everybody: probes that answer, memory that stays, and reads that go on at a steady pace.
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Watch } from './clients.ts';
import { fairNow } from './fair-clock.ts';
import type { Findings } from './model.ts';
import type { Random } from './random.ts';
import type { Shape } from './shapes.ts';

/** Loopback addresses of their own, so that limits of an address tell them from the clients. */
const STRANGER = '127.0.0.9';
const READER = '127.0.0.8';
const CONNECTIONS = 30;
const PIPELINED = 100;
/** `TORTURE_READS=500` for a machine with cores to spare. */
const READS_A_SECOND = Number(process.env.TORTURE_READS ?? 10);
/** A reader gives up after this. */
const READ_MS = 20_000;
const LOOK_MS = 250;
/** By the fair clock, which counts in steps of a tenth of a second: of the thread for probes, and of the one that serves clients. */
const PROBE_MS = 1000;
export const HEALTH_MS = 2000;
const HEALTH_TIMEOUT_MS = 15_000;
/** Of http alone, and of all roles in one process: the image has a gigabyte. */
const MOST_MB = { alone: 512, all: 896 };
/** A stranger is never answered with a fault. */
const RIGHT: ReadonlySet<number> = new Set([200, 304, 400, 401, 404, 408, 413, 417, 429, 431, 503]);

/** Bothers the service until the time is up. */
export async function bother(shape: Shape, random: Random, watch: Watch, for_ms: number): Promise<void> {
  const port = Number(new URL(shape.url).port);
  const open = new Set<Socket>();
  function dial(text: string, reads: boolean): Socket {
    const socket = connect({ port, host: '127.0.0.1', localAddress: STRANGER });
    open.add(socket);
    socket.on('error', () => {}).once('close', () => open.delete(socket));
    if (reads)
      socket.on('data', (bytes: Buffer) => {
        for (const [, status] of bytes.toString('latin1').matchAll(/^HTTP\/1\.1 (\d{3}) /gm))
          if (!RIGHT.has(Number(status))) watch.violated(`a stranger was answered ${status}, with ${watch.current()}`);
      });
    else socket.pause();
    socket.write(text);
    return socket;
  }
  const head = (line: string, headers = '') => `${line} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
  const each = (text: () => string, reads: boolean) => {
    for (let n = 0; n < CONNECTIONS; n++) dial(text(), reads);
  };
  const body = () => 'x'.repeat(random.between(1, 60_000));
  const post = (text = body()) => head('POST /api/v2/jobs', `Content-Length: ${text.length}\r\n`) + text;
  const bothers: readonly [what: string, act: () => void][] = [
    ['pipelines and reads nothing', () => each(() => head('GET /openapi.json').repeat(PIPELINED), false)],
    ['pipelines bodies', () => each(() => head('GET /openapi.json') + post().repeat(20), false)],
    ['sends half a head', () => each(() => 'GET /jobs HTTP/1.1\r\nHost:', true)],
    ['sends half a body', () => each(() => post().slice(0, -1), true)],
    ['expects', () => each(() => head('GET /public-stats', 'Expect: cake\r\n').repeat(PIPELINED), true)],
    ['floods', () => each(() => head('GET /public-stats').repeat(PIPELINED), true)],
    ['floods probes', () => each(() => head('GET /readyz').repeat(PIPELINED), true)],
  ];
  // Each kind once, so that a short run has them all, and then any.
  const first = bothers.map((one) => ({ one, at: random.next() })).sort((a, b) => a.at - b.at);
  for (const until = performance.now() + for_ms; performance.now() < until; ) {
    const [what, act] = first.shift()?.one ?? random.pick(bothers);
    watch.count(`stranger ${what}`);
    act();
    await sleep(random.between(1000, 5000));
    if (random.chance(0.5)) for (const socket of open) socket.destroy();
  }
  for (const socket of open) socket.destroy();
}

/** Reads at a steady pace, whether or not the earlier answers have come. What was there once stays, unless it `isGone`. */
export async function readSteadily(
  shape: Shape,
  paths: () => { path: string; token: string; isGone?: () => boolean }[],
  watch: Watch,
  for_ms: number,
): Promise<void> {
  const port = Number(new URL(shape.url).port);
  const agent = new Agent({ keepAlive: true, maxSockets: 100, localAddress: READER });
  const there = new Set<string>();
  let n = 0;
  function read(): void {
    const choices = paths();
    const { path, token, isGone } = choices[n++ % choices.length]!;
    const options = { port, host: '127.0.0.1', path, agent, timeout: READ_MS };
    const asking = get({ ...options, headers: { authorization: `Bearer ${token}` } }, (response) => {
      const status = response.resume().statusCode!;
      watch.count(`steady reads ${status}`);
      if (![200, 404, 503].includes(status)) watch.violated(`a steady read was answered ${status}`);
      if (status === 200) there.add(path);
      if (status === 404 && there.has(path) && !isGone?.())
        watch.violated(`GET ${path} was 200 before, and is 404 with ${watch.current()}`);
    });
    asking.on('timeout', () => asking.destroy()).on('error', () => watch.count('steady reads without an answer'));
  }
  const from = performance.now();
  for (let sent = 0; performance.now() - from < for_ms; ) {
    for (const due = ((performance.now() - from) / 1000) * READS_A_SECOND; sent < due; sent++) read();
    await sleep(20);
  }
  agent.destroy();
}

export interface Looking {
  /** Resolves with the most megabytes that http had. */
  stop(): Promise<number>;
}

/**
 * Looks at http's memory and at its probes: at that of a thread of its own, and at that of the thread that serves clients, which a
 * request may block. A process that is killed, frozen or starting is not slow.
 */
export function lookAtHttp(shape: Shape, health: Findings, memory: Findings, current: () => string): Looking {
  const { http } = shape;
  const most_mb = shape.processes.length === 1 ? MOST_MB.all : MOST_MB.alone;
  const probes = [
    { url: `${shape.probe_url}/healthz`, what: 'the /healthz of METRICS_PORT', most_ms: PROBE_MS, up: -1 },
    { url: `${shape.url}/healthz`, what: '/healthz', most_ms: HEALTH_MS, up: -1 },
  ];
  let is_over = false;
  let peak_mb = 0;
  /** `up`: the run of the program whose probe has answered. */
  async function ask(probe: (typeof probes)[number], run: number): Promise<void> {
    const began = fairNow();
    const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
    const status = await fetch(probe.url, { signal }).then(
      async (answer) => {
        await answer.body?.cancel();
        return answer.status;
      },
      () => null,
    );
    if (http.run() !== run) return;
    if (status === 200) probe.up = run;
    if (probe.up !== run) return;
    health.looked++;
    const took_ms = Math.round(fairNow() - began);
    if (status === 200 && took_ms <= probe.most_ms) return;
    health.broken.push(`${probe.what}: ${status ?? 'no answer'} after ${took_ms} ms, with ${current()}`);
  }
  async function look(): Promise<void> {
    const [run, pid] = [http.run(), http.pid()];
    if (run === null || pid === undefined) return;
    const mb = memoryOf(pid);
    if (mb !== null && http.run() === run) memory.looked++;
    peak_mb = Math.max(peak_mb, mb ?? 0);
    if (mb !== null && mb > most_mb) memory.broken.push(`http has ${Math.round(mb)} MB, with ${current()}`);
    await Promise.all(probes.map((probe) => ask(probe, run)));
  }
  const looking = (async () => {
    while (!is_over) {
      await look();
      await sleep(LOOK_MS);
    }
  })();
  return {
    async stop() {
      is_over = true;
      await looking;
      return Math.round(peak_mb);
    },
  };
}

/** The resident memory of a process; null where the system does not say. */
function memoryOf(pid: number): number | null {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  } catch {
    return null;
  }
}
