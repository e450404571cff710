// The read models of the paywall: counters by day, and who saw it. A user's last days place the user in exactly one day of each counter,
// so that each counts once in any period that ends today.

import { type Collection, type Document, kept, type ReadModelSpec } from '../documents.ts';
import type { Page, Paging } from '../pages.ts';
import { dayCounts } from './day-counts.ts';

/** The counters of a day. */
export const PAYWALL = {
  /** Events by which the console says that it showed the paywall. */
  views: 'views',
  /** The users who last met the paywall on this day. */
  users: 'users',
  /** `users` without the erased ones. */
  listed: 'listed',
  /** The users of whom the earlier of two days is this one: on which they last met the paywall, and on which they last paid after it. */
  converted: 'converted',
  /** Payments of users who had met the paywall before. */
  payments: 'payments',
} as const;
export const paywallCounts = dayCounts('paywall_counts', kept('300 a day', 'never', 'none'));

/** The name of an event by which the console says that it showed the paywall; any other, such as a click, is no view. */
export const isView = (event: string): boolean =>
  /(^|[^a-z])(shown|show|view|viewed|views|seen|impression)$/i.test(event);

/** `_id` is the user's id. */
export interface PaywallUserDocument extends Document {
  events: number;
  views: number;
  /** ISO 8601. */
  first_seen_at: string;
  last_seen_at: string;
  /** The user's last payment after they met the paywall; null for none. */
  converted_at: string | null;
}
export const paywallUsers: ReadModelSpec<PaywallUserDocument> = {
  name: 'paywall_users',
  ...kept('200 a user at the paywall', "with the user's erasure", 'derived'),
  fields: { last_seen_at: 'string' },
  indexes: [{ fields: { last_seen_at: -1 } }],
};

/** A page of the users who met the paywall since the beginning of the day `from`, the last one first. `total` comes from the counters. */
export async function paywallUsersPage(
  collection: Pick<Collection<PaywallUserDocument>, 'find'>,
  from: string,
  total: number,
  { limit, offset }: Paging,
): Promise<Page<PaywallUserDocument>> {
  const filter = { last_seen_at: { $gte: from } };
  return { items: await collection.find(filter, { sort: { last_seen_at: -1 }, skip: offset, limit }), total };
}
