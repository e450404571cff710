// The read models of the paywall: how many users met it, who, and who paid then.
import { idOf } from '../../events/streams.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import { dayOf, earlierOf, isoOf, laterOf } from '../../readmodels/growth/calendar.ts';
import {
  isView,
  PAYWALL,
  type PaywallUserDocument,
  paywallCounts,
  paywallUsers,
} from '../../readmodels/growth/paywall.ts';
import { type Projection, projection } from '../projection.ts';
import { readAll, writeChanged } from '../slices.ts';
import { DayCountChanges } from './day-counts.ts';

interface Page {
  users: Map<string, PaywallUserDocument>;
  changed: Set<string>;
  counts: DayCountChanges;
}

export const paywallProjection: Projection = projection({
  name: 'paywall',
  version: 3,
  collections: [paywallCounts, paywallUsers],
  covers: ['intake'],
  ignores: ['AgencyEventReceived'],
  async begin(open, events): Promise<Page> {
    const users = await readAll(await open(paywallUsers), events.map(userOf));
    return { users, changed: new Set(), counts: new DayCountChanges() };
  },
  on: {
    PaywallEventReceived({ data: { user_id, event }, metadata: { at } }, page) {
      const before = page.users.get(user_id) ?? null;
      const is_view = isView(event);
      if (is_view) page.counts.add(dayOf(at), PAYWALL.views);
      const user = before ?? newUser(user_id, at);
      const last_seen_at = laterOf(at, user.last_seen_at);
      const [events, views] = [user.events + 1, user.views + (is_view ? 1 : 0)];
      change(page, before, { ...user, events, views, last_seen_at });
    },
    PaymentReceived({ data: { user_id, amount_cents, paid_at } }, page) {
      const user = page.users.get(user_id);
      const at = isoOf(paid_at);
      if (!user || amount_cents === 0 || isBefore(at, user.first_seen_at)) return;
      page.counts.add(dayOf(at), PAYWALL.payments);
      change(page, user, { ...user, converted_at: laterOf(at, user.converted_at ?? at) });
    },
    UserErased: remove,
    // A request that had begun before the erasure may have reported something after it.
    UserForgotten: remove,
  },
  async end({ users, changed, counts }, open) {
    await writeChanged(await open(paywallUsers), changed, users);
    await counts.writeTo(await open(paywallCounts));
  },
});

const userOf = ({ type, data, stream }: LogEvent): string =>
  type === 'PaymentReceived' || type === 'PaywallEventReceived' ? data.user_id : idOf(stream);

const newUser = (user_id: string, at: string): PaywallUserDocument => ({
  ...{ _id: user_id, events: 0, views: 0 },
  ...{ first_seen_at: at, last_seen_at: at, converted_at: null },
});

/** News of a payment may come late, after the first event. Providers round their times down to a second. */
const isBefore = (paid_at: string, seen_at: string) => paid_at < seen_at.slice(0, 'YYYY-MM-DDThh:mm:ss'.length);

/** The day on which each counter has a user; null for none. */
function placesOf(user: PaywallUserDocument | null): { [name: string]: string | null } {
  if (!user) return { [PAYWALL.users]: null, [PAYWALL.listed]: null, [PAYWALL.converted]: null };
  const { last_seen_at, converted_at } = user;
  const seen = dayOf(last_seen_at);
  const converted = converted_at === null ? null : dayOf(earlierOf(converted_at, last_seen_at));
  return { [PAYWALL.users]: seen, [PAYWALL.listed]: seen, [PAYWALL.converted]: converted };
}

function change(page: Page, before: PaywallUserDocument | null, after: PaywallUserDocument): void {
  move(page.counts, placesOf(before), placesOf(after));
  page.users.set(after._id, after);
  page.changed.add(after._id);
}

function move(counts: DayCountChanges, from: ReturnType<typeof placesOf>, to: ReturnType<typeof placesOf>): void {
  for (const [name, day] of Object.entries(to)) {
    if (from[name]) counts.add(from[name], name, -1);
    if (day) counts.add(day, name);
  }
}

/** The user still counts, and is listed no more. */
function remove({ stream }: LogEvent, page: Page): void {
  const user_id = idOf(stream);
  const user = page.users.get(user_id);
  if (!user) return;
  page.counts.add(dayOf(user.last_seen_at), PAYWALL.listed, -1);
  page.users.delete(user_id);
  page.changed.add(user_id);
}
