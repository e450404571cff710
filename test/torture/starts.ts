// Starts of the whole service, many at once: each in a new folder, then after a kill -9 of a running service or at any moment of a start.
// No start may end by itself, and the last one of each folder must become ready and stop with code 0.
//   node test/torture/starts.ts [--rounds 100] [--at-once 8]
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url));
const BOOT = new URL('../../boot.js', import.meta.url).href;
const READY_MS = 120_000;
const ASK_MS = 50;

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '100' }, 'at-once': { type: 'string', default: '8' } },
});
const rounds = Number(values.rounds);
const failures: string[] = [];
let [begun, first_starts, starts_after_kill, start_ms] = [0, 0, 0, 1_000];

class Start {
  readonly #child: ChildProcess;
  output = '';

  constructor(data_dir: string) {
    this.#child = spawn(process.execPath, ['--import', BOOT, MAIN], {
      env: { ...process.env, DATA_DIR: data_dir, PORT: '0', LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) stream.on('data', (data) => (this.output += data));
  }

  get #has_ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Throws when the process ends, or is not ready in time. */
  async ready(): Promise<void> {
    const until = performance.now() + READY_MS;
    while (!this.#has_ended && performance.now() < until) {
      const url = /"url":"(http[^"]+)"[^\n]*"the service runs"/.exec(this.output)?.[1];
      if (url !== undefined && (await fetch(`${url}/readyz`).catch(() => null))?.status === 200) return;
      await delay(ASK_MS);
    }
    throw new Error(this.#has_ended ? `it ended with ${this.#child.exitCode}` : 'it is not ready');
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.#has_ended) return this.#child.exitCode;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exited;
    return this.#child.exitCode;
  }
}

function failed(what: string, why: string, { output }: Start): Error {
  failures.push(`${what}: ${why}\n${output}`);
  return new Error(why);
}

async function becomesReady(what: string, start: Start): Promise<void> {
  await start.ready().catch(async (error: Error) => {
    await start.end('SIGKILL');
    throw failed(what, error.message, start);
  });
}

/** Kills the start at any moment, a ready service too. It may not have ended before that. */
async function cutOff(what: string, start: Start): Promise<void> {
  await delay(Math.random() * start_ms * 1.2);
  const code = await start.end('SIGKILL');
  if (code !== null) throw failed(what, `it ended with ${code}`, start);
}

async function round(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'starts-'));
  try {
    const began = performance.now();
    const first = new Start(folder);
    first_starts += 1;
    if (Math.random() < 0.5) {
      await becomesReady('a first start', first);
      start_ms = performance.now() - began;
      await first.end('SIGKILL');
      starts_after_kill += 1;
      await cutOff('a start after kill -9', new Start(folder));
    } else await cutOff('a first start', first);

    const last = new Start(folder);
    starts_after_kill += 1;
    await becomesReady('a start after kill -9', last);
    const code = await last.end('SIGTERM');
    if (code !== 0) failed('a stop', `code ${code}`, last);
  } catch {
    // The failure is noted.
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function lane(): Promise<void> {
  while (begun < rounds) {
    begun += 1;
    await round();
  }
}

await Promise.all(Array.from({ length: Number(values['at-once']) }, lane));
for (const failure of failures) console.log(failure);
console.log(`${first_starts} first starts, ${starts_after_kill} starts after kill -9, ${failures.length} failures`);
process.exitCode = failures.length > 0 ? 1 : 0;
