// Every figure of the administrators, computed a second way: from a drawn history of a year of 700 users, by plain loops over its facts.
import test, { type ExecutionContext } from 'ava';
import type { RecordedEvent } from '../../../events/event-store.ts';
import type { Reply, Route, RouteRequest } from '../../../http/frame/route.ts';
import * as growth from '../../../http/growth/admin-growth.ts';
import { growthProjection } from '../../../projections/growth/growth.ts';
import { paywallProjection } from '../../../projections/growth/paywall.ts';
import { revenueProjection } from '../../../projections/growth/revenue.ts';
import type { Projection } from '../../../projections/projection.ts';
import { usersProjection } from '../../../projections/users/users.ts';
import type { Documents } from '../../../readmodels/documents.ts';
import { dayOf, type Period } from '../../../readmodels/growth/calendar.ts';
import { idOfDay, idOfMonth } from '../../../readmodels/growth/day-counts.ts';
import { cohorts, growthCounts, growthUsers, userActivity } from '../../../readmodels/growth/growth.ts';
import { growthNotes } from '../../../readmodels/growth/growth-notes.ts';
import { paywallCounts, paywallUsers } from '../../../readmodels/growth/paywall.ts';
import { MOVEMENTS, revenueCounts, revenueCustomers } from '../../../readmodels/growth/revenue.ts';
import { users } from '../../../readmodels/users/users.ts';
import { DAYS, type DrawnUser, dayAt, drawYear } from '../../support/growth-year.ts';
import { openTestStores } from '../../support/stores.ts';

const USERS = 700;
/** `GROWTH_SEED` for another year. */
const year = drawYear(Number(process.env.GROWTH_SEED ?? 7), USERS);
const PROJECTIONS = [usersProjection, growthProjection, paywallProjection, revenueProjection];
const NOW = Date.parse(`${dayAt(DAYS - 1)}T23:59:59.999Z`);
const START_MS = Date.parse(dayAt(0));

// biome-ignore lint/suspicious/noExplicitAny: the test knows what is in an answer
type Body = any;
let ask: (route: Route<growth.Deps>, period?: Period, more?: object) => Promise<Body>;
let documents: Documents;

const ends: (() => Promise<void>)[] = [];
test.after.always(() => Promise.all(ends.map((end) => end())));

test.before(async () => {
  const teardown = (end: () => Promise<void>) => void ends.push(end);
  ({ documents } = await openTestStores({ teardown } as unknown as ExecutionContext));
  await applyAll(documents, year.events);
  const read = await opened(documents);
  const deps = { read, now: () => NOW } as unknown as growth.Deps;
  ask = async (route, period = '30d', more = {}) => {
    const request = { query: { period, limit: 50, offset: 0 }, params: {}, ...more } as unknown as RouteRequest;
    const reply: Reply = await route.handler(request, deps);
    return reply.body;
  };
});

async function opened(from: Documents) {
  const specs = { growthCounts, cohorts, userActivity, growthNotes, paywallCounts, paywallUsers, revenueCounts, users };
  const all = Object.entries(specs).map(async ([name, spec]) => [name, await from.collection(spec as never)] as const);
  return Object.fromEntries(await Promise.all(all));
}

/** In transactions of changing sizes, some of which fail at first and are repeated. */
async function applyAll(to: Documents, events: readonly RecordedEvent[], projections = PROJECTIONS): Promise<void> {
  const sizes = [1, 7, 500, 3_000];
  for (let from = 0, n = 0; from < events.length; n++) {
    const part = events.slice(from, from + sizes[n % sizes.length]!);
    if (n % 9 === 5) await apply(to, projections, part, new Error('not committed')).catch(() => {});
    await apply(to, projections, part);
    from += part.length;
  }
}

async function apply(to: Documents, projections: readonly Projection[], part: readonly RecordedEvent[], fails?: Error) {
  await to.transaction(async (inside) => {
    for (const projection of projections) {
      const taken = part.filter(({ type }) => projection.types.includes(type));
      if (taken.length > 0) await projection.apply(taken, (spec) => inside.collection(spec));
    }
    if (fails) throw fails;
  });
}

const PERIODS: { [period in Period]: number } = { '7d': 7, '30d': 30, '90d': 90, '12m': DAYS, all: DAYS };
const each = Object.entries(PERIODS).map(([period, days]) => ({ period: period as Period, from: DAYS - days }));
const range = (from: number) => Array.from({ length: DAYS - from }, (_, n) => from + n);
const sum = (numbers: Iterable<number>) => [...numbers].reduce((a, b) => a + b, 0);
const share = (a: number, b: number) => (b === 0 ? null : Math.round((a / b) * 1e4) / 1e4);
const isActive = ({ jobs }: DrawnUser, from: number, to: number) => jobs.some((day) => day >= from && day <= to);
const activeOn = (day: number, window: number) =>
  year.users.filter((user) => isActive(user, day - window + 1, day)).length;

const usersOn = (day: number) =>
  year.users.filter((user) => user.signed_up <= day && (user.erased === null || user.erased > day)).length;

test('the dashboard of each period equals a plain count', async (t) => {
  for (const { period, from } of each) {
    const { totals, active, funnel, series, ...body } = await ask(growth.dashboard, period);
    t.like(body, { period, from: dayAt(from), to: dayAt(DAYS - 1), currency: 'usd', notes: [] });
    const signed_up = year.users.filter((user) => user.signed_up >= from);
    const jobs = year.users.flatMap((user) => user.jobs).filter((day) => day >= from);
    const checked = year.checked.filter(({ day }) => day >= from);
    const [urls, broken] = [sum(checked.map((each) => each.urls)), sum(checked.map((each) => each.broken))];
    t.deepEqual(totals, {
      users: usersOn(DAYS - 1),
      ...{ signups: signed_up.length, active_users: year.users.filter((u) => isActive(u, from, DAYS)).length },
      ...{ jobs: jobs.length, urls_checked: urls, broken_urls: broken, broken_share: share(broken, urls) },
      soft_404_urls: sum(checked.map((each) => each.soft_404)),
    });
    const [dau, wau, mau] = [1, 7, 30].map((window) => activeOn(DAYS - 1, window));
    t.deepEqual(active, { dau, wau, mau, stickiness: share(dau!, mau!) });
    for (const { step, users: reached, share: of } of funnel) {
      const expected = signed_up.filter((user) => step === 'signup' || user.steps.has(step)).length;
      t.deepEqual([reached, of], [expected, share(expected, signed_up.length)], `${period} ${step}`);
    }
    t.deepEqual(
      series.map((point: Body) => point.day),
      range(from).map(dayAt),
    );
    for (const name of ['signups', 'jobs', 'urls_checked', 'broken_urls', 'soft_404_urls']) {
      t.is(sum(series.map((point: Body) => point[name])), totals[name], name);
    }
  }
});

test('each day of the series equals a plain count', async (t) => {
  const { series } = await ask(growth.dashboard, '12m');
  for (const [day, point] of series.entries()) {
    const checked = year.checked.filter((each) => each.day === day);
    const paying = year.users.filter((user) => user.mrr.usd[day]! > 0).length;
    t.deepEqual(point, {
      ...{ day: dayAt(day), signups: year.users.filter((user) => user.signed_up === day).length, users: usersOn(day) },
      jobs: year.users.flatMap((user) => user.jobs).filter((of) => of === day).length,
      ...{ urls_checked: sum(checked.map((each) => each.urls)), broken_urls: sum(checked.map((each) => each.broken)) },
      soft_404_urls: sum(checked.map((each) => each.soft_404)),
      ...{ dau: activeOn(day, 1), wau: activeOn(day, 7), mau: activeOn(day, 30) },
      ...{ paying_customers: paying, mrr_cents: sum(year.users.map((user) => user.mrr.usd[day]!)), note_ids: [] },
    });
  }
});

/** The movements of a day, from the levels of each user. */
function movementsOn(day: number, currency: 'usd' | 'eur') {
  const found = { new: 0, expansion: 0, reactivation: 0, contraction: 0, churn: 0 };
  const counts = { new_customers: 0, reactivated_customers: 0, churned_customers: 0 };
  for (const { mrr } of year.users) {
    const levels = mrr[currency];
    const [before, after] = [day === 0 ? 0 : levels[day - 1]!, levels[day]!];
    if (before === after) continue;
    if (before === 0 && levels.slice(0, day).every((level) => level === 0)) {
      found.new += after;
      counts.new_customers++;
    } else if (before === 0) {
      found.reactivation += after;
      counts.reactivated_customers++;
    } else if (after === 0) {
      found.churn += before;
      counts.churned_customers++;
    } else if (after > before) found.expansion += after - before;
    else found.contraction += before - after;
  }
  return { found, counts };
}

test('revenue, its movements and its rates equal a plain count, in each currency', async (t) => {
  for (const { period, from } of each) {
    const { series, other_currencies, ...review } = await ask(growth.revenueReview, period);
    t.deepEqual(
      other_currencies.map((other: Body) => other.currency),
      ['eur'],
    );
    for (const [currency, figures] of [
      ['usd', review],
      ['eur', other_currencies[0]],
    ] as const) {
      const level = (day: number) => sum(year.users.map(({ mrr }) => mrr[currency][day] ?? 0));
      const customers = (day: number) => year.users.filter(({ mrr }) => (mrr[currency][day] ?? 0) > 0).length;
      const moved = range(from).map((day) => movementsOn(day, currency));
      const total = (name: keyof (typeof moved)[number]['found']) => sum(moved.map(({ found }) => found[name]));
      const count = (name: keyof (typeof moved)[number]['counts']) => sum(moved.map(({ counts }) => counts[name]));
      const of = (kind: string) =>
        sum(
          year.money
            .filter((each) => each.kind === kind && each.currency === currency && each.day >= from && each.day < DAYS)
            .map(({ cents }) => cents),
        );
      const [start, end, now] = [level(from - 1), level(DAYS - 1), customers(DAYS - 1)];
      const lost = total('contraction') + total('churn');
      const gross = of('packages') + of('subscriptions');
      t.deepEqual(
        figures,
        {
          ...(currency === 'usd' ? { period, from: dayAt(from), to: dayAt(DAYS - 1) } : {}),
          ...{ currency, mrr_start_cents: start, mrr_end_cents: end },
          ...Object.fromEntries(MOVEMENTS.map((name) => [`${name}_cents`, total(name)])),
          ...{ customers_start: customers(from - 1), customers_end: now, new_customers: count('new_customers') },
          reactivated_customers: count('reactivated_customers'),
          churned_customers: count('churned_customers'),
          customer_churn_rate: share(count('churned_customers'), customers(from - 1)),
          gross_mrr_churn_rate: share(lost, start),
          net_mrr_churn_rate: share(lost - total('expansion') - total('reactivation'), start),
          arpu_cents: now === 0 ? null : Math.round(end / now),
          payments: year.money.filter(
            (each) =>
              (each.kind === 'packages' || each.kind === 'subscriptions') &&
              each.currency === currency &&
              each.day >= from,
          ).length,
          ...{ gross_cents: gross, packages_cents: of('packages'), subscriptions_cents: of('subscriptions') },
          ...{ credited_cents: of('credited'), outstanding_cents: of('outstanding') },
          ...{ refunds_cents: of('refunds'), disputes_cents: of('disputes') },
          net_cents: gross - of('refunds') - of('disputes'),
        },
        `${period} ${currency}`,
      );
      t.is(
        start + total('new') + total('expansion') + total('reactivation') - total('contraction') - total('churn'),
        end,
      );
    }
    t.is(series.length, DAYS - from);
    for (const [n, point] of series.entries()) {
      const { found } = movementsOn(from + n, 'usd');
      t.like(point, {
        day: dayAt(from + n),
        mrr_cents: sum(year.users.map(({ mrr }) => mrr.usd[from + n]!)),
        ...Object.fromEntries(MOVEMENTS.map((name) => [`${name}_cents`, found[name]])),
      });
    }
    for (const name of ['gross_cents', 'refunds_cents', 'disputes_cents', 'net_cents']) {
      t.is(sum(series.map((point: Body) => point[name])), review[name]);
    }
    t.like(await ask(growth.dashboard, period), { revenue: { mrr_end_cents: review.mrr_end_cents } });
  }
});

const monthOfDay = (day: number) => dayAt(day).slice(0, 7);

test('the cohort table and the retention equal a plain count', async (t) => {
  const { items } = await ask(growth.cohortTableRoute);
  const months = [...new Set(range(0).map(monthOfDay))];
  const expected = months.map((month, n) => {
    const of = year.users.filter((user) => monthOfDay(user.signed_up) === month);
    const retention = months.slice(n).map((later) => {
      const active_users = of.filter((user) => user.jobs.some((day) => monthOfDay(day) === later)).length;
      return { month: later, active_users, share: share(active_users, of.length) };
    });
    return { month, users: of.length, retention };
  });
  t.deepEqual(items, expected);
  const stats = await ask(growth.retention);
  t.deepEqual(stats.cohorts, expected.slice(-12));
  const [users_of, active_of] = [
    sum(expected.slice(-12, -3).map((cohort) => cohort.users)),
    sum(expected.slice(-12, -3).map((cohort) => cohort.retention[3]!.active_users)),
  ];
  const after_three = { months_after: 3, users: users_of, active_users: active_of, share: share(active_of, users_of) };
  t.deepEqual(stats.average_retention[3], after_three);
  const dashboard = await ask(growth.dashboard, 'all');
  t.deepEqual([stats.active, stats.funnel], [dashboard.active, dashboard.funnel]);
});

test('the users of the paywall and those who paid then equal a plain count', async (t) => {
  for (const { period, from } of each) {
    const from_ms = START_MS + from * 86_400_000;
    const met = year.users.filter(({ paywall }) => paywall.some(({ at_ms }) => at_ms >= from_ms));
    const hasPaid = ({ paywall, paid_ms }: DrawnUser) =>
      paid_ms.some((paid) => paid >= from_ms && paywall.some(({ at_ms }) => at_ms < paid));
    const body = await ask(growth.paywall, period);
    const views = year.users.flatMap(({ paywall }) =>
      paywall.filter((event) => event.is_view && event.at_ms >= from_ms),
    );
    t.like(body, {
      ...{ views: views.length, users: met.length, converted_users: met.filter(hasPaid).length },
      conversion_rate: share(met.filter(hasPaid).length, met.length),
      total: met.filter(({ erased }) => erased === null).length,
    });
    t.deepEqual(
      body.series,
      range(from).map((day) => ({
        day: dayAt(day),
        views: views.filter(({ at_ms }) => dayOf(at_ms) === dayAt(day)).length,
        payments: year.users.flatMap(({ paywall, paid_ms }) =>
          paid_ms.filter((paid) => dayOf(paid) === dayAt(day) && paywall.some(({ at_ms }) => at_ms < paid)),
        ).length,
      })),
    );
    const listed: Body[] = [];
    for (let offset = 0; offset < body.total; offset += 50) {
      const page = await ask(growth.paywall, period, { query: { period, limit: 50, offset } });
      listed.push(...page.items);
    }
    t.is(listed.length, body.total);
    const converted = met.filter((user) => user.erased === null && hasPaid(user)).length;
    t.is(listed.filter((item) => item.is_converted).length, converted);
    t.deepEqual(
      listed.toSorted((a, b) => (a.last_seen_at < b.last_seen_at ? 1 : -1)),
      listed,
    );
  }
});

test("a user's daily jobs add up to the jobs of the user, and an erased user has none", async (t) => {
  for (const user of year.users.slice(0, 60)) {
    const asked = ask(growth.activity, 'all', { params: { user_id: user.user_id } });
    if (user.erased !== null) {
      await t.throwsAsync(asked, { message: 'There is no such user.' });
      continue;
    }
    const { jobs, active_days, series } = await asked;
    t.deepEqual([jobs, active_days], [user.jobs.length, new Set(user.jobs).size]);
    t.is(series.length, DAYS - user.signed_up);
    for (const { day, jobs: of_day } of series) {
      t.is(of_day, user.jobs.filter((drawn) => dayAt(drawn) === day).length);
    }
  }
  await t.throwsAsync(ask(growth.activity, '7d', { params: { user_id: 'nobody' } }), { code: 'user_not_found' });
});

test('nothing but counts is left of an erased user, and the counts of each month are those of its days', async (t) => {
  const erased = year.users.filter((user) => user.erased !== null).map(({ user_id }) => user_id);
  t.true(erased.length > 20);
  for (const spec of [growthUsers, paywallUsers]) {
    t.deepEqual(await (await documents.collection(spec as typeof growthUsers)).getMany(erased), []);
  }
  const activity = await documents.collection(userActivity);
  t.is(await activity.count({ user_id: { $in: erased } }), 0);
  const customers = await (await documents.collection(revenueCustomers)).getMany(erased);
  t.true(customers.every(({ subscriptions, is_forgotten }) => subscriptions.length === 0 && is_forgotten));
  for (const spec of [growthCounts, paywallCounts, revenueCounts]) {
    const all = await Array.fromAsync((await documents.collection(spec)).stream({}));
    for (const { _id, n } of all.filter((document) => document._id.startsWith('month/'))) {
      const days = all.filter((document) => document._id.startsWith(idOfDay(_id.slice('month/'.length))));
      for (const [name, count] of Object.entries(n))
        t.is(sum(days.map((day) => day.n[name] ?? 0)), count, `${_id} ${name}`);
      t.is(idOfMonth(_id.slice('month/'.length)), _id);
    }
  }
});

test('the documents are the same whatever comes in one transaction', async (t) => {
  const { documents: at_once } = await openTestStores(t);
  await apply(at_once, PROJECTIONS, year.events);
  for (const spec of PROJECTIONS.flatMap(({ collections }) => collections)) {
    const [one, other] = [await documents.collection(spec), await at_once.collection(spec)];
    t.deepEqual(await Array.fromAsync(one.stream({})), await Array.fromAsync(other.stream({})), spec.name);
  }
});
