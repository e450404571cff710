// A time in the reader's zone, with UTC on hover.
const SAME_YEAR = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const OTHER_YEAR = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** `at`: ISO 8601, as the service writes times; a dash for null. */
export function Time({ at }: { at: string | null }) {
  if (at === null) return <>–</>;
  const date = new Date(at);
  const format = date.getFullYear() === new Date().getFullYear() ? SAME_YEAR : OTHER_YEAR;
  return (
    <time dateTime={at} title={`${at.slice(0, 19).replace('T', ' ')} UTC`}>
      {format.format(date)}
    </time>
  );
}
