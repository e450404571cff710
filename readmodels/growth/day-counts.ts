// Counters by day, and their sums by month: what a figure costs grows with the days that it is of, and not with users or jobs.
// Decision 66 says why.

import { type Collection, type Document, readById } from '../documents.ts';
import { type Days, eachDay, monthOf } from './calendar.ts';

/** `_id` is `day/2026-01-31`, or `month/2026-01` for the sums of its days. A counter that is absent is 0. */
export interface DayCountsDocument extends Document {
  n: Record<string, number>;
}

export const dayCounts = readById<DayCountsDocument>;
export const idOfDay = (day: string) => `day/${day}`;
export const idOfMonth = (month: string) => `month/${month}`;

/** The counters of some days. */
export interface Counted {
  days: Days;
  /** All of them, in order. */
  each_day: readonly string[];
  /** By day. A day without a figure is absent. */
  by_day: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** The sums of all days before `days.from`. */
  before: Readonly<Record<string, number>>;
}
type Read = Pick<Collection<DayCountsDocument>, 'find'>;

/** Returns the counters of the days, with the sums of what came before them. The port's limit of 10,000 is 27 years of days. */
export async function countsOf(collection: Read, days: Days): Promise<Counted> {
  const month = monthOf(days.from);
  const [months, found] = await Promise.all([
    collection.find({ _id: { $gte: idOfMonth(''), $lt: idOfMonth(month) } }, { limit: 10_000 }),
    collection.find({ _id: { $gte: idOfDay(`${month}-01`), $lte: idOfDay(days.to) } }, { limit: 10_000 }),
  ]);
  const first = idOfDay(days.from);
  const before = sumOf([...months, ...found.filter(({ _id }) => _id < first)].map(({ n }) => n));
  const shown = found.filter(({ _id }) => _id >= first);
  return {
    days,
    each_day: eachDay(days),
    by_day: new Map(shown.map(({ _id, n }) => [_id.slice('day/'.length), n])),
    before,
  };
}

/** Returns the first day that has a counter; null for none. */
export async function firstDay(collection: Read): Promise<string | null> {
  const [first] = await collection.find({ _id: { $gte: idOfDay(''), $lt: 'day0' } }, { sort: { _id: 1 }, limit: 1 });
  return first ? first._id.slice('day/'.length) : null;
}

export function sumOf(counts: Iterable<Readonly<Record<string, number>>>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const n of counts) for (const [name, by] of Object.entries(n)) sums[name] = (sums[name] ?? 0) + by;
  return sums;
}

/** The sum of a counter over the days. */
export const totalOf = ({ by_day }: Counted, name: string): number =>
  by_day.values().reduce((sum, n) => sum + (n[name] ?? 0), 0);

/** The running sum of a counter at the end of each day, of all days before included: a level, such as the users there are. */
export function levelsOf({ by_day, each_day, before }: Counted, name: string): Map<string, number> {
  let level = before[name] ?? 0;
  return new Map(each_day.map((day) => [day, (level += by_day.get(day)?.[name] ?? 0)]));
}
