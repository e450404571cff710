// The read models of users, jobs and their activity: counters by day, a table of monthly cohorts, and one small document for each user.

import { type Collection, type Document, kept, type ReadModelSpec, readById } from '../documents.ts';
import { addMonths, type Days, eachDay, monthOf, monthsBetween } from './calendar.ts';
import { type Counted, dayCounts, levelsOf, totalOf } from './day-counts.ts';

/** The steps of the funnel after the signup, in its order. */
export const FUNNEL_STEPS = ['fingerprint', 'first_job', 'api_key', 'purchase', 'subscription'] as const;
export type FunnelStep = (typeof FUNNEL_STEPS)[number];

/** A user is active on a day on which they create a job. The trailing days, the last one included, that each window has. */
export const ACTIVE_WINDOWS = { dau: 1, wau: 7, mau: 30 } as const;
export type ActiveWindow = keyof typeof ACTIVE_WINDOWS;

/** The counters of a day. */
export const GROWTH = {
  signups: 'signups',
  /** Registered users whose erasure was asked for on this day. */
  erased: 'erased',
  jobs: 'jobs',
  urls: 'urls',
  broken: 'broken',
  soft_404: 'soft_404',
  /** The users whose last active day this is: each user counts once, for any period that ends today. */
  last_active: 'last_active',
  /** Users who begin to count as active in a window on this day, less those who end: the running sum is the number of active users. */
  active: (window: ActiveWindow) => `active_${window}`,
  /** The users who signed up on this day and have taken the step since. */
  reached: (step: FunnelStep) => `reached_${step}`,
} as const;
export const growthCounts = dayCounts('growth_counts', kept('300 a day', 'never', 'none'));

/** What decides whether an event of a user counts anew. */
export interface GrowthUserDocument extends Document {
  /** `_id` is the user's id. The day; null while the log has no registration. */
  signed_up: string | null;
  reached: FunnelStep[];
  /** The active days of the last two months before the last one, as numbers of `numberOf`, rising. */
  active_days: number[];
}
export const growthUsers = readById<GrowthUserDocument>(
  'growth_users',
  kept('at most 500 a user', "with the user's erasure", 'derived'),
);

/** The users who signed up in one month. `_id` is the month. */
export interface CohortDocument extends Document {
  size?: number;
  /** By month, the users who were active in it. */
  active?: Record<string, number>;
}
export const cohorts = readById<CohortDocument>(
  'growth_cohorts',
  kept('40 for each month of each cohort', 'never', 'none'),
);

/** The jobs of one user in one month. `_id` is `{month}/{user_id}`. */
export interface UserActivityDocument extends Document {
  user_id: string;
  month: string;
  /** By day of the month, such as `05`. */
  jobs: Record<string, number>;
}
export const userActivity: ReadModelSpec<UserActivityDocument> = {
  name: 'user_activity',
  ...kept('150 for each month with a job', "with the user's erasure", 'derived'),
  fields: { user_id: 'string', month: 'string' },
  indexes: [{ fields: { user_id: 1, month: 1 } }],
};

/** The number of active users of each window at the end of each day. */
export function activeUsers(counted: Counted): Record<ActiveWindow, Map<string, number>> {
  const { dau, wau, mau } = GROWTH_ACTIVE;
  return { dau: levelsOf(counted, dau), wau: levelsOf(counted, wau), mau: levelsOf(counted, mau) };
}
const GROWTH_ACTIVE = { dau: GROWTH.active('dau'), wau: GROWTH.active('wau'), mau: GROWTH.active('mau') };

/** The number of users at the end of each day: all who signed up, without those who were erased. */
export function userLevels(counted: Counted): Map<string, number> {
  const [signups, erased] = [levelsOf(counted, GROWTH.signups), levelsOf(counted, GROWTH.erased)];
  return new Map([...signups].map(([day, users]) => [day, users - erased.get(day)!]));
}

export interface FunnelRow {
  step: 'signup' | FunnelStep;
  users: number;
  /** users / signups; null without signups. */
  share: number | null;
}

/** How many of the users who signed up in these days have taken each step until now. */
export function funnelOf(counted: Counted): FunnelRow[] {
  const signups = totalOf(counted, GROWTH.signups);
  const row = (step: FunnelRow['step'], users: number): FunnelRow => ({ step, users, share: shareOf(users, signups) });
  return [row('signup', signups), ...FUNNEL_STEPS.map((step) => row(step, totalOf(counted, GROWTH.reached(step))))];
}

/** a / b, to four decimals; null without b. */
export const shareOf = (a: number, b: number): number | null => (b === 0 ? null : Math.round((a / b) * 1e4) / 1e4);

export interface Cohort {
  /** The month of the signup. */
  month: string;
  users: number;
  /** For each month since, the first being the month itself, up to the current one. */
  retention: { month: string; active_users: number; share: number | null }[];
}

/** The cohorts of the last `months` months that have users, the oldest first. */
export async function cohortTable(
  collection: Pick<Collection<CohortDocument>, 'find'>,
  today: string,
  months: number,
): Promise<Cohort[]> {
  const now = monthOf(today);
  const filter = { _id: { $gt: addMonths(now, -months), $lte: now } };
  const found = await collection.find(filter, { sort: { _id: 1 }, limit: 1000 });
  return found.map(({ _id: month, size: users = 0, active = {} }) => {
    const retention = Array.from({ length: monthsBetween(month, now) + 1 }, (_, n) => {
      const of = addMonths(month, n);
      const active_users = active[of] ?? 0;
      return { month: of, active_users, share: shareOf(active_users, users) };
    });
    return { month, users, retention };
  });
}

/** The jobs that a user created on each of the days. */
export async function dailyJobs(
  collection: Pick<Collection<UserActivityDocument>, 'find'>,
  user_id: string,
  days: Days,
): Promise<{ day: string; jobs: number }[]> {
  const months = { $gte: monthOf(days.from), $lte: monthOf(days.to) };
  const found = await collection.find({ user_id, month: months }, { limit: 1000 });
  const by_month = new Map(found.map(({ month, jobs }) => [month, jobs]));
  return eachDay(days).map((day) => ({ day, jobs: by_month.get(monthOf(day))?.[day.slice(8)] ?? 0 }));
}
