// The administrators' figures of users, activity, money and the paywall.
import { CURRENCY } from '../../commands/billing/plans.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { dayOf, daysOf, type Period } from '../../readmodels/growth/calendar.ts';
import { countsOf, firstDay, totalOf } from '../../readmodels/growth/day-counts.ts';
import {
  cohorts,
  cohortTable,
  dailyJobs,
  funnelOf,
  growthCounts,
  shareOf,
  userActivity,
} from '../../readmodels/growth/growth.ts';
import { growthNotes, MAX_NOTES, notesOf } from '../../readmodels/growth/growth-notes.ts';
import { PAYWALL, paywallCounts, paywallUsers, paywallUsersPage } from '../../readmodels/growth/paywall.ts';
import { currenciesOf, revenueCounts, revenueOf } from '../../readmodels/growth/revenue.ts';
import { users } from '../../readmodels/users/users.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { anError, routeOf } from '../frame/route.ts';
import { Count, listOf, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';
import {
  ActiveView,
  activeView,
  averageRetention,
  CohortView,
  cohortExample,
  Day,
  daysView,
  FunnelRows,
  funnelExample,
  GrowthPoint,
  growthSeries,
  NoteView,
  noteExample,
  noteView,
  period,
  periodExample,
  periodFields,
  pointExample,
  Share,
  TotalsView,
  totalsExample,
  totalsView,
} from './growth-view.ts';
import { RevenuePoint, RevenueView, revenueExample, revenuePointExample, revenueSeries } from './revenue-view.ts';

const wire = ({ read, now }: Parts) => ({
  now,
  read: read({ growthCounts, cohorts, userActivity, growthNotes, paywallCounts, paywallUsers, revenueCounts, users }),
});
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'growth');

/** The cohorts of this many months are shown. */
const COHORT_MONTHS = 36;
const RETENTION_MONTHS = 12;

/** The days of a period that ends today. */
async function askedDays(asked: Period, { read, now }: Deps) {
  const all = [read.growthCounts, read.revenueCounts, read.paywallCounts];
  const firsts = asked === 'all' ? await Promise.all(all.map(firstDay)) : [];
  const first = firsts.filter((day) => day !== null).sort()[0] ?? null;
  return daysOf(asked, dayOf(now()), first);
}

export const dashboard = route({
  id: 'getGrowthDashboard',
  method: 'GET',
  path: '/admin/growth-dashboard',
  access: 'admin',
  summary: 'Show how users, jobs and revenue grow',
  query: Type.Object({ period: period('30d') }),
  responses: {
    200: {
      description: 'The figures of the period, and of each of its days.',
      schema: Type.Object({
        ...periodFields,
        currency: Type.String({ description: 'ISO 4217, in lower case.' }),
        totals: TotalsView,
        active: ActiveView,
        funnel: FunnelRows,
        revenue: RevenueView,
        series: Type.Array(GrowthPoint, { description: 'Every day of the period, the oldest first.' }),
        notes: Type.Array(NoteView, {
          description: `The notes about these days, the last ones first, at most ${MAX_NOTES}.`,
        }),
      }),
      example: {
        ...periodExample,
        ...{ currency: 'usd', totals: totalsExample, active: { dau: 21, wau: 55, mau: 140, stickiness: 0.15 } },
        ...{ funnel: funnelExample, revenue: revenueExample, series: [pointExample], notes: [noteExample] },
      },
    },
  },
  async handler({ query }, deps) {
    const { read } = deps;
    const days = await askedDays(query.period, deps);
    const [growth, money, notes] = await Promise.all([
      countsOf(read.growthCounts, days),
      countsOf(read.revenueCounts, days),
      notesOf(read.growthNotes, days),
    ]);
    return {
      body: {
        ...daysView(query.period, days),
        ...{ currency: CURRENCY, totals: totalsView(growth), active: activeView(growth), funnel: funnelOf(growth) },
        ...{ revenue: revenueOf(money, CURRENCY), series: growthSeries(growth, money, CURRENCY, notes) },
        notes: notes.map(noteView),
      },
    };
  },
});

export const revenueReview = route({
  id: 'getRevenueReview',
  method: 'GET',
  path: '/admin/revenue-review',
  access: 'admin',
  summary: 'Show recurring revenue and its movements, payments and refunds',
  query: Type.Object({ period: period('30d') }),
  responses: {
    200: {
      description: 'The money of the period, and of each of its days.',
      schema: Type.Object({
        ...periodFields,
        ...RevenueView.properties,
        series: Type.Array(RevenuePoint, { description: 'Every day of the period, the oldest first.' }),
        other_currencies: Type.Array(RevenueView, {
          description: 'The same for payments in other currencies. Nothing is converted.',
        }),
      }),
      example: { ...periodExample, ...revenueExample, series: [revenuePointExample], other_currencies: [] },
    },
  },
  async handler({ query }, deps) {
    const days = await askedDays(query.period, deps);
    const money = await countsOf(deps.read.revenueCounts, days);
    const others = currenciesOf(money).filter((currency) => currency !== CURRENCY);
    return {
      body: {
        ...daysView(query.period, days),
        ...revenueOf(money, CURRENCY),
        series: revenueSeries(money, CURRENCY),
        other_currencies: others.map((currency) => revenueOf(money, currency)),
      },
    };
  },
});

export const cohortTableRoute = route({
  id: 'getCohortTable',
  method: 'GET',
  path: '/admin/cohort-table',
  access: 'admin',
  summary: 'Show the users of each month, and how many of them came back in the months after',
  responses: {
    200: listOf(
      `The cohorts of the last ${COHORT_MONTHS} months, the oldest first.`,
      CohortView,
      cohortExample,
      COHORT_MONTHS,
    ),
  },
  async handler(_request, { read, now }) {
    const items = await cohortTable(read.cohorts, dayOf(now()), COHORT_MONTHS);
    return { body: { items, total: items.length, limit: COHORT_MONTHS, offset: 0 } };
  },
});

export const retention = route({
  id: 'getRetentionStats',
  method: 'GET',
  path: '/admin/retention-stats',
  access: 'admin',
  summary: 'Show how many users are active, stay and pay',
  responses: {
    200: {
      description: 'Active users now, the cohorts of the last year, and the funnel of all users.',
      schema: Type.Object({
        as_of: Day('Today, in UTC.'),
        active: ActiveView,
        average_retention: Type.Array(
          Type.Object({
            months_after: Count('Months after the month of the signup.'),
            users: Count('Users of the cohorts that are old enough.'),
            active_users: Count('Those of them who created a job in that month.'),
            share: Share('active_users / users; null without users.'),
          }),
          { description: 'Over the cohorts of the last year.' },
        ),
        cohorts: Type.Array(CohortView, { description: 'The cohorts of the last year, the oldest first.' }),
        funnel: FunnelRows,
      }),
      example: {
        as_of: '2026-01-31',
        active: { dau: 21, wau: 55, mau: 140, stickiness: 0.15 },
        average_retention: [{ months_after: 1, users: 40, active_users: 18, share: 0.45 }],
        ...{ cohorts: [cohortExample], funnel: funnelExample },
      },
    },
  },
  async handler(_request, deps) {
    const { read } = deps;
    const days = await askedDays('all', deps);
    const [growth, table] = await Promise.all([
      countsOf(read.growthCounts, days),
      cohortTable(read.cohorts, days.to, RETENTION_MONTHS),
    ]);
    const average_retention = averageRetention(table, RETENTION_MONTHS);
    const [active, funnel] = [activeView(growth), funnelOf(growth)];
    return { body: { as_of: days.to, active, average_retention, cohorts: table, funnel } };
  },
});

const NO_USER = 'There is no such user.';

export const activity = route({
  id: 'getUserActivity',
  method: 'GET',
  path: '/admin/user-activity/{user_id}',
  access: 'admin',
  summary: 'Show how many jobs a user created on each day',
  query: Type.Object({ period: period('90d') }),
  responses: {
    200: {
      description: 'The jobs of each day.',
      schema: Type.Object({
        user_id: Type.String(),
        ...periodFields,
        jobs: Count('Jobs created in the period, deleted ones and reruns included.'),
        active_days: Count('Days with a job.'),
        series: Type.Array(Type.Object({ day: Day('The day, in UTC.'), jobs: Count('Jobs created.') }), {
          description: 'Every day of the period, the oldest first.',
        }),
      }),
      example: {
        ...{ user_id: 'alice', ...periodExample, jobs: 3, active_days: 1 },
        series: [{ day: '2026-01-31', jobs: 3 }],
      },
    },
  },
  errors: { 404: anError('There is no such user, or the user was erased.', 'user_not_found', NO_USER) },
  async handler({ params: { user_id }, query }, deps) {
    const user = await deps.read.users.get(user_id);
    if (!user || user.erased_at !== null) throw new HttpError(404, 'user_not_found', NO_USER);
    const days = daysOf(query.period, dayOf(deps.now()), dayOf(user.registered_at));
    const series = await dailyJobs(deps.read.userActivity, user_id, days);
    const jobs = series.reduce((sum, day) => sum + day.jobs, 0);
    const active_days = series.filter((day) => day.jobs > 0).length;
    return { body: { user_id, ...daysView(query.period, days), jobs, active_days, series } };
  },
});

const PaywallUser = Type.Object(
  {
    user_id: Type.String(),
    email: Nullable(Type.String()),
    events: Count('Events of the paywall in the life of the user.'),
    views: Count('Of these: the paywall was shown.'),
    first_seen_at: Time('The first event.'),
    last_seen_at: Time('The last event.'),
    converted_at: Nullable(Time('The last payment after an event of the paywall. Null: none.')),
    is_converted: Type.Boolean({ description: 'Whether that payment is of this period.' }),
  },
  { $id: 'PaywallUser' },
);

export const paywall = route({
  id: 'listPaywallUsers',
  method: 'GET',
  path: '/admin/paywall-users',
  access: 'admin',
  summary: 'List the users who met the paywall, the last one first, and how many of them paid',
  query: Type.Object({ period: period('30d'), ...paging(50) }),
  responses: {
    200: {
      description: 'A page of users, and the figures of the period.',
      schema: Type.Object({
        ...periodFields,
        views: Count('How often the paywall was shown.'),
        users: Count('Users who met the paywall, each of them once.'),
        converted_users: Count('Those of them who paid in the period, after they had met the paywall.'),
        conversion_rate: Share('converted_users / users; null without users.'),
        series: Type.Array(
          Type.Object({
            day: Day('The day, in UTC.'),
            views: Count('How often the paywall was shown.'),
            payments: Count('Payments of users who had met the paywall before, of more than nothing.'),
          }),
          { description: 'Every day of the period, the oldest first.' },
        ),
        items: Type.Array(PaywallUser),
        total: Count('The users without those who were erased.'),
        limit: Type.Integer(),
        offset: Type.Integer(),
      }),
      example: {
        ...{ ...periodExample, views: 61, users: 34, converted_users: 3, conversion_rate: 0.0882 },
        series: [{ day: '2026-01-31', views: 9, payments: 1 }],
        items: [
          {
            ...{ user_id: 'alice', email: 'alice@example.com', events: 3, views: 2 },
            ...{ first_seen_at: '2026-01-30T09:00:00.000Z', last_seen_at: '2026-01-31T09:00:00.000Z' },
            ...{ converted_at: '2026-01-31T09:05:00.000Z', is_converted: true },
          },
        ],
        ...{ total: 34, limit: 50, offset: 0 },
      },
    },
  },
  async handler({ query }, deps) {
    const { read } = deps;
    const { limit, offset } = query;
    const days = await askedDays(query.period, deps);
    const counted = await countsOf(read.paywallCounts, days);
    const [met, converted_users] = [totalOf(counted, PAYWALL.users), totalOf(counted, PAYWALL.converted)];
    const listed = totalOf(counted, PAYWALL.listed);
    const { items, total } = await paywallUsersPage(read.paywallUsers, days.from, listed, { limit, offset });
    const found = await read.users.getMany(items.map(({ _id }) => _id));
    const email_of = new Map(found.map(({ _id, email }) => [_id, email]));
    return {
      body: {
        ...daysView(query.period, days),
        ...{ views: totalOf(counted, PAYWALL.views), users: met, converted_users },
        conversion_rate: shareOf(converted_users, met),
        series: counted.each_day.map((day) => {
          const n = counted.by_day.get(day) ?? {};
          return { day, views: n[PAYWALL.views] ?? 0, payments: n[PAYWALL.payments] ?? 0 };
        }),
        items: items.map(({ _id: user_id, ...item }) => ({
          ...{ user_id, email: email_of.get(user_id) ?? null },
          ...item,
          is_converted: item.converted_at !== null && item.converted_at >= days.from,
        })),
        ...{ total, limit, offset },
      },
    };
  },
});

export const group = groupOf(wire, [...[dashboard, revenueReview, cohortTableRoute, retention, activity, paywall]]);
