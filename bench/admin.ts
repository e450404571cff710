// Measures the administrators' pages over many users and jobs, and over a tenth of them: what they cost may not grow with the users.
// node bench/admin.ts [--users 100000] [--jobs 1000000]; with MONGODB_URL in MongoDB as well.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MongoClient } from 'mongodb';
import { openMongoDocuments } from '../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import type { LogEvent } from '../events/vocabulary.ts';
import type { Reply, Route, RouteRequest } from '../http/frame/route.ts';
import * as growth from '../http/growth/admin-growth.ts';
import { listAuditTrail } from '../http/users/admin-audit-trail.ts';
import * as admin from '../http/users/admin-users.ts';
import { ALL_PROJECTIONS } from '../projections/all.ts';
import { balances, transactions } from '../readmodels/billing/credits.ts';
import type { Documents } from '../readmodels/documents.ts';
import { cohorts, growthCounts, userActivity } from '../readmodels/growth/growth.ts';
import { growthNotes } from '../readmodels/growth/growth-notes.ts';
import { paywallCounts, paywallUsers } from '../readmodels/growth/paywall.ts';
import { revenueCounts } from '../readmodels/growth/revenue.ts';
import { type JobDocument, jobs } from '../readmodels/jobs/jobs.ts';
import { auditTrail } from '../readmodels/users/audit-trail.ts';
import { searchBlocks, userCounts, userList } from '../readmodels/users/user-list.ts';
import { users } from '../readmodels/users/users.ts';
import { median } from './loopback-urls.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');
const DAY_MS = 86_400_000;
const TRANSACTION = 5_000;
const ANSWERS = 9;

export interface AdminBench {
  store: string;
  users: number;
  jobs: number;
  /** Events that the projections applied a second. */
  projected_per_s: number;
  /** Medians in ms, over all users and over a tenth of them. */
  pages: { [page: string]: { few_ms: number; many_ms: number } };
}

export async function benchAdmin({ users: count = 100_000, jobs: job_count = 1_000_000 } = {}): Promise<AdminBench[]> {
  const found = [await inSqlite(count, job_count)];
  if (process.env.MONGODB_URL) found.push(await inMongo(process.env.MONGODB_URL, count, job_count));
  return found;
}

async function inSqlite(count: number, job_count: number): Promise<AdminBench> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-admin-'));
  const open = (name: string) => openSqliteDocuments({ path: join(folder, name) });
  try {
    return await compare('SQLite', [await open('few.db'), await open('many.db')], count, job_count);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function inMongo(url: string, count: number, job_count: number): Promise<AdminBench> {
  const names = [`bench_few_${randomUUID().slice(0, 8)}`, `bench_many_${randomUUID().slice(0, 8)}`];
  const client = await MongoClient.connect(url);
  try {
    const opened = names.map((database) =>
      openMongoDocuments({ url, database, log: { debug() {}, warn: console.warn } }),
    );
    return await compare('MongoDB', await Promise.all(opened), count, job_count);
  } finally {
    for (const name of names) await client.db(name).dropDatabase();
    await client.close();
  }
}

async function compare(store: string, stores: Documents[], count: number, job_count: number): Promise<AdminBench> {
  const [few, many] = stores as [Documents, Documents];
  try {
    await fill(few, count / 10, job_count / 10);
    const projected_per_s = await fill(many, count, job_count);
    const [few_pages, many_pages] = [pagesOf(few, count / 10), pagesOf(many, count)];
    const pages: AdminBench['pages'] = {};
    for (const [name, ask] of Object.entries(many_pages)) {
      pages[name] = { few_ms: await time(few_pages[name]!), many_ms: await time(ask) };
    }
    return { store, users: count, jobs: job_count, projected_per_s, pages };
  } finally {
    await Promise.all(stores.map((documents) => documents.close()));
  }
}

async function time(ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = -1; n < ANSWERS; n++) {
    const since = performance.now();
    await ask();
    if (n >= 0) times.push(performance.now() - since);
  }
  return median(times);
}

const PROJECTIONS = ALL_PROJECTIONS.filter(({ name }) =>
  ['user_list', 'users', 'credits', 'growth', 'audit', 'revenue', 'paywall', 'growth_notes'].includes(name),
);

/** Returns the events that were applied a second. */
async function fill(documents: Documents, count: number, job_count: number): Promise<number> {
  for (const spec of PROJECTIONS.flatMap(({ collections }) => collections)) await documents.collection(spec);
  let [applied, spent_ms] = [0, 0];
  let part: LogEvent[] = [];
  const apply = async () => {
    const since = performance.now();
    const events = part;
    await documents.transaction(async (inside) => {
      for (const projection of PROJECTIONS) {
        const taken = events.filter(({ type }) => projection.types.includes(type));
        if (taken.length > 0) await projection.apply(taken, (spec) => inside.collection(spec));
      }
    });
    applied += events.length;
    spent_ms += performance.now() - since;
    part = [];
  };
  for (let n = 0; n < count; n++) {
    part.push(...eventsOf(n, count));
    if (part.length >= TRANSACTION) await apply();
  }
  await apply();
  const all = await documents.collection(jobs);
  for (let first = 0; first < job_count; first += TRANSACTION) {
    const length = Math.min(TRANSACTION, job_count - first);
    await all.write(Array.from({ length }, (_, n) => ({ insert: jobOf(first + n, count) })));
  }
  return applied / (spent_ms / 1000);
}

/** 5 % pay, 2 % had a trial that ends soon, 0.2 % are starred, 0.5 % flagged; one of two created a job within thirty days. */
export function eventsOf(n: number, count: number): LogEvent[] {
  const user_id = idOf(n);
  const at = NOW - 400 * DAY_MS + Math.floor((n / count) * 399 * DAY_MS);
  const events: LogEvent[] = [];
  const log = (stream: string, type: LogEvent['type'], data: object, ms = at, actor = 'test') => {
    const metadata = { command_id: '', causation_id: '', actor, at: new Date(ms).toISOString() };
    const id = `${user_id}/${events.length}`;
    events.push({ id, stream, type, revision: 0, position: '', data, metadata } as unknown as LogEvent);
  };
  const entry = {
    transaction_id: 't',
    transaction_type: 'purchase',
    amount: 1,
    reference_id: 'r',
    hash: '',
    parts: [],
  };
  log(`user-${user_id}`, 'UserRegistered', {
    user_id,
    email: `${NAMES[n % 7]}.${n}@${n % 3 ? 'gmail' : 'example'}.com`,
  });
  log(`user-${user_id}`, 'UserNamed', { name: `${NAMES[n % 7]} ${NAMES[n % 5]}son` });
  log(`credits-${user_id}`, 'CreditsGranted', { ...entry, balance_after: n % 1000, expires_at: null });
  if (n % 20 === 0)
    log(`subscription-${user_id}`, 'SubscriptionChanged', { ...SUBSCRIPTION, subscription_id: `s${n}` });
  if (n % 50 === 1) log(`subscription-${user_id}`, 'TrialStarted', { ...TRIAL, job_id: 'j' });
  if (n % 500 === 2) log(`user-${user_id}`, 'UserStarred', {}, at, 'admin:root');
  if (n % 200 === 3) log(`user-${user_id}`, 'SignupBonusWithheld', { reason: 'address_limit' });
  if (n % 10 === 4)
    log(`credits-${user_id}`, 'CreditsAdjusted', { ...entry, balance_after: 5, reason: 'why' }, at, `admin:a${n % 3}`);
  log(`job-${n}`, 'JobCreated', { owner_id: user_id }, n % 2 ? NOW - (n % 30) * DAY_MS : at);
  return events;
}

const NAMES = ['ada', 'grace', 'linus', 'barbara', 'alan', 'edsger', 'margaret'];
const idOf = (n: number) => `user_${((n * 2_654_435_761) % 4_294_967_296).toString(36)}_${n}`;
const SUBSCRIPTION = {
  ...{ plan: 'pro', interval: 'month', status: 'active', cancel_at: null, customer_id: null },
  ...{ period_start: '2026-11-01T00:00:00.000Z', period_end: '2026-12-01T00:00:00.000Z' },
  changed_at: '2026-11-01T00:00:00.000Z',
};
const TRIAL = { plan: 'pro', period_start: '2026-11-01T00:00:00.000Z', period_end: '2026-12-01T00:00:00.000Z' };

const jobOf = (n: number, count: number): JobDocument => ({
  _id: `job-${n}`,
  owner_id: idOf(n % count),
  owner_email: null,
  status: 'completed',
  total_urls: 10,
  completed_urls: 10,
  credits_allocated: 10,
  credits_refunded: 0,
  duplicates_removed: 0,
  invalid_urls_rejected: 0,
  blocked_urls_skipped: 0,
  ...{ pause_reason: null, failure_reason: null, created_at: new Date(NOW - n * 1000).toISOString(), started_at: null },
  ...{ completed_at: null, source: 'upload', filename: null, blob_key: null, batch_size: 10, batches_done_before: 1 },
  ...{ batches_done: {}, revision: 1, position: '', domains_recorded: true, due: null },
});

function pagesOf(documents: Documents, count: number): { [page: string]: () => Promise<unknown> } {
  const specs = {
    ...{ userList, searchBlocks, userCounts, users, balances, transactions, jobs, auditTrail },
    ...{ growthCounts, cohorts, userActivity, growthNotes, paywallCounts, paywallUsers, revenueCounts },
  };
  const read = Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [name, documents.reading(spec as never)]),
  );
  const deps = { read, now: () => NOW };
  const ask =
    (route: Route<never>, query: object = {}, params: object = {}) =>
    async () => {
      const reply: Reply = await route.handler({ query, params } as unknown as RouteRequest, deps as never);
      return JSON.stringify(reply.body);
    };
  const list = (query: object) =>
    ask(admin.listUsers as Route<never>, {
      ...{ filter_type: 'all', hide_deleted: true, hide_admin: true, only_starred: false, search: '' },
      ...{ sort_by: 'pinned', sort_order: 'desc', limit: 20, offset: 0, ...query },
    });
  const period = { period: '30d', limit: 50, offset: 0 };
  const filters = ['paying', 'free', 'trial', 'active', 'inactive', 'flagged'];
  const sorts = ['registered_at', 'last_job_at', 'jobs_created', 'credit_balance', 'email'];
  return {
    users: list({}),
    'users, the last page': list({ offset: count - 20 }),
    ...Object.fromEntries(filters.map((filter_type) => [`users, ${filter_type}`, list({ filter_type })])),
    ...Object.fromEntries(sorts.map((sort_by) => [`users by ${sort_by}`, list({ sort_by })])),
    'paying users by e-mail, deleted ones too': list({ filter_type: 'paying', sort_by: 'email', hide_deleted: false }),
    'starred users by e-mail': list({ only_starred: true, sort_by: 'email' }),
    'search for one user': list({ search: `.${Math.floor(count / 3)}@` }),
    'search for nobody': list({ search: 'nobody at all' }),
    'search for a name of many': list({ search: 'margaret' }),
    'search for a domain of most': list({ search: 'gmail.com' }),
    'search for a domain among the paying': list({ search: 'gmail.com', filter_type: 'paying' }),
    'one user': ask(admin.getUser as Route<never>, {}, { user_id: idOf(4) }),
    'audit trail': ask(listAuditTrail as Route<never>, { limit: 50, offset: 0 }),
    'audit trail of an administrator': ask(listAuditTrail as Route<never>, {
      limit: 50,
      offset: 0,
      admin_id: 'a1',
    }),
    'growth dashboard': ask(growth.dashboard as Route<never>, { period: '12m' }),
    'revenue review': ask(growth.revenueReview as Route<never>, { period: '12m' }),
    'cohort table': ask(growth.cohortTableRoute as Route<never>),
    retention: ask(growth.retention as Route<never>),
    'paywall users': ask(growth.paywall as Route<never>, period),
    'activity of one user': ask(growth.activity as Route<never>, { period: '90d' }, { user_id: idOf(4) }),
  };
}

export function adminTable({ store, users, jobs, projected_per_s, pages }: AdminBench): string {
  const rows = Object.entries(pages).map(
    ([page, { few_ms, many_ms }]) =>
      `  ${page.padEnd(42)} ${few_ms.toFixed(1).padStart(7)} ${many_ms.toFixed(1).padStart(7)} ms`,
  );
  const [many, rate] = [users.toLocaleString('en'), Math.round(projected_per_s).toLocaleString('en')];
  return [
    `Pages of administration, ${store}: ${(users / 10).toLocaleString('en')} users, and ${many} with ${jobs.toLocaleString('en')} jobs`,
    ...rows,
    `  events projected: ${rate} /s`,
  ].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { users: { type: 'string' }, jobs: { type: 'string' } } });
  const given = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  for (const measured of await benchAdmin(given)) console.log(`${adminTable(measured)}\n`);
}
