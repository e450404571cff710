// The read models of users, jobs and activity, over which administrators ask for figures.
import { idOf } from '../../events/streams.ts';
import { isTestUser } from '../../events/test-user.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import type { Update, Write } from '../../readmodels/documents.ts';
import { dayNumbered, dayOf, monthOf, numberOf } from '../../readmodels/growth/calendar.ts';
import {
  ACTIVE_WINDOWS,
  type ActiveWindow,
  type CohortDocument,
  cohorts,
  type FunnelStep,
  GROWTH,
  type GrowthUserDocument,
  growthCounts,
  growthUsers,
  type UserActivityDocument,
  userActivity,
} from '../../readmodels/growth/growth.ts';
import { type Projection, projection } from '../projection.ts';
import { readAll, writeAll, writeChanged } from '../slices.ts';
import { DayCountChanges } from './day-counts.ts';

interface Page {
  users: Map<string, GrowthUserDocument>;
  /** The users of this transaction that are written; those that are in `users` no more are deleted. */
  changed: Set<string>;
  counts: DayCountChanges;
  /** Written in order. */
  cohorts: Write<CohortDocument>[];
  activity: Write<UserActivityDocument>[];
}

export const growthProjection: Projection = projection({
  name: 'growth',
  version: 2,
  collections: [growthCounts, growthUsers, cohorts, userActivity],
  covers: ['user'],
  ignores: [
    ...(['UserUpdated', 'IdentityReported', 'SignupBonusApproved', 'SignupBonusWithheld'] as const),
    ...(['UsageLimitSet', 'SpendingLimitSet', 'CreditMailsSet', 'UsageSet'] as const),
    ...(['UserNamed', 'UserRoleSeen', 'NotesUpdated', 'UserStarred', 'UserUnstarred', 'SessionsEnded'] as const),
  ],
  async begin(open, events): Promise<Page> {
    const ids = events.map(userOf).filter((user_id) => user_id !== null);
    const users = await readAll(await open(growthUsers), ids);
    return { users, changed: new Set(), counts: new DayCountChanges(), cohorts: [], activity: [] };
  },
  on: {
    UserRegistered({ data: { user_id }, metadata: { at } }, page) {
      const user = userIn(page, user_id);
      if (user.signed_up !== null) return;
      const signed_up = dayOf(at);
      set(page, { ...user, signed_up });
      page.counts.add(signed_up, GROWTH.signups);
      page.cohorts.push(increase(monthOf(signed_up), 'size'));
    },
    FingerprintRecorded: ({ stream }, page) => reach(page, idOf(stream), 'fingerprint'),
    ApiKeyCreated({ data: { user_id, is_test } }, page) {
      if (!is_test) reach(page, user_id, 'api_key');
    },
    PaymentReceived({ data: { user_id, amount_cents, period } }, page) {
      if (amount_cents > 0) reach(page, user_id, period === null ? 'purchase' : 'subscription');
    },
    JobCreated({ data: { owner_id }, metadata: { at } }, page) {
      if (isTestUser(owner_id)) return;
      const day = dayOf(at);
      page.counts.add(day, GROWTH.jobs);
      page.activity.push(jobsOn(owner_id, day));
      reach(page, owner_id, 'first_job');
      recordActivity(page, owner_id, day);
    },
    DomainsChecked({ data: { domains }, metadata: { at } }, page) {
      const day = dayOf(at);
      for (const { checks, failures, verdicts } of domains) {
        page.counts.add(day, GROWTH.urls, checks);
        page.counts.add(day, GROWTH.broken, failures);
        page.counts.add(day, GROWTH.soft_404, verdicts.soft_404 ?? 0);
      }
    },
    UserErased({ stream, metadata: { at } }, page) {
      const user_id = idOf(stream);
      if (userIn(page, user_id).signed_up !== null) page.counts.add(dayOf(at), GROWTH.erased);
      forgetActivity(page, user_id);
    },
    /** The counts stay; nothing that names the user does. A request that had begun before the erasure may have made jobs after it. */
    UserForgotten({ stream }, page) {
      const user_id = idOf(stream);
      forgetActivity(page, user_id);
      page.users.delete(user_id);
      page.changed.add(user_id);
    },
  },
  async end({ users, changed, counts, ...writes }, open) {
    await writeChanged(await open(growthUsers), changed, users);
    await counts.writeTo(await open(growthCounts));
    await writeAll(await open(cohorts), writes.cohorts);
    await writeAll(await open(userActivity), writes.activity);
  },
});

/** Null for an event that is of no user. */
function userOf({ type, data, stream }: LogEvent): string | null {
  switch (type) {
    case 'DomainsChecked':
      return null;
    case 'JobCreated':
      return data.owner_id;
    case 'ApiKeyCreated':
    case 'PaymentReceived':
      return data.user_id;
    default:
      return idOf(stream);
  }
}

const userIn = ({ users }: Page, user_id: string): GrowthUserDocument =>
  users.get(user_id) ?? { _id: user_id, signed_up: null, reached: [], active_days: [] };

function set(page: Page, user: GrowthUserDocument): void {
  page.users.set(user._id, user);
  page.changed.add(user._id);
}

function reach(page: Page, user_id: string, step: FunnelStep): void {
  const user = userIn(page, user_id);
  // News of a payment may come after the user is forgotten.
  if (user.signed_up === null || user.reached.includes(step)) return;
  set(page, { ...user, reached: [...user.reached, step] });
  page.counts.add(user.signed_up, GROWTH.reached(step));
}

function recordActivity(page: Page, user_id: string, day: string): void {
  const user = userIn(page, user_id);
  const activity = activityOf(user.active_days, day);
  if (!activity) return;
  const { counts } = page;
  const { active_days, is_last, last_before, is_first_of_month, gained } = activity;
  set(page, { ...user, active_days });
  if (last_before !== null) counts.add(last_before, GROWTH.last_active, -1);
  if (is_last) counts.add(day, GROWTH.last_active);
  for (const { window, from, until } of gained) {
    counts.add(from, GROWTH.active(window));
    counts.add(until, GROWTH.active(window), -1);
  }
  if (is_first_of_month && user.signed_up !== null) {
    page.cohorts.push(increase(monthOf(user.signed_up), `active.${monthOf(day)}`));
  }
}

const forgetActivity = (page: Page, user_id: string) => void page.activity.push({ deleteMany: { user_id } });

const increase = (id: string, counter: string) => ({ update: id, set: { $inc: { [counter]: 1 } }, upsert: true });

function jobsOn(user_id: string, day: string): Write<UserActivityDocument> {
  const month = monthOf(day);
  const set: Update = { $setOnInsert: { user_id, month }, $inc: { [`jobs.${day.slice(8)}`]: 1 } };
  return { update: `${month}/${user_id}`, set, upsert: true };
}

// When a user counts as active: pure functions of the days on which they created jobs.

/** A job this many days before the user's last active day still counts. Only a clock that was set back makes an older one. */
const LATE_DAYS = 31;
/** Days that are kept before the last one: those that decide on a late job. */
const KEPT_DAYS = 2 * LATE_DAYS;

interface Activity {
  active_days: number[];
  /** The last active day before, when another one has taken its place; null for none. */
  last_before: string | null;
  is_last: boolean;
  is_first_of_month: boolean;
  /** The days on which the user begins to count in a window, and the day after the last of them. */
  gained: { window: ActiveWindow; from: string; until: string }[];
}

/**
 * Returns what a job of this day changes; null when the user was active on the day before. Jobs may come in any order of their days, as long
 * as none is `LATE_DAYS` late.
 */
function activityOf(active_days: readonly number[], day: string): Activity | null {
  const number = numberOf(day);
  const last = active_days.at(-1) ?? Number.NEGATIVE_INFINITY;
  if (active_days.includes(number) || number < last - LATE_DAYS) return null;
  const before = active_days.findLast((other) => other < number) ?? Number.NEGATIVE_INFINITY;
  const after = active_days.find((other) => other > number) ?? Number.POSITIVE_INFINITY;
  const gained = (Object.entries(ACTIVE_WINDOWS) as [ActiveWindow, number][]).flatMap(([window, days]) => {
    const [from, until] = [Math.max(number, before + days), Math.min(number + days, after)];
    return from < until ? [{ window, from: dayNumbered(from), until: dayNumbered(until) }] : [];
  });
  const all = [...active_days, number].sort((a, b) => a - b);
  const is_last = number > last;
  return {
    active_days: all.filter((other) => other >= all.at(-1)! - KEPT_DAYS),
    last_before: is_last && last > 0 ? dayNumbered(last) : null,
    is_last,
    is_first_of_month: !active_days.some((other) => monthOf(dayNumbered(other)) === monthOf(day)),
    gained,
  };
}
