// A program that is kept running, as an orchestrator would: it is started again when it ends, and it is known whether
// that was its own doing. It may be killed, asked to end, and stopped for a while.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const RESTART_MS = 500;
const LAST_LINES = 4;

export interface Program {
  name: string;
  command: string;
  args: readonly string[];
  /** Its whole environment; unset: the driver's. */
  env?: Record<string, string>;
  /** Its output is appended there. */
  log_file: string;
}

export interface Supervised {
  name: string;
  /** Undefined while it does not run. */
  pid(): number | undefined;
  /** The number of this run, which each start, each pause and its end make another one; null while it does not run, or stands still. */
  run(): number | null;
  /** The last lines of its log, joined. */
  lastLines(): string;
  /** kill -9; after a while it runs again. `meanwhile` runs while it is down. */
  kill(down_ms: number, meanwhile?: () => Promise<void>): Promise<void>;
  /** SIGTERM, and after a while a new start; its exit code, which is 143 where it had not begun to listen to signals. */
  restart(down_ms?: number): Promise<number | null>;
  /** SIGSTOP, and after a while SIGCONT. */
  freeze(ms: number): Promise<void>;
  /** SIGTERM for good: its exit code. */
  stop(): Promise<number | null>;
  /** kill -9 for good, at once. */
  end(): void;
}

/** `ended_by_itself`: hears how, and its last lines. */
export function supervise(program: Program, ended_by_itself: (how: string) => void): Supervised {
  const { name, command, args, env, log_file } = program;
  let child: ChildProcess | null = null;
  /** Whether the end that comes is asked for. */
  let asked = false;
  let over = false;
  let run = 0;
  let is_frozen = false;

  function start(): void {
    if (over) return;
    asked = false;
    run++;
    const log = openSync(log_file, 'a');
    const started = spawn(command, args, { env: env ?? process.env, stdio: ['ignore', log, log] });
    closeSync(log);
    child = started;
    started.once('exit', (code, signal) => {
      if (asked || over) return;
      ended_by_itself(`${name} ended by itself with ${code ?? signal}: ${lastLines()}`);
      setTimeout(start, RESTART_MS);
    });
  }

  const lastLines = () =>
    readFileSync(log_file, 'utf8').trimEnd().split('\n').slice(-LAST_LINES).join(' ⏎ ').slice(-1500);

  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (!isRunning()) return null;
    const ending = child!;
    asked = true;
    run++;
    const exited = once(ending, 'exit');
    ending.kill('SIGCONT');
    ending.kill(signal);
    await exited;
    return ending.exitCode ?? 128 + constants.signals[ending.signalCode!];
  }

  function kill(): void {
    over = true;
    child?.kill('SIGKILL');
  }

  start();
  // However the driver ends, it leaves nothing behind.
  process.once('exit', kill);
  return {
    name,
    run: () => (isRunning() && !is_frozen && !asked ? run : null),
    pid: () => (isRunning() ? child!.pid : undefined),
    lastLines,
    async kill(down_ms, meanwhile) {
      if (!isRunning()) return;
      await end('SIGKILL');
      await meanwhile?.();
      await sleep(down_ms);
      start();
    },
    async restart(down_ms = 0) {
      if (!isRunning()) return 0;
      const code = await end('SIGTERM');
      await sleep(down_ms);
      start();
      return code;
    },
    async freeze(ms) {
      const frozen = child;
      is_frozen = true;
      frozen?.kill('SIGSTOP');
      await sleep(ms);
      frozen?.kill('SIGCONT');
      is_frozen = false;
      run++;
    },
    async stop() {
      // One that is about to start again does, so that what it is asked for is answered.
      while (!isRunning()) await sleep(50);
      over = true;
      return end('SIGTERM');
    },
    end() {
      kill();
      process.off('exit', kill);
    },
  };
}
