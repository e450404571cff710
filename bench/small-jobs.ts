// Compares the processor time a URL of the whole embedded service in many jobs of 10 URLs and in one job of as many URLs.
// Processor time depends little on other load of the machine.
//
// It counts all threads of the service's process, from the first request until each job is completed, settled and its domains
// are recorded; every job is a request of its own to the public API. It does not count the client, the website, and the
// polling: this process reads the jobs' progress from the file of the read models.
// node bench/small-jobs.ts [--jobs 1000] [--rounds 3]
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { jobs as jobDocuments } from '../readmodels/jobs/jobs.ts';
import { openReadModels } from '../readmodels/read-models.ts';
import { median, urlsOver } from './loopback-urls.ts';
import { cpuMs } from './process-cpu.ts';
import { startBenchService } from './service.ts';

export interface SmallJobs {
  jobs: number;
  /** Processor time a URL in microseconds, medians. */
  small_us: number;
  large_us: number;
  /** small / large */
  ratio: number;
}

const SMALL = 10;
const HOSTS = 200;
const AT_ONCE = 8;
const LOOK_MS = 100;

export async function benchSmallJobs({ jobs = 1000, rounds = 3 } = {}): Promise<SmallJobs> {
  const service = await startBenchService();
  const { data_dir, website } = service;
  const documents = await openSqliteDocuments({ path: join(data_dir, 'documents.db') });
  try {
    const ended = openReadModels(documents).collection(jobDocuments);
    const client = await service.withKey(await service.clientOf('bench'));
    const total = jobs * SMALL;

    async function submit(urls: readonly string[]): Promise<void> {
      const { status, body } = await client.ask('POST', '/api/v2/jobs', { urls });
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
      submitted++;
    }
    let submitted = 0;
    async function allEnded(): Promise<void> {
      while ((await ended.count({ status: 'completed', due: null })) < submitted) await pause(LOOK_MS);
    }
    async function costUs(run: (urls: string[]) => Promise<void>): Promise<number> {
      const urls = urlsOver(HOSTS, total, website.port, `/${randomUUID()}/`);
      const before = cpuMs(service.pid);
      await run(urls);
      await allEnded();
      return ((cpuMs(service.pid) - before) * 1000) / total;
    }
    const small = () =>
      costUs(async (urls) => {
        let next = 0;
        const some = async () => {
          for (let n = next++; n < jobs; n = next++) await submit(urls.slice(n * SMALL, (n + 1) * SMALL));
        };
        await Promise.all(Array.from({ length: AT_ONCE }, some));
      });
    const large = () => costUs(submit);

    await small();
    await large();
    const [small_us, large_us]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      large_us.push(await large());
      small_us.push(await small());
    }
    const [of_small, of_large] = [median(small_us), median(large_us)];
    return { jobs, small_us: of_small, large_us: of_large, ratio: of_small / of_large };
  } finally {
    await documents.close();
    await service.stop();
  }
}

export function smallJobsTable({ jobs, small_us, large_us, ratio }: SmallJobs): string {
  return [
    `Processor time a URL, ${jobs * SMALL} URLs`,
    `  ${jobs} jobs of ${SMALL}`.padEnd(24) + `${small_us.toFixed(0)} µs`,
    `  one job`.padEnd(24) + `${large_us.toFixed(0)} µs`,
    `  small / large = ${ratio.toFixed(2)}`,
  ].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { jobs: { type: 'string' }, rounds: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(smallJobsTable(await benchSmallJobs(numbers)));
}
