// The requests of the http role, asked from outside: how many a second, at what processor time, and, at half of that rate, how long they
// take. Reads are compared with a bare Koa over the same rows in the same run (`bare-koa.ts`). It needs vegeta: see `vegeta.ts`.
// node bench/http.ts [--seconds 3] [--only NAME,NAME] [--steady 300: only so many submissions a second, to their end]
//   [--memory: only what it keeps in memory after the largest reads of a job of 100,000 URLs]
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { issueLocalToken } from '../adapters/identity/index.ts';
import { jobs as jobDocuments } from '../readmodels/jobs/jobs.ts';
import { openReadModels } from '../readmodels/read-models.ts';
import { results } from '../readmodels/results/results.ts';
import { appendCheckedJob, appendJob } from '../test/support/checked-job.ts';
import { openTestClient } from '../test/support/service.ts';
import { startBareKoa } from './bare-koa.ts';
import { benchMemory, type MemoryRow, memoryTable } from './http-memory.ts';
import { type Asking, readsOf, readTarget, startSilentWebsite, type WriteRow, writesOf } from './http-rows.ts';
import { addressOf } from './loopback-urls.ts';
import { cpuMs, rssMb } from './process-cpu.ts';
import { type BenchService, startBenchService } from './service.ts';
import { type Attack, attack, type Target } from './vegeta.ts';

const URLS = 10_000;
const URLS_IN_MEMORY = 100_000;
const HOSTS = 1000;
const USERS = 40;
/** More jobs than a page of the list has. */
const LISTED = 40;
const LOOK_MS = 50;

export interface HttpRow {
  name: string;
  per_s: number;
  /** Processor time of all of the service's threads for one request. */
  cpu_ms: number;
  /** The same of the bare Koa; null for writes. */
  bare: { per_s: number; cpu_ms: number } | null;
  /** Of a read, at half of `per_s` whatever the answers take; of a write, those of the run itself. */
  latency_ms: Attack['latency_ms'];
  rss_mb: number;
  failed: Attack['failed'];
}

interface Options {
  seconds: number;
  only: (name: string) => boolean;
  tell: (row: HttpRow) => void;
}

export async function benchHttp({ steady, ...options }: Options & { steady: number }): Promise<void> {
  await withService(URLS, async (service, asking) => {
    if (steady > 0) return options.tell(await submitSteadily(service, asking, steady, options.seconds));
    const silent = await startSilentWebsite();
    try {
      await benchReads(service, asking, options);
      await benchWrites(service, asking, { ...options, silent_port: silent.port });
    } finally {
      silent.stop();
    }
  });
}

async function withService(
  urls: number,
  bench: (service: BenchService, asking: Asking) => Promise<void>,
): Promise<void> {
  let job_id = '';
  // Before the start, so that no checker takes the URLs.
  const fill = async (data_dir: string) => void (job_id = await appendCheckedJobs(data_dir, urls));
  const service = await startBenchService(fill, { LOG_FILE: '/dev/null', LOG_LEVEL: 'info' });
  try {
    await bench(service, await prepared(service, job_id, urls));
  } finally {
    await service.stop();
  }
}

/** Returns the id of a checked job of the first user, who has others. */
async function appendCheckedJobs(data_dir: string, urls: number): Promise<string> {
  const log = await openSqliteEventStore({ path: join(data_dir, 'events.db') });
  const job = (urls: number) => appendCheckedJob(log, { urls, hosts: HOSTS, owner_id: 'bench0' });
  for (let n = 0; n < LISTED; n++) await job(10);
  const job_id = await job(urls);
  await log.close();
  return job_id;
}

/** Makes credentials for all users, and shares the job of the first one. */
async function prepared({ data_dir, url }: BenchService, job_id: string, urls: number): Promise<Asking> {
  const users = [];
  for (let n = 0; n < USERS; n++) {
    const of = { user_id: `bench${n}`, email: `bench${n}@example.com`, is_admin: false, hours: 3 };
    const token = await issueLocalToken(data_dir, of);
    const { body } = await openTestClient(url, token, '', () => {}).ask('POST', '/users/me/api-keys', {
      name: 'bench',
    });
    users.push({ token, key: body.key as string });
  }
  const client = openTestClient(url, users[0]!.token, '', () => {});
  const stats = async () => (await client.ask('GET', `/jobs/${job_id}/stats`)).body;
  while ((await stats()).completed_urls !== urls) await pause(LOOK_MS);
  const { body } = await client.ask('POST', `/jobs/${job_id}/share`, {});
  return { url, job_id, share: body.token, users };
}

async function benchReads(service: BenchService, asking: Asking, { seconds, only, tell }: Options): Promise<void> {
  const rows = Object.entries(readsOf(asking)).filter(([name]) => only(name));
  const [user] = asking.users;
  const texts: Record<string, { type: string; text: string }> = {};
  for (const [, row] of rows) {
    const { url, headers } = readTarget(asking.url, row, user!);
    const answer = await fetch(url, { headers });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    texts[row.path] = { type: answer.headers.get('content-type')!, text: await answer.text() };
  }
  const { tables } = await tablesOf(service);
  const tokens = Object.fromEntries([user!.token, user!.key].map((one) => [one, 'bench0']));
  const bare = await startBareKoa({ documents: join(service.data_dir, 'documents.db'), tables, tokens, texts });
  try {
    for (const [name, row] of rows) {
      const [own, its] = [asking.url, bare.url].map((url) => [readTarget(url, row, user!)]) as [Target[], Target[]];
      await attack(own, { seconds: 1 });
      const of_bare = await costOf(bare.pid, its, { seconds });
      const { found, cpu_ms } = await costOf(service.pid, own, { seconds });
      const { latency_ms, failed } = await attack(own, { seconds, per_s: found.per_s / 2 });
      const bare_row = { per_s: of_bare.found.per_s, cpu_ms: of_bare.cpu_ms };
      tell({ name, per_s: found.per_s, cpu_ms, bare: bare_row, latency_ms, failed, rss_mb: rssMb(service.pid) });
    }
  } finally {
    await bare.stop();
  }
}

/** As fast as the answers come. */
async function costOf(pid: number, targets: readonly Target[], options: { seconds: number; workers?: number }) {
  const before = cpuMs(pid);
  const found = await attack(targets, options);
  return { found, cpu_ms: (cpuMs(pid) - before) / Math.max(1, found.answers) };
}

async function tablesOf({ data_dir }: BenchService) {
  const documents = await openSqliteDocuments({ path: join(data_dir, 'documents.db') });
  const live = (await openReadModels(documents).projections()).flatMap((one) =>
    one.collections.map((name) => [name, one.generation] as const),
  );
  await documents.close();
  const generations = new Map(live);
  const nameOf = (spec: { name: string }) => `${spec.name}_${generations.get(spec.name)}`;
  return { tables: { jobs: nameOf(jobDocuments), results: nameOf(results) } };
}

async function benchWrites(
  service: BenchService,
  asking: Asking,
  { seconds, only, tell, silent_port }: Options & { silent_port: number },
): Promise<void> {
  for (const [name, row] of Object.entries(writesOf(service.website.port)).filter(([name]) => only(name))) {
    const targets = await targetsOf(service, asking, row, { silent_port, count: seconds * MOST_PER_S(row) });
    const { found, cpu_ms } = await costOf(service.pid, targets, { seconds, workers: row.workers });
    tell({ name, bare: null, cpu_ms, ...found, rss_mb: rssMb(service.pid) });
  }
}
const MOST_PER_S = ({ workers, needs_jobs }: WriteRow) => (workers === 1 ? 150 : needs_jobs ? 400 : 2000);

/** Each write changes a job of its own, where it changes one. */
async function targetsOf(
  { data_dir }: BenchService,
  asking: Asking,
  row: WriteRow,
  { silent_port, count }: { silent_port: number; count: number },
): Promise<Target[]> {
  if (!row.needs_jobs) return Array.from({ length: count }, (_, n) => row.target(asking, n, ''));
  const log = await openSqliteEventStore({ path: join(data_dir, 'events.db') });
  const ids: string[] = [];
  for (let from = 0; from < count; from += USERS) {
    const some = asking.users.map((_, n) => {
      const urls = [`http://${addressOf(n)}:${silent_port}/${from}`];
      return appendJob(log, { owner_id: `bench${n}`, urls });
    });
    ids.push(...(await Promise.all(some)));
  }
  await log.close();
  return ids.map((job_id, n) => row.target(asking, n, job_id));
}

/** The row of so many submissions a second; it ends when all jobs are completed, and its rate is of that. */
async function submitSteadily(service: BenchService, asking: Asking, per_s: number, seconds: number): Promise<HttpRow> {
  const submit = writesOf(service.website.port)['submit 10 URLs']!;
  const targets = Array.from({ length: per_s * seconds }, (_, n) => submit.target(asking, n, ''));
  const documents = await openSqliteDocuments({ path: join(service.data_dir, 'documents.db') });
  const ended = openReadModels(documents).collection(jobDocuments);
  const [before, began] = [cpuMs(service.pid), performance.now()];
  const found = await attack(targets, { seconds, per_s, workers: 64 });
  while ((await ended.count({ status: 'completed', due: null })) < found.answers) await pause(LOOK_MS);
  const completed_per_s = found.answers / ((performance.now() - began) / 1000);
  const cpu_ms = (cpuMs(service.pid) - before) / found.answers;
  await documents.close();
  const name = `${per_s} a second, completed`;
  return { ...found, name, per_s: completed_per_s, cpu_ms, bare: null, rss_mb: rssMb(service.pid) };
}

const COLUMNS = ['', 'req/s', 'processor ms', 'bare Koa req/s', 'its ms', 'ratio of req/s', 'of ms'];
const HEAD = [[...COLUMNS, 'p50 ms', 'p99', 'p99.9', 'most', 'RSS MB'], Array(12).fill('---')];

function lineOf({ name, per_s, cpu_ms, bare, latency_ms, rss_mb, failed }: HttpRow): string {
  const whole = (value: number) => Math.round(value).toLocaleString('en');
  const against =
    bare === null
      ? ['–', '–', '–', '–']
      : [whole(bare.per_s), bare.cpu_ms.toFixed(2), (per_s / bare.per_s).toFixed(2), (bare.cpu_ms / cpu_ms).toFixed(2)];
  const { p50, p99, p999, max } = latency_ms;
  const times = [p50, p99, p999, max].map((ms) => ms.toFixed(1));
  const refused = Object.keys(failed).length === 0 ? '' : ` ${JSON.stringify(failed)}`;
  return rowOf([name, whole(per_s), cpu_ms.toFixed(2), ...against, ...times, whole(rss_mb)]) + refused;
}

const rowOf = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

async function printRows({ seconds, steady, only }: { seconds?: string; steady?: string; only?: string }) {
  const names = only?.split(',');
  console.log(HEAD.map(rowOf).join('\n'));
  await benchHttp({
    seconds: Number(seconds ?? 3),
    steady: Number(steady ?? 0),
    only: (name) => names === undefined || names.some((one) => name.startsWith(one)),
    tell: (row) => console.log(lineOf(row)),
  });
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      ...{ seconds: { type: 'string' }, only: { type: 'string' }, steady: { type: 'string' } },
      memory: { type: 'boolean', default: false },
    },
  });
  if (values.memory) {
    const rows: MemoryRow[] = [];
    await withService(URLS_IN_MEMORY, ({ pid }, asking) => benchMemory(pid, asking, (row) => rows.push(row)));
    console.log(memoryTable(rows));
  } else await printRows(values);
}
