// The embedded service of a benchmark in a process of its own, with a folder and a website on loopback to check.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueLocalToken } from '../adapters/identity/index.ts';
import { openTestClient, type TestClient } from '../test/support/service.ts';
import { startServiceProcess } from '../test/support/service-process.ts';
import { type LoopbackServer, startLoopbackServer } from './loopback-server.ts';

export interface BenchService {
  /** Goes with the benchmark. The service's data are in `data_dir` inside. */
  folder: string;
  data_dir: string;
  pid: number;
  url: string;
  website: LoopbackServer;
  /** A new user of the front end's API. */
  clientOf(user_id: string): Promise<TestClient>;
  /** The same user with an API key, on `/api/v2`. */
  withKey(owner: TestClient): Promise<TestClient>;
  /** Ends the service and the website, and removes the folder. */
  stop(): Promise<void>;
}

/** The variables and the options with which `npm start` runs Node. */
export async function environmentOfStart(): Promise<Record<string, string>> {
  const { scripts } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
  const [variables, options] = (scripts.start as string).split(' node ');
  const set = variables!
    .replace('exec env ', '')
    .split(' ')
    .map((variable) => variable.split('=') as [string, string]);
  const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} ${options!.split(' ').slice(0, -1).join(' ')}`;
  return { ...Object.fromEntries(set), NODE_OPTIONS };
}

/**
 * Starts, with the options of `npm start`, a service whose users have a million credits, and whose limits hold no benchmark
 * up. `prepare` runs before it, when its folder of data is empty. `env`: further settings.
 */
export async function startBenchService(
  prepare = async (_data_dir: string) => {},
  env: Readonly<Record<string, string>> = {},
): Promise<BenchService> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-bench-'));
  const data_dir = join(folder, 'data');
  await mkdir(data_dir);
  await prepare(data_dir);
  const website = await startLoopbackServer();
  const service = await startServiceProcess({
    DATA_DIR: data_dir,
    SIGNUP_CREDITS: '1000000',
    CHECKER_PER_HOST: '64',
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    HEAVY_REQUESTS_PER_CALLER: '1000',
    ...(await environmentOfStart()),
    ...env,
  });
  const { pid, url } = service;
  return {
    ...{ folder, data_dir, pid, url, website },
    async clientOf(user_id) {
      const token = await issueLocalToken(data_dir, { user_id, email: null, is_admin: false, hours: 3 });
      return openTestClient(url, token, '', () => {});
    },
    async withKey(owner) {
      const { body } = await owner.ask('POST', '/users/me/api-keys', { name: 'bench' });
      return openTestClient(url, body.key, '/api/v2', () => {});
    },
    async stop() {
      await service.stop();
      await website.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
