// The worker log with a million entries: the time of a page under every filter and combination, at its beginning and at its end; the
// first read of a process; the bytes an entry; and the processor time that an entry costs the follower. Over SQLite, and over MongoDB
// where MONGODB_URL names one.
// node bench/worker-log.ts [--entries 1000000] [--hosts 5000]
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { openMongoDocuments } from '../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { workerLogProjection } from '../projections/operations/worker-log.ts';
import type { CollectionSpec, Document, Documents } from '../readmodels/documents.ts';
import type { LogFilter } from '../readmodels/operations/log-follower.ts';
import { openWorkerLog, workerLogLimits } from '../readmodels/operations/worker-log.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { watchTurns } from './turns.ts';
import { checkedEvent } from './worker-log-events.ts';

const { values } = parseArgs({
  options: { entries: { type: 'string', default: '1000000' }, hosts: { type: 'string', default: '5000' } },
});
const [ENTRIES, HOSTS] = [Number(values.entries), Number(values.hosts)];
const JOBS = 100;
const RANGE = 100;
const EVENTS_A_TRANSACTION = 50;
const LIMITS = workerLogLimits({ worker_log_entries: ENTRIES, worker_log_days: 30 });
const START_MS = Date.parse('2026-01-31T00:00:00.000Z');
const host = (n: number) => `www.host-${(n * 7919) % HOSTS}.example`;
const jobId = (n: number) => `0a9c1d52-7b5e-4a37-9a53-${String(n).padStart(12, '0')}`;

async function fill(documents: Documents): Promise<number> {
  const projection = workerLogProjection(LIMITS);
  const urls = new Map<string, string[]>();
  let cpu_us = 0;
  for (let from = 0; from < ENTRIES; from += RANGE * EVENTS_A_TRANSACTION) {
    const events = Array.from({ length: EVENTS_A_TRANSACTION }, (_, n) => {
      const first = from + n * RANGE;
      const job_id = jobId((first / RANGE) % JOBS);
      const id = String(first);
      urls.set(
        id,
        Array.from({ length: RANGE }, (_, k) => `https://${host(first + k)}/articles/of/the/year/${first + k}`),
      );
      const from_index = Math.floor(first / RANGE / JOBS) * RANGE;
      return checkedEvent(first, { job_id, from_index, urls: urls.get(id)!, at_ms: START_MS + first });
    });
    const began = process.cpuUsage();
    await documents.transaction((inside) =>
      projection.apply(
        events,
        (spec) => inside.collection(spec),
        ({ id }) => ({ urls: urls.get(id)!, rows: [] }),
      ),
    );
    const { user, system } = process.cpuUsage(began);
    cpu_us += user + system;
    urls.clear();
  }
  return cpu_us / ENTRIES;
}

function combinations(): LogFilter[] {
  let all: LogFilter[] = [{}];
  const some = {
    domain: [host(1), 'nobody.example'],
    status_code: [200, 503],
    non_2xx: [true],
    has_error: [true, false],
    job_id: [jobId(3)],
    before_ms: [START_MS + ENTRIES / 2],
  };
  for (const [name, each] of Object.entries(some))
    all = all.flatMap((filter) => [filter, ...each.map((value) => ({ ...filter, [name]: value }))]);
  return all;
}

async function measure(name: string, documents: Documents): Promise<void> {
  const cpu_us = await fill(documents);
  const readmodels = {
    collection: <T extends Document>(spec: CollectionSpec<T>) => documents.reading(spec),
    position: async () => '',
    flips: 0,
  } as unknown as ReadModels;
  const open = () => openWorkerLog(readmodels, LIMITS, () => START_MS + ENTRIES);
  const worker_log = open();
  globalThis.gc?.();
  const before_bytes = process.memoryUsage().heapUsed + process.memoryUsage().external;
  let longest = { turn_ms: 0, what: '' };
  // On a busy machine, the processor time of this thread says what the time would be on a free one.
  const time = async (what: string, work: () => Promise<unknown>) => {
    const turns = watchTurns();
    const [began, cpu] = [performance.now(), process.threadCpuUsage()];
    await work();
    const { user, system } = process.threadCpuUsage(cpu);
    const measured = { what, ms: performance.now() - began, cpu_ms: (user + system) / 1000 };
    const turn_ms = turns.longest();
    if (turn_ms > longest.turn_ms) longest = { turn_ms, what };
    return measured;
  };
  const first = await time('the first read', () => worker_log.list({}, { limit: 100, offset: 0 }));
  globalThis.gc?.();
  const held = process.memoryUsage().heapUsed + process.memoryUsage().external - before_bytes;
  const times: { ms: number; cpu_ms: number; what: string }[] = [];
  for (const filter of combinations()) {
    for (const page_size of [100, 200]) {
      const { total } = await worker_log.list(filter, { limit: page_size, offset: 0 });
      const last = Math.max(1, Math.ceil(total / page_size));
      for (const page of new Set([1, Math.ceil(last / 2), last])) {
        const what = `${JSON.stringify(filter)} page ${page}`;
        times.push(
          await time(what, () => worker_log.list(filter, { limit: page_size, offset: (page - 1) * page_size })),
        );
      }
    }
  }
  times.sort((a, b) => a.cpu_ms - b.cpu_ms);
  const shown = ({ ms, cpu_ms }: { ms: number; cpu_ms: number }) =>
    `${cpu_ms.toFixed(1)} ms of the processor in ${ms.toFixed(1)} ms`;
  const first_options = await time('the first filter options', () => worker_log.options(500));
  const options = await time('filter options', () => worker_log.options(500));
  const stats = await time('stats', () => worker_log.stats(START_MS, START_MS + ENTRIES));
  const at_once = await time('ten pages at once', () =>
    Promise.all(
      combinations()
        .slice(-10)
        .map((filter) => worker_log.list(filter, { limit: 200, offset: 0 })),
    ),
  );
  const worst = times.at(-1)!;
  console.log(`${name}: ${ENTRIES} entries of ${HOSTS} hosts`);
  console.log(
    `  a page, ${times.length} filters and places   median ${shown(times[times.length >> 1]!)}, worst ${shown(worst)} (${worst.what})`,
  );
  console.log(
    `  the first read of a process   ${shown(first)}, ${(held / ENTRIES).toFixed(0)} bytes an entry in memory`,
  );
  console.log(`  filter options   ${shown(options)}, the first ones of a process   ${shown(first_options)}`);
  console.log(`  stats   ${shown(stats)}; ten pages at once   ${shown(at_once)}`);
  console.log(
    `  the longest turn of the event loop   ${longest.turn_ms.toFixed(1)} ms of the processor (${longest.what})`,
  );
  console.log(`  making an entry   ${cpu_us.toFixed(1)} µs of processor time`);
}

const folder = await mkdtemp(join(tmpdir(), 'url-checker-worker-log-'));
try {
  const path = join(folder, 'documents.db');
  const sqlite = await openSqliteDocuments({ path, readers: 2 });
  await measure('SQLite', sqlite);
  await sqlite.close();
  console.log(`  in the file   ${((await stat(path)).size / ENTRIES).toFixed(1)} bytes an entry`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
if (process.env.MONGODB_URL) {
  const mongodb = await openMongoDocuments({
    url: `${process.env.MONGODB_URL.replace('/?', '/worker_log_bench?')}`,
    log: pino({ level: 'silent' }),
  });
  for (const name of await mongodb.names()) await mongodb.drop(name);
  await measure('MongoDB', mongodb);
  for (const name of await mongodb.names()) await mongodb.drop(name);
  await mongodb.close();
}
