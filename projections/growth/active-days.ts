// When a user counts as active: pure functions of the days on which they created jobs.
import { dayNumbered, monthOf, numberOf } from '../../readmodels/growth/calendar.ts';
import { ACTIVE_WINDOWS, type ActiveWindow } from '../../readmodels/growth/growth.ts';

/** A job this many days before the user's last active day still counts. Only a clock that was set back makes an older one. */
const LATE_DAYS = 31;
/** Days that are kept before the last one: those that decide on a late job. */
const KEPT_DAYS = 2 * LATE_DAYS;

export interface Activity {
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
export function activityOf(active_days: readonly number[], day: string): Activity | null {
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
