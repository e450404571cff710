// Fills the embedded stores with as much as one service may hold, for `bench/event-loop.ts`. Data that commands read goes
// into the log; data that only queries read goes straight into the documents.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { stamp } from '../commands/aggregate.ts';
import { MAX_BLOCKED } from '../commands/blocklist.ts';
import { openCredits } from '../commands/ledger/credits.ts';
import { idOfShareToken, newShareToken } from '../commands/shares.ts';
import type { EventStore, ExpectedRevision } from '../events/event-store.ts';
import { MAX_NOTE_CHARS } from '../events/growth-note.ts';
import {
  apiKeysStream,
  BLOCKLIST_STREAM,
  jobStream,
  sharesStream,
  urlsStream,
  webhookEndpointsStream,
} from '../events/streams.ts';
import type { Collection, CollectionSpec, Document } from '../readmodels/documents.ts';
import { type DomainHealthDocument, domainHealth } from '../readmodels/domain-health.ts';
import { dayNumbered, dayOf, MAX_DAYS, numberOf } from '../readmodels/growth/calendar.ts';
import { type DayCountsDocument, idOfDay } from '../readmodels/growth/day-counts.ts';
import { FUNNEL_STEPS, GROWTH, growthCounts } from '../readmodels/growth/growth.ts';
import { growthNotes, MAX_NOTES } from '../readmodels/growth/growth-notes.ts';
import { PAYWALL, paywallCounts, paywallUsers } from '../readmodels/growth/paywall.ts';
import { counterOf, MOVEMENTS, revenueCounts } from '../readmodels/growth/revenue.ts';
import { jobs } from '../readmodels/jobs/jobs.ts';
import { inGeneration } from '../readmodels/projection-state.ts';
import { openReadModels } from '../readmodels/read-models.ts';
import { type ResultDocument, resultId, results } from '../readmodels/results/results.ts';
import { domainId, jobDomains, jobStats, noStats } from '../readmodels/results/stats.ts';
import { type WebhookDeliveryDocument, webhookDeliveries } from '../readmodels/webhooks.ts';
import { openLogger } from '../service/logger.ts';
import { startService } from '../service/service.ts';
import { openStores, type Stores } from '../service/stores.ts';
import type { Config } from '../settings/config.ts';
import { appendRuns } from '../test/support/append-runs.ts';
import { appendLongLedger } from '../test/support/long-ledger.ts';
import { commandContext } from '../test/support/stores.ts';
import { fillAdministration, LATE_A_CHUNK, LATE_URL, LATE_URLS } from './event-loop-administration.ts';
import { DOMAINS, lots, URLS, urlAt } from './event-loop-urls.ts';

export interface Filled {
  user_id: string;
  /** A job with `URLS` results. */
  job_id: string;
  /** A job whose results all have the most and longest redirects that a result may keep. */
  redirected_id: string;
  /** An ended job of whose URLs the worker log has entries without a result: their URLs are read from its listing. */
  late_id: string;
  /** The proxy with the most troubled domains. */
  proxy_id: string;
  /** Ended jobs to delete, more than one bulk deletion takes. */
  ended: string[];
  /** Ended jobs with `LARGE_ENDED` results, to delete. */
  large_ended: string[];
  endpoint_id: string;
  /** Webhook endpoints with as many deliveries as the first, API keys, and shares of the job with `URLS` results: to be deleted. */
  spare_endpoints: string[];
  spare_keys: string[];
  spare_shares: string[];
}

const REDIRECTED = 1001;
const ENDED = 4000;
const LARGE_ENDED = 100_000;
/** Number of things to delete of each kind: the benchmark deletes no more. */
const SPARE = 5;
const CREDITS = 1_000_000_000;
const TRANSACTIONS = 10_000;
const DELIVERIES = 2000;
const PAYWALL_USERS = 100_000;
const HOPS = 10;
const HOP_CHARS = 8192;
const A_WRITE = 1000;
const A_LOG_CHUNK = 1000;

export async function fill(config: Config): Promise<Filled> {
  const filled: Filled = {
    user_id: '',
    job_id: randomUUID(),
    redirected_id: randomUUID(),
    late_id: randomUUID(),
    proxy_id: randomUUID(),
    ended: Array.from({ length: ENDED }, () => randomUUID()),
    large_ended: lots(SPARE, () => randomUUID()),
    endpoint_id: randomUUID(),
    spare_endpoints: lots(SPARE, () => randomUUID()),
    spare_keys: lots(SPARE, () => randomUUID()),
    spare_shares: lots(SPARE, () => newShareToken()),
  };
  const stores = await open(config);
  try {
    filled.user_id = (await appendLongLedger(stores.log, TRANSACTIONS)).user_id;
    const grant = { type: 'grant', transaction_type: 'purchase', reference_id: 'bench', amount: CREDITS } as const;
    await openCredits(stores.log).run(filled.user_id, { ...grant, expires_at: null }, commandContext());
    await fillLog(stores.log, filled);
  } finally {
    await stores.close();
  }
  await project(config);
  const projected = await open(config);
  try {
    await fillDocuments(projected, filled);
  } finally {
    await projected.close();
  }
  return filled;
}

const open = (config: Config) =>
  openStores(config, openLogger(config), { of: 'others', signal: new AbortController().signal, waiting() {} });

async function fillLog(log: EventStore, filled: Filled): Promise<void> {
  const { user_id: owner_id, job_id, redirected_id, late_id, ended, large_ended } = filled;
  await append(log, BLOCKLIST_STREAM, lots(MAX_BLOCKED - 1000, blocked));
  const unended = { [job_id]: URLS, [redirected_id]: REDIRECTED };
  for (const id of [job_id, redirected_id, late_id, ...large_ended, ...ended]) {
    const total_urls = unended[id] ?? (large_ended.includes(id) ? LARGE_ENDED : 1);
    const job = {
      ...{ job_id: id, owner_id, owner_email: null, source: 'api', total_urls, batch_size: 100 },
      ...{ credits_allocated: 0, reservation_id: `${id}:0`, filename: null, blob_key: null },
      ...{ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 },
    };
    const end = { type: 'JobCancelled', data: {} };
    const pause = { type: 'JobPaused', data: { reason: 'credit_ceiling' } };
    await append(log, jobStream(id), [{ type: 'JobCreated', data: job }, pause, ...(id in unended ? [] : [end])]);
  }
  for (const [id, total_urls] of [[job_id, URLS] as const, ...large_ended.map((id) => [id, LARGE_ENDED] as const)]) {
    await append(
      log,
      urlsStream(id),
      lots(total_urls / A_LOG_CHUNK, (n) => {
        const urls = lots(A_LOG_CHUNK, (i) => urlAt(n * A_LOG_CHUNK + i));
        return { type: 'UrlsListed', data: { job_id: id, from_index: n * A_LOG_CHUNK, urls } };
      }),
    );
  }
  await append(
    log,
    urlsStream(late_id),
    lots(LATE_URLS / LATE_A_CHUNK, (n) => {
      const from_index = n * LATE_A_CHUNK;
      return { type: 'UrlsListed', data: { job_id: late_id, from_index, urls: lots(LATE_A_CHUNK, () => LATE_URL) } };
    }),
  );
  const { endpoint_id, spare_endpoints, spare_keys, spare_shares } = filled;
  await append(
    log,
    webhookEndpointsStream(owner_id),
    [endpoint_id, ...spare_endpoints].map((id) => ({
      type: 'WebhookEndpointCreated',
      data: { endpoint_id: id, user_id: owner_id, url: 'https://example.com/', events: [] },
    })),
  );
  const key = { user_id: owner_id, email: null, name: 'spare', prefix: 'uc_live_spare', key_hash: '' };
  await append(
    log,
    apiKeysStream(owner_id),
    spare_keys.map((key_id) => ({ type: 'ApiKeyCreated', data: { ...key, key_id } })),
  );
  await append(
    log,
    sharesStream(job_id),
    spare_shares.map((token) => ({
      type: 'ShareCreated',
      data: { share_id: idOfShareToken(token), job_id, user_id: owner_id, expires_at: null },
    })),
  );
}

async function append(log: EventStore, stream: string, events: { type: string; data: object }[]): Promise<void> {
  let revision: ExpectedRevision = 'no_stream';
  for (let from = 0; from < events.length; from += A_LOG_CHUNK) {
    const some = events.slice(from, from + A_LOG_CHUNK);
    for (const run of appendRuns(stamp(some, commandContext(), stream, from))) {
      const appended = await log.append(stream, revision, run);
      if (!appended.ok) throw new Error('somebody else writes to this log');
      revision = appended.revision;
    }
  }
}

/** Waits until the documents have caught up with the log and no settlement is open. */
async function project(config: Config): Promise<void> {
  const service = await startService({ ...config, roles: ['projector', 'processes'] }, openLogger(config));
  const { log, documents, close } = await open(config);
  try {
    const readmodels = openReadModels(documents);
    const all = readmodels.collection(jobs);
    for (;;) {
      const seen = (await readmodels.position().catch(() => '')) >= (await log.head());
      if (seen && (await all.count({ due: { $in: ['settlement', 'domains', 'completion'] } })) === 0) return;
      await delay(200);
    }
  } finally {
    await close();
    await service.stop();
  }
}

type Live = <T extends Document>(spec: CollectionSpec<T>) => Promise<Collection<T>>;

async function fillDocuments({ documents }: Stores, filled: Filled): Promise<void> {
  const { job_id, redirected_id, large_ended, endpoint_id, spare_endpoints, user_id } = filled;
  const generations = new Map(
    (await openReadModels(documents).projections()).flatMap((p) => p.collections.map((n) => [n, p.generation])),
  );
  const live: Live = (spec) => documents.collection(inGeneration(spec, generations.get(spec.name)!));
  await insert(await live(results), URLS, (n) => resultAt(job_id, n));
  await insert(await live(results), REDIRECTED, (n) => redirectedAt(redirected_id, n), 50);
  await insert(await live(domainHealth), DOMAINS, healthAt);
  await insert(await live(jobDomains), DOMAINS, (n) => {
    const found = healthAt(n);
    return { ...found, _id: domainId(job_id, found._id), job_id, domain: found._id };
  });
  for (const id of large_ended) await insert(await live(results), LARGE_ENDED, (n) => resultAt(id, n));
  for (const id of [endpoint_id, ...spare_endpoints]) {
    await insert(await live(webhookDeliveries), DELIVERIES, (n) => deliveryAt(n, id, user_id), 100);
  }
  await fillFigures(live);
  await fillAdministration(documents, (spec) => inGeneration(spec, generations.get(spec.name)!), filled);
  const stats = {
    ...noStats(job_id),
    ...{ checked_urls: URLS, broken_urls: URLS / 10, domains_total: DOMAINS },
    status_codes: { 200: URLS * 0.9, 404: URLS * 0.1 },
  };
  await (await live(jobStats)).write([
    { replace: stats },
    {
      replace: { ...noStats(redirected_id), checked_urls: REDIRECTED, status_codes: { 200: REDIRECTED } },
    },
  ]);
  const all_jobs = await live(jobs);
  for (const [id, total] of [[job_id, URLS] as const, [redirected_id, REDIRECTED] as const]) {
    const done = { completed_urls: total, status: 'completed' as const, batches_done_before: Math.ceil(total / 100) };
    await all_jobs.write([{ update: id, set: { $set: done } }]);
  }
}

/** Figures of each day of ten years, and as many notes as one page shows. */
async function fillFigures(live: Live): Promise<void> {
  const today = numberOf(dayOf(Date.now()));
  const money = [...MOVEMENTS, 'mrr', 'customers', 'packages', 'subscriptions'] as const;
  const counters: [CollectionSpec<DayCountsDocument>, string[]][] = [
    [growthCounts, [GROWTH.signups, GROWTH.jobs, GROWTH.urls, ...FUNNEL_STEPS.map(GROWTH.reached)]],
    [revenueCounts, money.map((name) => counterOf('usd', name))],
    [paywallCounts, [PAYWALL.views, PAYWALL.users, PAYWALL.listed]],
  ];
  for (const [spec, names] of counters) {
    const n = Object.fromEntries(names.map((name) => [name, 1000]));
    await insert(await live(spec), MAX_DAYS, (day) => ({ _id: idOfDay(dayNumbered(today - 1 - day)), n }));
  }
  await insert(await live(growthNotes), MAX_NOTES, (n) => ({
    ...{ _id: randomUUID(), date: dayNumbered(today - n), text: '€'.repeat(MAX_NOTE_CHARS) },
    ...{ added_at: at(n), added_by: 'admin:bench' },
  }));
  await insert(await live(paywallUsers), PAYWALL_USERS, (n) => ({
    ...{ _id: `met${n}`, events: 3, views: 2, first_seen_at: at(n), last_seen_at: at(n), converted_at: at(n + 1) },
  }));
}

async function insert<T extends Document>(
  collection: Collection<T>,
  count: number,
  make: (n: number) => T,
  a_write = A_WRITE,
): Promise<void> {
  for (let from = 0; from < count; from += a_write) {
    await collection.write(lots(Math.min(a_write, count - from), (n) => ({ insert: make(from + n) })));
  }
}

const at = (n: number) => new Date(1_767_225_600_000 + n * 1000).toISOString();

function blocked(n: number) {
  const said = { reason: 'The domain refuses automated checks.'.repeat(5), block_type: 'legal', error_codes: ['451'] };
  return { type: 'DomainBlocked', data: { domain: `blocked${n}.example`, ...said, added_at: at(n) } };
}

function resultAt(job_id: string, index: number): ResultDocument {
  const url = urlAt(index);
  const is_broken = index % 10 === 0;
  return {
    ...{ _id: resultId(job_id, index), job_id, index, url, final_url: url, is_broken, is_soft_404: false },
    ...{ status_code: is_broken ? 404 : 200, redirect_chain: [], response_time_ms: index % 900, error_code: null },
    content_type: 'text/html; charset=utf-8',
    verdict: is_broken ? 'broken' : 'ok',
    protection: null,
    attempts: 1,
  };
}

function redirectedAt(job_id: string, index: number): ResultDocument {
  const redirect_chain = lots(HOPS, (n) => `https://www.example.com/${n}/`.padEnd(HOP_CHARS, 'x'));
  return { ...resultAt(job_id, index), status_code: 200, redirect_chain, final_url: redirect_chain.at(-1)! };
}

function healthAt(n: number): DomainHealthDocument {
  return {
    ...{ _id: `www.example${n}.com`, checks: 10 + (n % 1000), failures: n % 10, failure_rate: (n % 10) / 10 },
    ...{ blocked_count: n % 7, avg_response_time_ms: n % 900, last_checked_at: at(n) },
    ...{ answers: 10, response_time_total_ms: 10_000 },
    ...{ status_codes: { 200: 10 }, verdicts: { ok: 10 }, error_codes: {} },
  };
}

function deliveryAt(n: number, endpoint_id: string, user_id: string): WebhookDeliveryDocument {
  const event = {
    ...{ id: randomUUID(), type: 'job.completed' as const, created_at: at(n) },
    data: { job_id: randomUUID(), status: 'completed' as const, total_urls: 1, completed_urls: 1, broken_urls: 0 },
  };
  const attempts = lots(20, (a) => ({
    ...{ attempt: a + 1, at: at(n), status_code: 503, error: null, duration_ms: 120 },
    response_excerpt: 'x'.repeat(1024),
  }));
  return {
    ...{ _id: randomUUID(), endpoint_id, user_id, event, status: 'given_up', given_up_reason: 'no_attempts_left' },
    ...{ attempt_count: 20, attempts, created_at: at(n), next_attempt_at: null },
  };
}
