// A whole service as a process of its own, which a test may kill and start again on the same data.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { STARTS } from '../../http/server/starting.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url));

/** A test that waits asks more often than a client may. */
const UNLIMITED = { RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_PER_DAY: '1000000', REQUEST_WAIT_MS: '60000' };

export interface ServiceProcess {
  url: string;
  pid: number;
  /** All that it has written. */
  output(): string;
  /** kill -9: returns when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM: the exit code. */
  stop(): Promise<number | null>;
}

/**
 * Resolves when the service answers, or says that it runs where it has no http role. `under`: a program that becomes the
 * service, with its arguments.
 */
export async function startServiceProcess(
  env: Record<string, string>,
  under: readonly string[] = [],
): Promise<ServiceProcess> {
  const port = env.PORT ?? String(await freePort());
  const has_http = (env.ROLES ?? 'http').includes('http');
  const [program, ...args] = [...under, process.execPath, MAIN];
  const child = spawn(program!, args, {
    env: { ...process.env, ...UNLIMITED, LOG_LEVEL: has_http ? 'warn' : 'info', ...env, PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const url = `http://127.0.0.1:${port}`;
  const runs = has_http ? () => answers(url) : async () => output.includes('the service runs');
  await until(async () => {
    if (await runs()) return true;
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}:\n${output}`);
    return false;
  });
  return {
    url,
    pid: child.pid!,
    output: () => output,
    kill: () => end(child, 'SIGKILL').then(() => {}),
    stop: () => end(child, 'SIGTERM'),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill(signal);
  const [code] = await exited;
  return code as number | null;
}

/** Whether the service answers requests, or says what it waits for; `/healthz` answers some time before. */
async function answers(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`).catch(() => null);
  const readiness = (await response?.json()) as { checks: { start?: { detail: string } } } | undefined;
  return readiness !== undefined && readiness.checks.start?.detail !== STARTS;
}
