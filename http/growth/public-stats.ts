// The statistics that everybody may see: counts of the last 30 days, read once an hour.
import { Type } from '../../events/schema.ts';
import { dayOf, daysOf } from '../../readmodels/growth/calendar.ts';
import { countsOf } from '../../readmodels/growth/day-counts.ts';
import { growthCounts } from '../../readmodels/growth/growth.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { routeOf } from '../frame/route.ts';
import { Count, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { Day, Share, totalsView } from './growth-view.ts';

const CACHED_S = 3_600;
/** Counts that are all absent may be those of read models that are not built yet. */
const EMPTY_CACHED_S = 10;

/** Returns what `read` returned at most `forS` seconds ago, and its age. Callers that wait at the same time share one read. */
export function cached<Value>(
  read: () => Promise<Value>,
  forS: (value: Value) => number,
  monotonic = () => performance.now(),
) {
  let kept: { value: Value; read_at: number } | null = null;
  let reading: Promise<void> | null = null;
  const age = () => (monotonic() - kept!.read_at) / 1000;
  const refresh = async () => {
    const read_at = monotonic();
    kept = { value: await read(), read_at };
  };
  return async (): Promise<{ value: Value; age_s: number; for_s: number }> => {
    if (kept === null || age() >= forS(kept.value)) {
      reading ??= refresh().finally(() => (reading = null));
      await reading;
    }
    const { value } = kept!;
    return { value, age_s: Math.floor(age()), for_s: forS(value) };
  };
}

const wire = ({ read, now }: Parts) => {
  const collections = read({ growthCounts });
  const stats = async () => {
    const days = daysOf('30d', dayOf(now()), null);
    const counted = await countsOf(collections.growthCounts, days);
    const { users: _, signups: __, ...counts } = totalsView(counted);
    const is_empty = counted.by_day.size === 0 && Object.keys(counted.before).length === 0;
    return { is_empty, body: { days: 30, ...days, ...counts, generated_at: new Date(now()).toISOString() } };
  };
  return { stats: cached(stats, ({ is_empty }) => (is_empty ? EMPTY_CACHED_S : CACHED_S)) };
};
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'public');

const publicStats = route({
  id: 'getPublicStats',
  method: 'GET',
  path: '/public-stats',
  access: 'none',
  summary: 'Show what the service did in the last 30 days',
  description: 'The answer is up to an hour old; `Age` says how old. It has no personal data.',
  responses: {
    200: {
      description: 'Counts over all users.',
      schema: Type.Object({
        days: Type.Integer({ description: 'Days that the counts are of, today included.' }),
        from: Day('The first day, in UTC.'),
        to: Day('The last day.'),
        jobs: Count('Jobs created.'),
        urls_checked: Count('URLs of jobs that ended.'),
        broken_urls: Count('Of these: 4xx, 5xx or unreachable.'),
        soft_404_urls: Count('Of these: 200, but there is nothing there.'),
        broken_share: Share('broken_urls / urls_checked; null without URLs.'),
        active_users: Count('Users who created a job, each of them once.'),
        generated_at: Time('When the counts were read.'),
      }),
      example: {
        ...{ days: 30, from: '2026-01-02', to: '2026-01-31', jobs: 310, urls_checked: 120_000, broken_urls: 4_800 },
        ...{ soft_404_urls: 310, broken_share: 0.04, active_users: 55, generated_at: '2026-01-31T09:00:00.000Z' },
      },
      headers: {
        'Cache-Control': `Caches may keep the answer for an hour; for ${EMPTY_CACHED_S} s while nothing was counted yet.`,
        Age: 'Seconds since the counts were read.',
      },
    },
  },
  async handler(_request, { stats }) {
    const { value, age_s, for_s } = await stats();
    return { body: value.body, headers: { 'cache-control': `public, max-age=${for_s}`, age: String(age_s) } };
  },
});

export const group = groupOf(wire, [publicStats]);
