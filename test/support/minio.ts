// A MinIO server of the test's own, that it may kill: the program of MINIO_BIN.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { standStill } from './stand-still.ts';
import { until } from './until.ts';

const KEY_ID = 'minio-of-tests';
const SECRET = 'secret/of+tests';

export interface Minio {
  url: string;
  credentials: { access_key_id: string; secret_access_key: string };
  /** kill -9; its data stay for `start`. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops it where it is: connections stay and nothing is answered, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

/** The path of the program; null when there is none. */
export const findMinio = (): string | null => process.env.MINIO_BIN || null;

export async function startMinio(program: string): Promise<Minio> {
  const folder = await mkdtemp(join(tmpdir(), 'minio-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['server', '--quiet', '--address', `127.0.0.1:${port}`, '--console-address', '127.0.0.1:0', folder];
  const env = {
    HOME: folder,
    MINIO_ROOT_USER: KEY_ID,
    MINIO_ROOT_PASSWORD: SECRET,
    MINIO_BROWSER: 'off',
    MINIO_UPDATE: 'off',
  };
  let server: ChildProcess;
  const start = async () => {
    server = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const output of [server.stdout!, server.stderr!]) {
      output.on('data', (text) => {
        said = `${said}${text}`.slice(-2000);
      });
    }
    const ended = once(server, 'close').then(([code]) =>
      Promise.reject(new Error(`minio ended with ${code}: ${said}`)),
    );
    const ready = until(async () => (await fetch(`${url}/minio/health/ready`).catch(() => null))?.ok ?? false);
    await Promise.race([ready, ended]);
    ended.catch(() => {}); // it ends some time: only until it is ready is this a failure
  };
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  };
  // Beside much else its first start may end with 1, and say why.
  await start().catch((error: Error) => {
    console.warn(`${error.message}: it is started again`);
    return start();
  });
  return {
    url,
    credentials: { access_key_id: KEY_ID, secret_access_key: SECRET },
    start,
    kill,
    freeze: () => standStill(server.pid!),
    thaw: () => void server.kill('SIGCONT'),
    async remove() {
      await kill();
      await rm(folder, { recursive: true });
    },
  };
}
