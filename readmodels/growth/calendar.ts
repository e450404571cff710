// Days and months in UTC, and the periods over which administrators ask for figures. A day is written `2026-01-31`, a month `2026-01`.
import { DAY_MS } from '../../time/units.ts';
export const PERIODS = ['7d', '30d', '90d', '12m', 'all'] as const;
export type Period = (typeof PERIODS)[number];

/** The first and the last day of a series, both inclusive. */
export interface Days {
  from: string;
  to: string;
}

/** `all` shows at most this many days, ten years and a bit. */
export const MAX_DAYS = 3_660;
const DAYS_OF = { '7d': 7, '30d': 30, '90d': 90 } as const;

/** `time`: ISO 8601, or milliseconds since the epoch. */
export const dayOf = (time: string | number): string => new Date(time).toISOString().slice(0, 10);
/** Times of providers compare as texts only in one form. @example isoOf('2026-01-31T09:00:00Z') // '2026-01-31T09:00:00.000Z' */
export const isoOf = (time: string): string => new Date(time).toISOString();
export const monthOf = (day: string): string => day.slice(0, 7);
/** Days since 1970-01-01. */
export const numberOf = (day: string): number => Date.parse(day) / DAY_MS;
export const dayNumbered = (number: number): string => dayOf(number * DAY_MS);
/** @example addDays('2028-02-28', 1) // '2028-02-29' */
export const addDays = (day: string, days: number): string => dayNumbered(numberOf(day) + days);
/** Months between two months: 0 for the same. @example monthsBetween('2025-11', '2026-02') // 3 */
export const monthsBetween = (from: string, to: string): number =>
  12 * (Number(to.slice(0, 4)) - Number(from.slice(0, 4))) + Number(to.slice(5)) - Number(from.slice(5));
/** @example addMonths('2026-01', -1) // '2025-12' */
export const addMonths = (month: string, months: number): string =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + months)).toISOString().slice(0, 7);

/** The later of two days, months or times, both in the same form. */
export const laterOf = (a: string, b: string): string => [a, b].sort()[1]!;
export const earlierOf = (a: string, b: string): string => [a, b].sort()[0]!;

export function eachDay({ from, to }: Days): string[] {
  const first = numberOf(from);
  return Array.from({ length: Math.max(0, numberOf(to) - first + 1) }, (_, n) => dayNumbered(first + n));
}

/**
 * The days of a period that ends on `today`. `first`: the first day that has a figure, null for none. `12m` is a whole year.
 * @example daysOf('7d', '2026-03-03', null) // { from: '2026-02-25', to: '2026-03-03' }
 */
export function daysOf(period: Period, today: string, first: string | null): Days {
  if (period === 'all') {
    const oldest = addDays(today, 1 - MAX_DAYS);
    // A first day after today comes from a clock that ran ahead.
    const from = first === null || first > today ? today : first;
    return { from: laterOf(from, oldest), to: today };
  }
  if (period !== '12m') return { from: addDays(today, 1 - DAYS_OF[period]), to: today };
  const year = Number(today.slice(0, 4)) - 1;
  // A year before 29 February there is none: 1 March takes its place.
  return { from: addDays(dayOf(Date.UTC(year, Number(today.slice(5, 7)) - 1, Number(today.slice(8)))), 1), to: today };
}
