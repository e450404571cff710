// Starts a mongod as a replica set of one, from its program, for a test run without Docker:
// `node test/support/mongod.ts /path/to/mongod npx ava --config ava.servers.config.js` runs the command with MONGODB_URL.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MongoClient, type MongoClientOptions } from 'mongodb';
import { freePort } from './free-port.ts';

const START_MS = 120_000;

export interface Mongod {
  url: string;
  pid: number;
  /** kill -9; its data stay for `start`. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** The path of the program: MONGOD_BIN, or `mongod` wherever the PATH finds it. */
export const findMongod = (): string => process.env.MONGOD_BIN ?? 'mongod';

/** `more`: further arguments; `tls`: how a client connects to a server that wants TLS. */
export async function startMongod(
  program: string,
  more: readonly string[] = [],
  tls: MongoClientOptions = {},
): Promise<Mongod> {
  const folder = await mkdtemp(join(tmpdir(), 'mongod-'));
  const port = await freePort();
  const args = ['--replSet', 'rs0', '--bind_ip', '127.0.0.1', '--port', String(port), '--dbpath', folder, ...more];
  let server: ChildProcess;
  const start = async () => {
    server = spawn(program, [...args, '--wiredTigerCacheSizeGB', '0.5', '--nounixsocket'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await listening(server);
  };
  const stop = async () => {
    await end(server, 'SIGTERM');
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await start();
    await initiate(port, tls);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `mongodb://127.0.0.1:${port}/?replicaSet=rs0`,
    get pid() {
      return server.pid!;
    },
    start,
    kill: () => end(server, 'SIGKILL'),
    stop,
  };
}

async function listening(server: ChildProcess): Promise<void> {
  const signal = AbortSignal.timeout(START_MS);
  const lines = createInterface({ input: server.stdout! });
  const last: string[] = [];
  const ended = once(server, 'exit', { signal }).then(([code]) => {
    throw new Error(`mongod ended with ${code}:\n${last.slice(-20).join('\n')}`);
  });
  const ready = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      last.push(line);
      if (last.length > 100) last.shift();
      if (line.includes('Waiting for connections')) resolve();
    });
  });
  await Promise.race([ready, ended]);
  ended.catch(() => {}); // it ends some time: only until it listens is this a failure
}

/** Makes a replica set of the one server, and waits for its primary. */
export async function initiate(port: number, tls: MongoClientOptions): Promise<void> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, tls);
  try {
    const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
    await client.db('admin').command({ replSetInitiate: { _id: 'rs0', members } });
  } finally {
    await client.close();
  }
  // Answers when there is a primary.
  const set = new MongoClient(`mongodb://127.0.0.1:${port}/?replicaSet=rs0`, {
    ...{ ...tls, serverSelectionTimeoutMS: START_MS },
  });
  try {
    await set.db('admin').command({ ping: 1 });
  } finally {
    await set.close();
  }
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) return;
  const exited = once(server, 'exit');
  server.kill(signal);
  await exited;
}

if (import.meta.main) {
  const [program, command, ...args] = process.argv.slice(2);
  if (!program || !command) throw new Error('usage: node test/support/mongod.ts MONGOD COMMAND [ARGUMENT…]');
  const mongod = await startMongod(program);
  try {
    const run = spawn(command, args, { stdio: 'inherit', env: { ...process.env, MONGODB_URL: mongod.url } });
    const [code] = await once(run, 'exit');
    process.exitCode = code ?? 1;
  } finally {
    await mongod.stop();
  }
}
