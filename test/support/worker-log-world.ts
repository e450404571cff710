// A log whose worker log a test knows: the plain list of the entries that it means, and what the followers and readers make of it.
import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { checkerActor, type Outcome } from '../../events/checks.ts';
import { jobStream, urlsStream } from '../../events/streams.ts';
import { openWorkerLogFollower } from '../../projections/all.ts';
import type { Documents } from '../../readmodels/documents.ts';
import type { LogFilter } from '../../readmodels/operations/log-follower.ts';
import { LOG_STATE, type LogEntry, logJobs, logSegments, logStates } from '../../readmodels/operations/log-segments.ts';
import { openWorkerLog, type WorkerLog, workerLogLimits } from '../../readmodels/operations/worker-log.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { noStats, summaryOf } from '../../readmodels/results/stats.ts';
import { FOUND } from './behind.ts';
import { coded, commandContext, openTestStores, type TestStores } from './stores.ts';
import { startProjector } from './tallies.ts';

export const START_MS = Date.parse('2026-01-31T09:30:00.000Z');
export const MINUTE_MS = 60_000;
export const SETTINGS = { worker_log_entries: 1_000_000, worker_log_days: 30 };
/** Ids of events are made of those of jobs, which must be uuids. */
export const [A, B, C, D, GONE] = [randomUUID(), randomUUID(), randomUUID(), randomUUID(), randomUUID()];
export const WORKERS = ['11111111-0', '22222222-0'];

const STATUSES: readonly Partial<Outcome>[] = [
  {},
  {},
  { status_code: 404, is_broken: true, verdict: 'broken' },
  { status_code: null, error_code: 'dns_not_found', is_broken: true, verdict: 'unreachable', response_time_ms: null },
  { status_code: 302, error_code: 'redirect_loop', is_broken: true, verdict: 'unreachable' },
  {
    ...{ status_code: 503, is_broken: true, verdict: 'broken', attempts: 2, proxy_id: 'p-1' },
    earlier_attempts: [{ status_code: null, error_code: 'connect_timeout', response_time_ms: null, proxy_id: 'p-2' }],
  },
];

/** A log and the entries that it means, the oldest first. */
export interface World {
  stores: TestStores;
  expected: LogEntry[];
}

/** Over documents in SQLite, unless others are given. */
export async function openWorld(t: ExecutionContext, documents?: Documents): Promise<World> {
  const stores = await openTestStores(t);
  return { stores: { documents: documents ?? stores.documents, log: coded(stores.log) }, expected: [] };
}

interface Checks {
  job_id: string;
  urls: readonly string[];
  /** Of these URLs, multiples of 100; unset: all. */
  from?: number;
  to?: number;
  outcomeOf?: (n: number) => Outcome;
  at_ms?: number;
  /** Null: as before the actor named the checker. */
  worker?: string | null;
}

const found = (n: number): Outcome => ({ ...FOUND, response_time_ms: n % 500, ...STATUSES[n % STATUSES.length] });

/** Lists and checks a job's URLs, 100 in a batch. */
export async function check({ stores: { log }, expected }: World, { outcomeOf = found, ...of }: Checks): Promise<void> {
  const { job_id, urls, at_ms = START_MS, worker = WORKERS[0]! } = of;
  for (let from = 0, revision: number | 'no_stream' = 'no_stream'; from < urls.length; from += 1000) {
    const data = { job_id, from_index: from, urls: urls.slice(from, from + 1000) };
    const { command_id: id, ...metadata } = commandContext(at_ms);
    const stamped = { ...metadata, command_id: id, at: new Date(at_ms).toISOString() };
    const listed = await log.append(urlsStream(job_id), revision, [
      { id, type: 'UrlsListed', data, metadata: stamped },
    ]);
    revision = listed.ok ? listed.revision : revision;
  }
  const actor = worker === null ? 'checker' : checkerActor(worker);
  for (let from = of.from ?? 0; from < (of.to ?? urls.length); from += 100) {
    const range = {
      job_id,
      batch: from / 100,
      from_index: from,
      urls: urls.slice(from, from + 100),
    };
    const outcomes = range.urls.map((_, n) => outcomeOf(from + n));
    await recordChecks(log, range, outcomes, { ...commandContext(at_ms), actor });
    for (const [n, outcome] of outcomes.entries()) {
      const attempts = [...(outcome.earlier_attempts ?? []), outcome];
      for (const [before, { status_code, error_code, response_time_ms, proxy_id = null }] of attempts.entries()) {
        expected.push({
          ...{ job_id, index: from + n, attempt: before + 1, at_ms, worker: worker?.slice(0, 8) ?? null, proxy_id },
          ...{ domain: new URL(range.urls[n]!).hostname, status_code, error_code, duration_ms: response_time_ms },
        });
      }
    }
  }
}

export const append = (
  { stores: { log } }: World,
  job_id: string,
  type: 'JobDeleted' | 'JobPurged' | 'ResultsExpired' | 'ResultsRemoved',
  revision: number | 'no_stream',
  data: object = {},
) =>
  log.append(jobStream(job_id), revision, [
    {
      ...{ id: randomUUID(), type, data },
      metadata: { ...commandContext(), at: new Date(START_MS).toISOString() },
    },
  ]);

/** The results of a job without an event in its stream expire, and are removed. */
export async function expire(world: World, job_id: string): Promise<void> {
  const none = { domains: { find: async () => [] }, times: { getMany: async () => [] } };
  const expired = { completed_urls: 3, started_at: null, summary: await summaryOf(none, noStats(job_id)) };
  await append(world, job_id, 'ResultsExpired', 'no_stream', expired);
  await append(world, job_id, 'ResultsRemoved', 0);
}

export const urlsOf = (count: number, hosts: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `https://host-${(from + n) % hosts}.example/${n}`);

/** Follows the log to its end. */
export async function follow({ log, documents }: TestStores, settings = SETTINGS): Promise<void> {
  const end = await log.head();
  const stop = new AbortController();
  const following = startFollower({ log, documents }, stop.signal, settings);
  for (;;) {
    const { passed } = openReadModels(documents, { follower: 'worker_log' });
    if (await passed(end, 1_000)) break;
  }
  stop.abort();
  await following;
}

export function startFollower(stores: TestStores, signal: AbortSignal, settings = SETTINGS): Promise<void> {
  const { follower, projections } = openWorkerLogFollower(settings);
  return startProjector(stores, projections, signal, { follower: { ...follower, spacing_ms: 0 } });
}

export const openOver = ({ documents }: TestStores, settings = SETTINGS, now = () => START_MS): WorkerLog =>
  openWorkerLog(openReadModels(documents, { follower: 'worker_log' }), workerLogLimits(settings), now);

export function passes(
  entry: LogEntry,
  { domain, status_code, non_2xx, has_error, job_id, before_ms }: LogFilter,
): boolean {
  const is_2xx = entry.status_code !== null && entry.status_code >= 200 && entry.status_code < 300;
  return (
    (domain === undefined || entry.domain === domain) &&
    (status_code === undefined || entry.status_code === status_code) &&
    (!non_2xx || !is_2xx) &&
    (has_error === undefined || (entry.error_code !== null) === has_error) &&
    (job_id === undefined || entry.job_id === job_id) &&
    (before_ms === undefined || entry.at_ms < before_ms)
  );
}

export async function assertSame(
  t: ExecutionContext,
  worker_log: WorkerLog,
  expected: readonly LogEntry[],
  filter: LogFilter,
) {
  const wanted = expected.filter((entry) => passes(entry, filter)).reverse();
  const pages = Math.ceil(wanted.length / 90);
  for (const page of new Set([1, 2, Math.ceil(pages / 2), pages, pages + 1].filter((one) => one > 0))) {
    const { items, total } = await worker_log.list(filter, { limit: 90, offset: (page - 1) * 90 });
    t.is(total, wanted.length, JSON.stringify(filter));
    t.deepEqual(items, wanted.slice((page - 1) * 90, page * 90), `${JSON.stringify(filter)} ${page}`);
  }
}

/** The combinations of the given values of each filter, and of none. */
export function combinations(job_ids: readonly string[]): LogFilter[] {
  let all: LogFilter[] = [{}];
  const values: { [name in keyof LogFilter]: readonly unknown[] } = {
    domain: ['host-3.example', 'host-33.example', 'host'],
    status_code: [200, 503, 418],
    non_2xx: [true],
    has_error: [true, false],
    job_id: job_ids,
  };
  for (const [name, some] of Object.entries(values)) {
    all = all.flatMap((filter) => [filter, ...some.map((value) => ({ ...filter, [name]: value }))]);
  }
  return all;
}

/** All that readers can see of the documents but how often they were written. */
export async function documentsOf({ documents }: TestStores) {
  const readmodels = openReadModels(documents, { follower: 'worker_log' });
  const plain = <Document>({ revision: _, ...rest }: Document & { revision: number }) => rest;
  const segments = await readmodels.collection(logSegments).find({}, { sort: { _id: 1 } as never });
  const state = await readmodels.collection(logStates).get(LOG_STATE);
  return {
    segments: segments.map(plain),
    jobs: await readmodels.collection(logJobs).find({}),
    state: { ...plain(state!), oldest: null },
  };
}
