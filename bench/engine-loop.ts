// Runs the checker's engine in a process of its own, with every rule switched on, for bench/checker.ts.
import { fileURLToPath } from 'node:url';
import { createEngine, type Engine } from '../checkers/engine/engine.ts';
import { serveLoop } from './loop-process.ts';
import { addressOf } from './loopback-urls.ts';

export type Kind =
  /** Hands the whole list to the engine at once. */
  | 'at once'
  /** Hands over as many URLs as `engine.free` allows, as the worker does. */
  | 'paced';

export interface EngineOptions {
  concurrency: number;
  per_host: number;
  ca?: string;
}

/** For `startLoop`. */
export const ENGINE_LOOP = fileURLToPath(import.meta.url);

function newEngine({ concurrency, per_host, ca }: EngineOptions): Engine {
  return createEngine(
    {
      concurrency,
      per_host,
      host_gap_ms: 0,
      timeout_ms: 15_000,
      retries: 2,
      allow_addresses: ['127.0.0.0/8'],
      user_agent: 'bench',
    },
    ca === undefined ? {} : { ca },
  );
}

async function checkOk(engine: Engine, url: string): Promise<void> {
  const outcome = await engine.check(url);
  if (outcome.verdict !== 'ok') throw new Error(`${url}: ${JSON.stringify(outcome)}`);
}

/** Checks `count` URLs, and makes each when the engine has room for it. */
async function paced(engine: Engine, count: number, urlAt: (i: number) => string, told?: (done: number) => void) {
  await new Promise<void>((resolve, reject) => {
    let started = 0;
    let done = 0;
    const ended = (): void => {
      done++;
      told?.(done);
      if (done === count) resolve();
      else start();
    };
    const start = (): void => {
      for (let free = engine.free; free > 0 && started < count; free--) {
        checkOk(engine, urlAt(started++)).then(ended, reject);
      }
    };
    if (count === 0) resolve();
    else start();
  });
}

async function run(kind: Kind, urls: readonly string[], options: EngineOptions): Promise<void> {
  const engine = newEngine(options);
  if (kind === 'paced') await paced(engine, urls.length, (i) => urls[i]!);
  else await Promise.all(urls.map((url) => checkOk(engine, url)));
  await engine.close();
}

export interface MemoryRun extends EngineOptions {
  urls: number;
  hosts: number;
  port: number;
}

/** Resident memory in MB after each twentieth of the URLs, and the rate in URL/s. */
export interface MemoryMeasured {
  resident_mb: number[];
  per_s: number;
}

/** Makes URLs as they are needed, so that the measured memory is the engine's own. */
async function memory({ urls, hosts, port, ...options }: MemoryRun): Promise<MemoryMeasured> {
  const engine = newEngine(options);
  const resident_mb: number[] = [];
  const step = Math.ceil(urls / 20);
  const began = performance.now();
  await paced(
    engine,
    urls,
    (i) => `http://${addressOf(i % hosts)}:${port}/things/thing-${i}`,
    (done) => {
      if (done % step === 0) resident_mb.push(process.memoryUsage.rss() / 2 ** 20);
    },
  );
  const per_s = urls / ((performance.now() - began) / 1000);
  await engine.close();
  return { resident_mb, per_s };
}

if (import.meta.main && process.argv[2] === 'loop') serveLoop<Kind, EngineOptions>(run);
if (import.meta.main && process.argv[2] === 'memory') {
  const measured = await memory(JSON.parse(process.argv[3]!) as MemoryRun);
  process.send!(measured);
  process.disconnect();
}
