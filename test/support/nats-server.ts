// A NATS server of the test's own, that it may kill: the binary of NATS_SERVER_BIN, or the one on the PATH.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.ts';
import { standStill } from './stand-still.ts';

const START_LIMIT_MS = 120_000;
/** A shell that kills the server when its own input ends: however a test process ends, it leaves no server behind. */
const WATCHED = '"$0" "$@" & server=$!; echo $server; read -r _; kill -9 $server; wait $server';

export interface NatsServer {
  url: string;
  /** Kills it as a crash would, and starts it again on the same port and data. */
  crash(): Promise<void>;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops it where it is: connections stay and nothing is answered, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

/** The path of the binary; null when there is none. */
export function findNatsServer(): string | null {
  const named = process.env.NATS_SERVER_BIN;
  if (named) return named;
  const paths = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'));
  return paths.find(isExecutable) ?? null;
}

export async function startNatsServer(binary: string, ...options: string[]): Promise<NatsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'nats-'));
  const port = await freePort();
  const args = ['--jetstream', '--store_dir', folder, '--addr', '127.0.0.1', '--port', String(port), ...options];
  let running: ChildProcess | null = null;
  let pid = 0;

  const start = async () => {
    running = spawn('sh', ['-c', WATCHED, binary, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    running.stdout!.once('data', (line: Buffer) => (pid = Number(line)));
    await ready(running);
  };
  const kill = async () => {
    if (running === null) return;
    const exited = once(running, 'exit');
    running.stdin!.end();
    running = null;
    await exited;
  };

  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    start,
    kill,
    freeze: () => standStill(pid),
    thaw: () => process.kill(pid, 'SIGCONT'),
    crash: async () => {
      await kill();
      await start();
    },
    remove: async () => {
      await kill();
      await rm(folder, { recursive: true });
    },
  };
}

async function ready(server: ChildProcess): Promise<void> {
  const lines: string[] = [];
  const log = createInterface({ input: server.stderr! });
  const signal = AbortSignal.timeout(START_LIMIT_MS);
  signal.addEventListener('abort', () => log.close());
  for await (const line of log) {
    lines.push(line);
    if (!line.includes('Server is ready')) continue;
    server.stderr!.resume();
    return;
  }
  server.stdin!.end();
  throw new Error(`nats-server did not start:\n${lines.join('\n')}`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
