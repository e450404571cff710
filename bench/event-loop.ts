// How long each route blocks the event loop of http: its longest turn while the route works on its largest legal body or its
// heaviest query, over full stores, and the slowest /healthz beside it. A turn is measured in the thread's processor time, and
// in wall time, which the machine's other load lengthens. Garbage collection lengthens both, so each case runs several times
// and the least of the longest turns counts. Fails when a turn takes over 50 ms of processor time, or when a route has no
// case.
// node bench/event-loop.ts [--times 3] [--only 'POST /jobs'] [--data FOLDER, which is filled the first time and kept]
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Registry } from 'prom-client';
import { issueLocalToken } from '../adapters/identity/index.ts';
import { ALL_ROUTES } from '../http/all-routes.ts';
import { systemRoutes } from '../http/docs/system.ts';
import type { Route } from '../http/frame/route.ts';
import { openLogger } from '../service/logger.ts';
import { startService } from '../service/service.ts';
import { type Config, readConfig } from '../settings/config.ts';
import { type Case, casesOf } from './event-loop-cases.ts';
import type { Got, Sent } from './event-loop-client.ts';
import { type Filled, fill } from './event-loop-store.ts';
import { watchTurns } from './turns.ts';

export const LIMIT_MS = 50;

export interface Measured {
  route: string;
  what: string;
  status: number;
  /** Longest turn in ms of processor time; the least of all runs. */
  turn_ms: number;
  /** Longest turn in ms of wall time; the least of all runs. */
  delay_ms: number;
  healthz_ms: number;
  /** Time of the fastest answer, in ms. */
  answer_ms: number;
}

/** Without it the service closes the route of agencies. */
const AGENCY_SECRET = 'secret-of-the-bench';

export async function benchEventLoop(
  { times = 3, only = '', data = null as string | null } = {},
  tell = (_: Measured) => {},
): Promise<Measured[]> {
  const data_dir = data ?? (await mkdtemp(join(tmpdir(), 'url-checker-event-loop-')));
  const config = readConfig({
    ...{ DATA_DIR: data_dir, PORT: '0', ROLES: 'http,projector,processes' },
    ...{ LOG_FILE: join(data_dir, 'service.log'), LOG_LEVEL: 'info' },
    ...{ RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_PER_DAY: '1000000' },
    AGENCY_SECRET,
  });
  try {
    const filled = await filledOnce(config, join(data_dir, 'filled.json'));
    const service = await startService(config, openLogger(config));
    const client = new Worker(new URL('./event-loop-client.ts', import.meta.url), { workerData: { url: service.url } });
    try {
      const of = { user_id: filled.user_id, email: 'bench@example.com', is_admin: true, hours: 3 };
      const token = await issueLocalToken(data_dir, of);
      const made = async (method: string, path: string, body = '{}') => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const init = { method, headers, ...(method === 'GET' ? {} : { body }) };
        const answer = await fetch(service.url + path, init);
        if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
        return (await answer.json()) as Record<string, string>;
      };
      const { key } = await made('POST', '/users/me/api-keys');
      const { token: share } = await made('POST', `/jobs/${filled.job_id}/share`);
      const { url: link } = await made('GET', `/jobs/${filled.job_id}/download`);
      const cases = await casesOf(filled, { share: share!, link: link!.replace(/^https?:\/\/[^/]+/, '') });

      const measured: Measured[] = [];
      for (const route of everyRoute()) {
        const name = `${route.method} ${route.path}`;
        if (!name.startsWith(only)) continue;
        const of_route = cases[name];
        if (!of_route) throw new Error(`${name} has no case in bench/event-loop-cases.ts`);
        for (const one of of_route) {
          const asked = async (n: number) =>
            await ask(client, route, one, n, route.api.credentials === 'api-key' ? key! : token);
          measured.push(await measure(name, one.what, asked, times));
          tell(measured.at(-1)!);
        }
      }
      return measured;
    } finally {
      await client.terminate();
      await service.stop();
    }
  } finally {
    if (data === null) await rm(data_dir, { recursive: true, force: true });
  }
}

async function filledOnce(config: Config, path: string): Promise<Filled> {
  if (existsSync(path)) return JSON.parse(await readFile(path, 'utf8'));
  const filled = await fill(config);
  await writeFile(path, JSON.stringify(filled));
  return filled;
}

function everyRoute(): Route<never>[] {
  const options = { log: openLogger(readConfig({})), registry: new Registry(), readiness: {}, metrics_on_port: true };
  return [...ALL_ROUTES, ...systemRoutes(ALL_ROUTES, options)] as Route<never>[];
}

async function ask(client: Worker, { method }: Route<never>, one: Case, n: number, token: string): Promise<Got> {
  const { path, body, content_type } = one.request(n);
  const headers = {
    authorization: `Bearer ${token}`,
    'x-agency-secret': AGENCY_SECRET,
    ...(content_type ? { 'content-type': content_type } : {}),
  };
  const bytes = body === undefined ? null : new Uint8Array(Buffer.from(body));
  const sent: Sent = { method, path, headers, body: bytes };
  const got = once(client, 'message') as Promise<[Got]>;
  client.postMessage(sent, bytes ? [bytes.buffer] : []);
  return (await got)[0];
}

async function measure(
  route: string,
  what: string,
  asked: (n: number) => Promise<Got>,
  times: number,
): Promise<Measured> {
  const least = {
    turn_ms: Number.POSITIVE_INFINITY,
    delay_ms: Number.POSITIVE_INFINITY,
    healthz_ms: Number.POSITIVE_INFINITY,
  };
  let [answer_ms, status] = [Number.POSITIVE_INFINITY, 0];
  for (let n = 0; n < times; n++) {
    const answering = asked(n);
    // The next turn no longer contains the benchmark's own work to send a large body.
    await new Promise((resolve) => setImmediate(resolve));
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    const turns = watchTurns();
    const got = await answering;
    delays.disable();
    least.turn_ms = Math.min(least.turn_ms, turns.longest());
    const is_refused = got.status === 401 && !got.text.includes('invalid_signature');
    if (got.status === 0 || is_refused) throw new Error(`${route} (${what}): ${got.status} ${got.text}`);
    least.delay_ms = Math.min(least.delay_ms, delays.max / 1e6);
    least.healthz_ms = Math.min(least.healthz_ms, got.healthz_ms);
    answer_ms = Math.min(answer_ms, got.ms);
    status = got.status;
  }
  return { route, what, status, ...least, answer_ms };
}

const HEAD = `  ${'longest turn'.padStart(12)} ${'by the clock'.padStart(12)} ${'/healthz'.padStart(9)} ${'answer'.padStart(9)}  status  route`;

export function eventLoopLine({ route, what, status, turn_ms, delay_ms, healthz_ms, answer_ms }: Measured): string {
  const ms = (value: number, width: number) => `${value.toFixed(value < 100 ? 1 : 0)} ms`.padStart(width);
  const over = turn_ms > LIMIT_MS ? ' OVER' : '';
  return `  ${ms(turn_ms, 12)} ${ms(delay_ms, 12)} ${ms(healthz_ms, 9)} ${ms(answer_ms, 9)}  ${status}     ${route}${what && `: ${what}`}${over}`;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { times: { type: 'string' }, only: { type: 'string' }, data: { type: 'string' } },
  });
  const { only = '', times, data = null } = values;
  console.log(`The thread of http while it answers each route, the least of ${times ?? 3}\n${HEAD}`);
  const measured = await benchEventLoop({ only, data, times: Number(times ?? 3) }, (one) =>
    console.log(eventLoopLine(one)),
  );
  const over = measured.filter(({ turn_ms }) => turn_ms > LIMIT_MS);
  console.log(over.length === 0 ? `None is over ${LIMIT_MS} ms.` : `${over.length} are over ${LIMIT_MS} ms.`);
  process.exitCode = over.length === 0 ? 0 : 1;
}
