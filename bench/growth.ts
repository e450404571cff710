// Compares the time of the administrators' figures over 100,000 users and 1,000,000 jobs with that over 1,000 users and 10,000 jobs, of
// the same year, each in an embedded store. The projections fill the stores from made-up events.
// node bench/growth.ts [--users 100000] [--jobs 1000000]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import type { EventType } from '../events/vocabulary.ts';
import type { Reply, Route, RouteRequest } from '../http/frame/route.ts';
import * as growth from '../http/growth/admin-growth.ts';
import { growthProjection } from '../projections/growth/growth.ts';
import { paywallProjection } from '../projections/growth/paywall.ts';
import { revenueProjection } from '../projections/growth/revenue.ts';
import { usersProjection } from '../projections/users/users.ts';
import type { Documents } from '../readmodels/documents.ts';
import { cohorts, growthCounts, userActivity } from '../readmodels/growth/growth.ts';
import { growthNotes } from '../readmodels/growth/growth-notes.ts';
import { paywallCounts, paywallUsers } from '../readmodels/growth/paywall.ts';
import { revenueCounts } from '../readmodels/growth/revenue.ts';
import { users } from '../readmodels/users/users.ts';
import { openRandom, type Random } from '../test/torture/random.ts';
import { DAY_MS } from '../time/units.ts';
import { median } from './loopback-urls.ts';

interface Size {
  users: number;
  jobs: number;
}
export interface GrowthBench {
  small: Size;
  large: Size;
  /** Events that the projections applied a second, over the large store. */
  projected_per_s: number;
  /** Median times of an answer in ms, and their ratio. */
  answers: { page: string; small_ms: number; large_ms: number; ratio: number }[];
}

const PROJECTIONS = [usersProjection, growthProjection, paywallProjection, revenueProjection];
const DAYS = 365;
const START_MS = Date.parse('2025-02-01T00:00:00.000Z');
/** Events of a transaction, as many as the projector takes at once under load. */
const TRANSACTION = 5_000;
const ANSWERS = 50;
const SMALL: Size = { users: 1_000, jobs: 10_000 };

export async function benchGrowth(large: Size = { users: 100_000, jobs: 1_000_000 }): Promise<GrowthBench> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-growth-'));
  const opened: Documents[] = [];
  const filled = async (name: string, size: Size) => {
    const documents = await openSqliteDocuments({ path: join(folder, `${name}.db`) });
    opened.push(documents);
    const began = performance.now();
    const events = await fill(documents, size);
    return { per_s: events / ((performance.now() - began) / 1000), deps: await depsOf(documents) };
  };
  try {
    const [few, many] = [await filled('small', SMALL), await filled('large', large)];
    const answers: GrowthBench['answers'] = [];
    for (const { page, route, query, params } of PAGES) {
      const times: [number[], number[]] = [[], []];
      for (let n = 0; n < ANSWERS; n++) {
        times[0].push(await answer(route, { query: { limit: 50, offset: 0, ...query }, params }, few.deps));
        times[1].push(await answer(route, { query: { limit: 50, offset: 0, ...query }, params }, many.deps));
      }
      const [small_ms, large_ms] = [median(times[0]), median(times[1])];
      answers.push({ page, small_ms, large_ms, ratio: large_ms / small_ms });
    }
    return { small: SMALL, large, projected_per_s: many.per_s, answers };
  } finally {
    for (const documents of opened) await documents.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Page {
  page: string;
  route: Route<growth.Deps>;
  query?: object;
  params?: object;
}
/** The first user has the most jobs. */
const PAGES: Page[] = [
  { page: 'growth-dashboard, 30d', route: growth.dashboard, query: { period: '30d' } },
  { page: 'growth-dashboard, all', route: growth.dashboard, query: { period: 'all' } },
  { page: 'revenue-review, all', route: growth.revenueReview, query: { period: 'all' } },
  { page: 'cohort-table', route: growth.cohortTableRoute },
  { page: 'retention-stats', route: growth.retention },
  { page: 'user-activity, all', route: growth.activity, query: { period: 'all' }, params: { user_id: 'user-0' } },
  { page: 'paywall-users, all', route: growth.paywall, query: { period: 'all' } },
];

async function depsOf(documents: Documents): Promise<growth.Deps> {
  const specs = { growthCounts, cohorts, userActivity, growthNotes, paywallCounts, paywallUsers, revenueCounts, users };
  const all = Object.entries(specs).map(async ([name, spec]) => [name, await documents.collection(spec as never)]);
  return { read: Object.fromEntries(await Promise.all(all)), now: () => START_MS + DAYS * DAY_MS - 1 };
}

/** Time in ms to make the text of an answer. */
async function answer(route: Route<growth.Deps>, request: object, deps: growth.Deps): Promise<number> {
  const began = performance.now();
  const reply: Reply = await route.handler(request as unknown as RouteRequest, deps);
  JSON.stringify(reply.body);
  return performance.now() - began;
}

/** Makes the documents of a year and returns how many events it had. */
async function fill(documents: Documents, size: Size): Promise<number> {
  for (const spec of PROJECTIONS.flatMap(({ collections }) => collections)) await documents.collection(spec);
  let [count, events]: [number, RecordedEvent[]] = [0, []];
  const apply = async () => {
    await documents.transaction(async (inside) => {
      for (const projection of PROJECTIONS) {
        const taken = events.filter(({ type }) => projection.types.includes(type));
        if (taken.length > 0) await projection.apply(taken, (spec) => inside.collection(spec));
      }
    });
    [count, events] = [count + events.length, []];
  };
  for (const event of yearOf(size, openRandom(7))) {
    if (events.push(event) === TRANSACTION) await apply();
  }
  await apply();
  return count;
}

/** Users come and create jobs every day; a third of them meets the paywall, and a tenth pays monthly. */
function* yearOf({ users, jobs }: Size, random: Random): Iterable<RecordedEvent> {
  let [registered, created] = [0, 0];
  for (let day = 0; day < DAYS; day++) {
    const at = new Date(START_MS + day * DAY_MS + 43_200_000).toISOString();
    const event = (stream: string, type: EventType, data: object): RecordedEvent => {
      const metadata = { command_id: '', causation_id: '', actor: 'bench', at };
      return { id: '', stream, type, revision: 0, position: '', data, metadata };
    };
    const renewed = registered;
    for (; registered < Math.ceil((users * (day + 1)) / DAYS); registered++) {
      const user_id = `user-${registered}`;
      yield event(`user-${user_id}`, 'UserRegistered', { user_id, email: `${user_id}@example.com` });
      yield event(`user-${user_id}`, 'FingerprintRecorded', {});
    }
    for (; created < Math.ceil((jobs * (day + 1)) / DAYS); created++) {
      // The square prefers the first users.
      const owner_id = `user-${Math.floor(random.next() ** 2 * registered)}`;
      const domains = [{ checks: 20, failures: random.between(0, 3), verdicts: { ok: 17 } }];
      yield event(`job-${created}`, 'JobCreated', { owner_id });
      yield event(`domain_checks-${created}`, 'DomainsChecked', { domains });
    }
    for (let n = day % 30; n < renewed; n += 30) {
      const user_id = `user-${n}`;
      if (n % 3 === 0) yield event('intake', 'PaywallEventReceived', { user_id, event: 'paywall_shown' });
      if (n % 10 !== 0) continue;
      const monthly_cents = random.pick([900, 2_900, 9_900]);
      const period_end = new Date(Date.parse(at) + 30 * DAY_MS).toISOString();
      const period = { subscription_id: `sub-${n}`, interval: 'month', period_end, monthly_cents };
      const paid = { user_id, amount_cents: monthly_cents, currency: 'usd', package_id: null, period, paid_at: at };
      yield event(`payment-${n}-${day}`, 'PaymentReceived', paid);
    }
  }
}

export function growthTable({ small, large, projected_per_s, answers }: GrowthBench): string {
  const rows = answers.map(
    ({ page, small_ms, large_ms, ratio }) =>
      `  ${page.padEnd(24)}${small_ms.toFixed(2)} ms, ${large_ms.toFixed(2)} ms = ${ratio.toFixed(2)}`,
  );
  const head = `Figures of a year of ${large.users} users and ${large.jobs} jobs against ${small.users} and ${small.jobs}`;
  return [`${head} (projected at ${(projected_per_s / 1000).toFixed(1)} k events/s)`, ...rows].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { users: { type: 'string' }, jobs: { type: 'string' } } });
  const size = { users: Number(values.users ?? 100_000), jobs: Number(values.jobs ?? 1_000_000) };
  console.log(growthTable(await benchGrowth(size)));
}
