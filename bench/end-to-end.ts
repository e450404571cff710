// The whole service, embedded, from submitted to completed, against bare undici loops on the same list: 20,000 URLs over
// 200 loopback hosts, in alternating rounds, asked of nginx where it is installed, and of a responder in Node. lychee runs
// beside it where it is on the PATH.
// node bench/end-to-end.ts [--rounds 5] [--urls 20000] [--hosts 200]
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { issueLocalToken } from '../adapters/identity/index.ts';
import { openTestClient } from '../test/support/service.ts';
import { startServiceProcess } from '../test/support/service-process.ts';
import { startBareLoop } from './bare-loop.ts';
import { startLoopbackServer } from './loopback-server.ts';
import { median, urlsOver } from './loopback-urls.ts';
import { startNginx } from './nginx.ts';

const CONCURRENCY = 256;
const PER_HOST = 64;
const WARM_UP = 2;

export interface EndToEnd {
  website: 'nginx' | 'responder';
  urls: number;
  hosts: number;
  /** URL/s, the median of the rounds; null where it could not run. */
  rates: { service: number; request: number; dispatch: number; lychee: number | null };
  /** service / request */
  ratio: number;
}

export async function benchEndToEnd(options: { rounds?: number; urls?: number; hosts?: number } = {}) {
  const websites = { nginx: await startNginx(), responder: await startLoopbackServer() } as const;
  const measured: EndToEnd[] = [];
  try {
    for (const [website, server] of Object.entries(websites)) {
      if (server) measured.push(await against(website as EndToEnd['website'], server.port, options));
    }
  } finally {
    await websites.nginx?.stop();
    await websites.responder.stop();
  }
  return measured;
}

async function against(
  website: EndToEnd['website'],
  port: number,
  { rounds = 5, urls: count = 20_000, hosts = 200 },
): Promise<EndToEnd> {
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-bench-'));
  const bare = startBareLoop({ concurrency: CONCURRENCY, per_host: PER_HOST });
  const service = await startServiceProcess({
    DATA_DIR: data_dir,
    SIGNUP_CREDITS: '1000000',
    CHECKER_CONCURRENCY: String(CONCURRENCY),
    CHECKER_PER_HOST: String(PER_HOST),
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    RATE_LIMIT_PER_MINUTE: '1000000',
  });
  try {
    const token = await issueLocalToken(data_dir, { user_id: 'bench', email: null, is_admin: false, hours: 1 });
    const owner = openTestClient(service.url, token, '', () => {});
    const made = await owner.ask('POST', '/users/me/api-keys', { name: 'bench' });
    const client = openTestClient(service.url, made.body.key, '/api/v2', () => {});
    const urls = urlsOver(hosts, count, port);
    const list = join(data_dir, 'urls.txt');
    await writeFile(list, urls.join('\n'));

    const contestants: Record<string, () => Promise<number | null>> = {
      service: async () => {
        const began = Date.now();
        const { status, body } = await client.ask('POST', '/api/v2/jobs', { urls });
        if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
        // Polls rarely, so that polling costs little; the job's own timestamps give its end.
        let job = body;
        while (job.status === 'processing') {
          await new Promise((resolve) => setTimeout(resolve, 100));
          job = (await client.ask('GET', `/api/v2/jobs/${body.job_id}`)).body;
        }
        if (job.status !== 'completed' || job.completed_urls !== count) throw new Error(JSON.stringify(job));
        return Date.parse(job.completed_at) - began;
      },
      request: () => bare.run('request', urls),
      dispatch: () => bare.run('dispatch', urls),
      lychee: () => lychee(list),
    };
    const names = Object.keys(contestants);
    const times: Record<string, number[]> = {};
    // The first rounds warm up the JIT and do not count.
    for (let round = -WARM_UP; round < rounds; round++) {
      for (let k = 0; k < names.length; k++) {
        const name = names[(k + round + WARM_UP) % names.length]!;
        const ms = await contestants[name]!();
        if (ms !== null && round >= 0) (times[name] ??= []).push(ms);
      }
    }
    const rate = (name: string) => (times[name] ? count / (median(times[name]) / 1000) : null);
    const rates = {
      service: rate('service')!,
      request: rate('request')!,
      dispatch: rate('dispatch')!,
      lychee: rate('lychee'),
    };
    return { website, urls: count, hosts, rates, ratio: rates.service / rates.request };
  } finally {
    await service.stop();
    await bare.stop();
    await rm(data_dir, { recursive: true, force: true });
  }
}

/** Null where lychee is not installed. */
async function lychee(list: string): Promise<number | null> {
  const flags = ['--host-concurrency', '64', '--host-request-interval', '0ms', '--max-retries', '0'];
  const began = performance.now();
  try {
    await promisify(execFile)(
      'lychee',
      [
        ...flags,
        '--max-concurrency',
        String(CONCURRENCY),
        '--no-progress',
        '--format',
        'json',
        '--output',
        `${list}.json`,
        list,
      ],
      { maxBuffer: 1e9 },
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return performance.now() - began;
}

export function endToEndTable({ website, urls, hosts, rates, ratio }: EndToEnd): string {
  const rows = Object.entries(rates).map(
    ([name, rate]) => `  ${name.padEnd(10)}${rate === null ? 'not installed' : `${(rate / 1000).toFixed(1)} k URL/s`}`,
  );
  return [
    `${urls} URLs over ${hosts} hosts of ${website === 'nginx' ? 'nginx' : 'a responder in Node'}`,
    ...rows,
    `  service / request = ${ratio.toFixed(2)}`,
  ].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { rounds: { type: 'string' }, urls: { type: 'string' }, hosts: { type: 'string' } },
  });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  for (const measured of await benchEndToEnd(numbers)) console.log(endToEndTable(measured));
}
