// Compares the time of statistics and filter options of a job of a million URLs with those of a job of a thousand, both in
// one embedded store. The projection of jobs fills the store from made-up events.
// node bench/stats.ts [--urls 1000000] [--small 1000] [--hosts 5000]
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { foldRange } from '../events/checked-range.ts';
import type { Outcome } from '../events/checks.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { batchSize, type JobCreated } from '../events/job.ts';
import { checksStream, jobStream } from '../events/streams.ts';
import type { Reply, Route, RouteRequest } from '../http/frame/route.ts';
import { type Deps, filterOptions, stats } from '../http/results/job-stats.ts';
import type { UrlsOf } from '../projections/jobs/checked-urls.ts';
import { jobsProjection } from '../projections/jobs/jobs.ts';
import type { Documents } from '../readmodels/documents.ts';
import { type JobDocument, jobs } from '../readmodels/jobs/jobs.ts';
import { jobDomains, jobResponseTimes, jobStats } from '../readmodels/results/stats.ts';
import { median } from './loopback-urls.ts';

export interface StatsBench {
  /** URLs of the two jobs, and the number of their hosts. */
  urls: { small: number; large: number };
  hosts: number;
  /** Events of the large job that the projection applied a second. */
  projected_per_s: number;
  /** Median time of an answer in ms, and the ratio of the large job's to the small one's. */
  answers: { [route: string]: { small_ms: number; large_ms: number; ratio: number } };
}

/** URLs of a transaction, as many as the projector takes at once under load. */
const TRANSACTION = 5000;
const ANSWERS = 200;

export async function benchStats({ urls = 1_000_000, small = 1000, hosts = 5000 } = {}): Promise<StatsBench> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-stats-'));
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  try {
    for (const spec of jobsProjection.collections) await documents.collection(spec);
    const small_job = await project(documents, small, hosts);
    const began = performance.now();
    const large_job = await project(documents, urls, hosts);
    const projected_per_s = urls / ((performance.now() - began) / 1000);
    const read = {
      jobs: await documents.collection(jobs),
      jobStats: await documents.collection(jobStats),
      jobResponseTimes: await documents.collection(jobResponseTimes),
      jobDomains: await documents.collection(jobDomains),
    };
    // Nothing is kept, so that each answer is made anew.
    const kept = { of: (_job: unknown, _name: string, make: () => unknown) => make() };
    const services = { read, kept } as unknown as Deps;
    const answers: StatsBench['answers'] = {};
    for (const route of [stats, filterOptions]) {
      const times: Record<string, number[]> = { [small_job]: [], [large_job]: [] };
      for (let n = 0; n < ANSWERS; n++) {
        for (const job_id of [small_job, large_job]) times[job_id]!.push(await answer(route, job_id, services));
      }
      const [small_ms, large_ms] = [median(times[small_job]!), median(times[large_job]!)];
      answers[route.path] = { small_ms, large_ms, ratio: large_ms / small_ms };
    }
    return { urls: { small, large: urls }, hosts, projected_per_s, answers };
  } finally {
    await documents.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Time in ms to make the text of an answer. */
async function answer(route: Route<Deps>, job_id: string, services: Deps): Promise<number> {
  const job = { _id: job_id } as JobDocument;
  const began = performance.now();
  const reply: Reply = await route.handler({ job } as unknown as RouteRequest, services);
  JSON.stringify(reply.body);
  return performance.now() - began;
}

/** Makes the documents of a fully checked job and returns its id. */
async function project(documents: Documents, urls: number, hosts: number): Promise<string> {
  const job_id = randomUUID();
  const batch_size = batchSize(urls);
  const apply = (events: RecordedEvent[], urls_of?: UrlsOf) =>
    documents.transaction((inside) => jobsProjection.apply(events, (spec) => inside.collection(spec), urls_of));
  await apply([recorded(jobStream(job_id), 'JobCreated', 0, created(job_id, urls, batch_size))]);
  for (let first = 0; first < urls; first += TRANSACTION) {
    const length = Math.min(TRANSACTION, urls - first);
    const events: RecordedEvent[] = [];
    const urls_of = new Map<unknown, string[]>();
    for (let from = first; from < first + length; from += batch_size) {
      const count = Math.min(batch_size, urls - from);
      const rows = Array.from({ length: count }, (_, n) => checked(from + n, hosts));
      const listed = rows.map(({ url }) => url);
      const stream = checksStream(job_id, Math.floor(from / batch_size));
      const outcomes = rows.map(({ outcome }) => outcome);
      const event = recorded(stream, 'URLChecked', 0, foldRange(job_id, from, listed, outcomes));
      urls_of.set(event.data, listed);
      events.push(event);
    }
    await apply(events, ({ data }) => ({ urls: urls_of.get(data)!, rows: [] }));
  }
  await apply([recorded(jobStream(job_id), 'JobCompleted', 1, { completed_urls: urls })]);
  return job_id;
}

function recorded(stream: string, type: string, revision: number, data: object): RecordedEvent {
  const metadata = { command_id: '', causation_id: '', actor: 'bench', at: '2026-01-31T09:00:00.000Z' };
  return { id: '', stream, type, revision, position: '', data, metadata };
}

const created = (job_id: string, total_urls: number, batch_size: number): JobCreated => ({
  job_id,
  owner_id: 'bench',
  owner_email: null,
  source: 'api',
  total_urls,
  batch_size,
  credits_allocated: total_urls,
  reservation_id: 'bench',
  duplicates_removed: 0,
  invalid_urls_rejected: 0,
  blocked_urls_skipped: 0,
  filename: null,
  blob_key: null,
});

/** One in ten is broken, and one in fifty gives no answer; hosts take turns, the hardest order for their counters. */
function checked(index: number, hosts: number): { url: string; outcome: Outcome } {
  const url = `https://www.site-${index % hosts}.example/pages/page-${index}`;
  const status_code = index % 50 === 7 ? null : index % 10 === 3 ? 404 : 200;
  const is_broken = status_code !== 200;
  const outcome: Outcome = {
    status_code,
    final_url: status_code === null ? null : url,
    is_broken,
    is_soft_404: false,
    redirect_chain: [],
    // Most are fast, some take seconds.
    response_time_ms: status_code === null ? null : Math.round(20 + 14_000 * Math.random() ** 6),
    content_type: status_code === null ? null : 'text/html; charset=utf-8',
    error_code: status_code === null ? 'dns_not_found' : null,
    verdict: status_code === null ? 'unreachable' : is_broken ? 'broken' : 'ok',
    protection: null,
    attempts: 1,
  };
  return { url, outcome };
}

export function statsTable({ urls, hosts, projected_per_s, answers }: StatsBench): string {
  const rows = Object.entries(answers).map(
    ([path, { small_ms, large_ms, ratio }]) =>
      `  ${path.split('/').at(-1)!.padEnd(16)}${small_ms.toFixed(2)} ms of ${urls.small} URLs, ${large_ms.toFixed(2)} ms of ${urls.large} = ${ratio.toFixed(2)}`,
  );
  const head = `Statistics of ${urls.large} URLs over ${hosts} hosts (projected at ${(projected_per_s / 1000).toFixed(1)} k URL/s)`;
  return [head, ...rows].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { urls: { type: 'string' }, small: { type: 'string' }, hosts: { type: 'string' } },
  });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(statsTable(await benchStats(numbers)));
}
