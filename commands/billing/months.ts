// Months of the calendar in UTC, as providers count the periods of a subscription.

/**
 * Returns the same day and time `months` later (earlier when negative), or the last day of a month that has no such day.
 * @example addMonths('2028-01-31T09:00:00.000Z', 1) // '2028-02-29T09:00:00.000Z'
 */
export function addMonths(time: string, months: number): string {
  const moved = new Date(time);
  const day = moved.getUTCDate();
  moved.setUTCDate(1);
  moved.setUTCMonth(moved.getUTCMonth() + months);
  const last_day = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(day, last_day));
  return moved.toISOString();
}
