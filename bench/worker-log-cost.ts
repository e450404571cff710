// What the worker log costs end to end: two services check the same lists in turns, one with the follower that makes the log, and one whose
// follower stands by because this process holds its lease. Compares the time from submitted to completed, and the processor time of the
// whole service, in pairs. Fails when the log costs more than 5 % of either.
// node bench/worker-log-cost.ts [--rounds 15] [--urls 40000] [--hosts 200]
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { LOG_STATE, logStates } from '../readmodels/operations/log-segments.ts';
import { openReadModels } from '../readmodels/read-models.ts';
import { whileHeld } from '../roles/holding.ts';
import { openLeases } from '../roles/leases.ts';

import { median, urlsOver } from './loopback-urls.ts';
import { cpuMs } from './process-cpu.ts';
import { startBenchService } from './service.ts';

const FOLLOWER = 'worker_log';
const LIMIT = 1.05;
const WARM_UP = 3;
const LOOK_MS = 50;
/** The follower spaces its transactions by 0.25 s, and http looks for new entries every 2 s. */
const SETTLE_MS = 2_500;

interface Cost {
  ms: number;
  cpu_ms: number;
}
export interface WorkerLogCost {
  urls: number;
  /** Medians. */
  with_log: Cost;
  without: Cost;
  /** The quarters of the ratios with / without of the pairs, by wall clock and by processor time. */
  wall: readonly [number, number, number];
  cpu: readonly [number, number, number];
}

export async function benchWorkerLogCost({ rounds = 15, urls = 40_000, hosts = 200 } = {}): Promise<WorkerLogCost> {
  const services = [await startSide(true), await startSide(false)] as const;
  const [with_log, without] = services;
  const costs: { with_log: Cost; without: Cost }[] = [];
  try {
    for (let round = -WARM_UP; round < rounds; round++) {
      // Each is first in every other round.
      const first = round % 2 === 0 ? with_log : without;
      const found = new Map([[first, await first.run(hosts, urls)]]);
      const second = first === with_log ? without : with_log;
      found.set(second, await second.run(hosts, urls));
      if (round >= 0) costs.push({ with_log: found.get(with_log)!, without: found.get(without)! });
    }
    await with_log.assertEntries((rounds + WARM_UP) * urls);
    await without.assertEntries(0);
  } finally {
    for (const each of services) await each.stop();
  }
  const of = (side: 'with_log' | 'without'): Cost => ({
    ms: median(costs.map((each) => each[side].ms)),
    cpu_ms: median(costs.map((each) => each[side].cpu_ms)),
  });
  const ratios = (by: keyof Cost) => {
    const sorted = costs.map((each) => each.with_log[by] / each.without[by]).sort((a, b) => a - b);
    return [0.25, 0.5, 0.75].map((share) => sorted[Math.floor(share * (sorted.length - 1))]!) as never;
  };
  return { urls, with_log: of('with_log'), without: of('without'), wall: ratios('ms'), cpu: ratios('cpu_ms') };
}

async function startSide(has_log: boolean) {
  const released = new AbortController();
  let holding: Promise<void> = Promise.resolve();
  const service = await startBenchService(async (data_dir) => {
    if (has_log) return;
    const documents = await openSqliteDocuments({ path: join(data_dir, 'documents.db') });
    const held = Promise.withResolvers<void>();
    holding = whileHeld(await openLeases(documents), FOLLOWER, released.signal, async (signal) => {
      held.resolve();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    }).finally(() => documents.close());
    await Promise.race([held.promise, holding]);
  });
  const owner = await service.clientOf('bench');
  const client = await service.withKey(owner);
  const documents = await openSqliteDocuments({ path: join(service.data_dir, 'documents.db') });
  return {
    async run(hosts: number, count: number): Promise<Cost> {
      const urls = urlsOver(hosts, count, service.website.port, `/${crypto.randomUUID()}/`);
      const before_ms = cpuMs(service.pid);
      const began = Date.now();
      const { status, body } = await client.ask('POST', '/api/v2/jobs', { urls });
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
      let job = body;
      while (job.status === 'processing') {
        await pause(LOOK_MS);
        job = (await client.ask('GET', `/api/v2/jobs/${body.job_id}`)).body;
      }
      if (job.status !== 'completed' || job.completed_urls !== count) throw new Error(JSON.stringify(job));
      await pause(SETTLE_MS);
      return { ms: Date.parse(job.completed_at) - began, cpu_ms: cpuMs(service.pid) - before_ms };
    },
    /** That the follower made each entry, or none. */
    async assertEntries(wanted: number): Promise<void> {
      const readmodels = openReadModels(documents, { follower: FOLLOWER });
      const entries = (await readmodels.collection(logStates).get(LOG_STATE))?.entries ?? 0;
      if (entries !== wanted) throw new Error(`the log has ${entries} entries and not ${wanted}`);
    },
    async stop(): Promise<void> {
      released.abort();
      await holding;
      await documents.close();
      await service.stop();
    },
  };
}

export function workerLogCostTable({ urls, with_log, without, wall, cpu }: WorkerLogCost): string {
  const row = (name: string, { ms, cpu_ms }: Cost) =>
    `  ${name.padEnd(22)}${(urls / ms).toFixed(1)} k URL/s, ${((cpu_ms * 1000) / urls).toFixed(1)} µs of processor time a URL`;
  const ratio = ([low, middle, high]: readonly number[]) =>
    `${middle!.toFixed(3)} (half of the pairs ${low!.toFixed(3)} to ${high!.toFixed(3)})`;
  return [
    `The worker log end to end, jobs of ${urls} URLs`,
    row('with the log', with_log),
    row('without', without),
    `  with / without = ${ratio(wall)} by wall clock, ${ratio(cpu)} by processor time`,
  ].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { rounds: { type: 'string' }, urls: { type: 'string' }, hosts: { type: 'string' } },
  });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  const measured = await benchWorkerLogCost(numbers);
  console.log(workerLogCostTable(measured));
  process.exitCode = measured.wall[1] > LIMIT || measured.cpu[1] > LIMIT ? 1 : 0;
}
