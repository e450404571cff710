// The figures of users and jobs as administrators see them: schemas with their meanings, and what makes them of the counters.
import { Nullable, Type } from '../../events/schema.ts';
import { type Days, PERIODS } from '../../readmodels/growth/calendar.ts';
import { type Counted, totalOf } from '../../readmodels/growth/day-counts.ts';
import { activeUsers, type Cohort, FUNNEL_STEPS, GROWTH, shareOf, userLevels } from '../../readmodels/growth/growth.ts';
import type { GrowthNoteDocument } from '../../readmodels/growth/growth-notes.ts';
import { counterOf, mrrLevels } from '../../readmodels/growth/revenue.ts';
import { Count, Time } from '../frame/schemas.ts';

export const Day = (description: string) => Type.String({ format: 'date', description });
export const Share = (description: string) => Nullable(Type.Number({ description }));
export const Cents = (description: string) => Type.Integer({ description });

/** The query parameter `period`. */
export const period = (value: (typeof PERIODS)[number]) =>
  Type.Enum(PERIODS, {
    type: 'string',
    default: value,
    description:
      'Days in UTC up to today: 7, 30 or 90 of them, those of twelve months, or all since the first event, at most ten years.',
  });
/** The fields of an answer that say which days it is of. */
export const periodFields = {
  period: Type.Enum(PERIODS, { type: 'string', description: 'As the request has it.' }),
  from: Day('The first day, in UTC.'),
  to: Day('The last day: today.'),
};
export const periodExample = { period: '7d', from: '2026-01-25', to: '2026-01-31' };

const active = {
  dau: Count('Users who created a job on the day.'),
  wau: Count('Users who created a job on one of the seven days that end with it.'),
  mau: Count('Users who created a job on one of the thirty days that end with it.'),
};

export const FunnelRows = Type.Array(
  Type.Object({
    step: Type.Enum(['signup', ...FUNNEL_STEPS]),
    users: Count('Of the users who signed up in the days: those who have taken the step until now.'),
    share: Share('Their share of the signups; null without signups.'),
  }),
  { description: 'A step counts whether or not the steps before it were taken.' },
);
export const funnelExample = [
  { step: 'signup', users: 40, share: 1 },
  { step: 'fingerprint', users: 38, share: 0.95 },
  { step: 'first_job', users: 30, share: 0.75 },
  { step: 'api_key', users: 8, share: 0.2 },
  { step: 'purchase', users: 3, share: 0.075 },
  { step: 'subscription', users: 2, share: 0.05 },
];

export const NoteView = Type.Object(
  {
    note_id: Type.String(),
    date: Day('The day that the note is about.'),
    text: Type.String(),
    added_at: Time(),
    added_by: Type.String({ description: 'Who added it.' }),
  },
  { $id: 'GrowthNote' },
);
export const noteExample = {
  note_id: '5b2e6f4c-93a0-4d1c-b7c4-1d0f4b6a9e55',
  ...{ date: '2026-01-30', text: 'New pricing page', added_at: '2026-01-31T09:00:00.000Z', added_by: 'admin:root' },
};
export const noteView = ({ _id: note_id, date, text, added_at, added_by }: GrowthNoteDocument) => ({
  ...{ note_id, date, text, added_at, added_by },
});

const checked = {
  jobs: Count('Jobs created.'),
  urls_checked: Count('URLs of jobs that ended.'),
  broken_urls: Count('Of these: 4xx, 5xx or unreachable.'),
  soft_404_urls: Count('Of these: 200, but there is nothing there.'),
};
export const TotalsView = Type.Object({
  users: Count('Users at the end of the last day: all who signed up, without those who were erased.'),
  signups: Count('Users who signed up.'),
  active_users: Count('Users who created a job, each of them once.'),
  ...checked,
  broken_share: Share('broken_urls / urls_checked; null without URLs.'),
});
export const totalsExample = {
  ...{ users: 212, signups: 40, active_users: 55, jobs: 310, urls_checked: 120_000 },
  ...{ broken_urls: 4_800, soft_404_urls: 310, broken_share: 0.04 },
};

export function totalsView(counted: Counted) {
  const total = (name: string) => totalOf(counted, name);
  const [urls_checked, broken_urls] = [total(GROWTH.urls), total(GROWTH.broken)];
  return {
    ...{ users: userLevels(counted).get(counted.days.to)!, signups: total(GROWTH.signups) },
    ...{ active_users: total(GROWTH.last_active), jobs: total(GROWTH.jobs) },
    ...{ urls_checked, broken_urls, soft_404_urls: total(GROWTH.soft_404) },
    broken_share: shareOf(broken_urls, urls_checked),
  };
}

export const GrowthPoint = Type.Object({
  day: Day('The day, in UTC.'),
  signups: Count('Users who signed up.'),
  users: Count('Users at the end of the day.'),
  ...checked,
  ...active,
  paying_customers: Count('Users with a paid plan at the end of the day.'),
  mrr_cents: Cents('The monthly recurring revenue at the end of the day, in `currency`.'),
  note_ids: Type.Array(Type.String(), { description: 'The notes about the day.' }),
});
export const pointExample = {
  ...{ day: '2026-01-31', signups: 6, users: 212, jobs: 44, urls_checked: 17_000, broken_urls: 700, soft_404_urls: 40 },
  ...{ dau: 21, wau: 55, mau: 140, paying_customers: 12, mrr_cents: 34_800, note_ids: [] },
};

/** The dashboard's series. */
export function growthSeries(growth: Counted, money: Counted, currency: string, notes: readonly GrowthNoteDocument[]) {
  const { dau, wau, mau } = activeUsers(growth);
  const users = userLevels(growth);
  const { mrr, customers } = mrrLevels(money, currency);
  const notes_by_day = Map.groupBy(notes, ({ date }) => date);
  return growth.each_day.map((day) => {
    const n = growth.by_day.get(day) ?? {};
    return {
      ...{ day, signups: n[GROWTH.signups] ?? 0, users: users.get(day)! },
      ...{ jobs: n[GROWTH.jobs] ?? 0, urls_checked: n[GROWTH.urls] ?? 0 },
      ...{ broken_urls: n[GROWTH.broken] ?? 0, soft_404_urls: n[GROWTH.soft_404] ?? 0 },
      ...{ dau: dau.get(day)!, wau: wau.get(day)!, mau: mau.get(day)! },
      ...{ paying_customers: customers.get(day)!, mrr_cents: mrr.get(day)! },
      note_ids: (notes_by_day.get(day) ?? []).map(({ _id }) => _id),
    };
  });
}

/** How many are active in each window now, and which share of a month's users comes on a day. */
export const ActiveView = Type.Object({ ...active, stickiness: Share('dau / mau; null without active users.') });
export function activeView(counted: Counted) {
  const now = activeUsers(counted);
  const of = (levels: Map<string, number>) => levels.get(counted.days.to) ?? 0;
  const [dau, wau, mau] = [of(now.dau), of(now.wau), of(now.mau)];
  return { dau, wau, mau, stickiness: shareOf(dau, mau) };
}

export const CohortView = Type.Object(
  {
    month: Type.String({ description: 'The month in which they signed up, in UTC.', examples: ['2026-01'] }),
    users: Count('The users who signed up in it.'),
    retention: Type.Array(
      Type.Object({
        month: Type.String(),
        active_users: Count('Those of them who created a job in the month.'),
        share: Share('active_users / users.'),
      }),
      { description: 'The month of the signup first, up to the current one.' },
    ),
  },
  { $id: 'Cohort' },
);
export const cohortExample: Cohort = {
  ...{ month: '2025-12', users: 40 },
  retention: [
    { month: '2025-12', active_users: 30, share: 0.75 },
    { month: '2026-01', active_users: 18, share: 0.45 },
  ],
};

/** The share of the users of all cohorts who were active n months after their signup, as far as their cohorts are old enough. */
export function averageRetention(table: readonly Cohort[], months: number) {
  return Array.from({ length: months }, (_, n) => {
    const old = table.filter(({ retention }) => retention.length > n);
    const [users, active_users] = [
      old.reduce((sum, cohort) => sum + cohort.users, 0),
      old.reduce((sum, cohort) => sum + cohort.retention[n]!.active_users, 0),
    ];
    return { months_after: n, users, active_users, share: shareOf(active_users, users) };
  });
}

export const daysView = (asked: (typeof PERIODS)[number], { from, to }: Days) => ({ period: asked, from, to });

export const moneyAt = (counted: Counted, day: string, currency: string) => {
  const n = counted.by_day.get(day) ?? {};
  return (name: Parameters<typeof counterOf>[1]) => n[counterOf(currency, name)] ?? 0;
};
