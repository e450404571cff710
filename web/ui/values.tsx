// Values for people: times in the reader's zone with UTC on hover, numbers, and spans of time.
import { decimalsOf } from './currencies.ts';

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

const GROUPED = new Intl.NumberFormat('en');
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

/** @example grouped(1234567) // '1,234,567'; a dash for null */
export const grouped = (value: number | null): string => (value === null ? '–' : GROUPED.format(value));

/** @example [1, 2].map((n) => counted(n, 'URL')) // ['1 URL', '2 URLs'] */
export const counted = (value: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(value)} ${value === 1 ? noun : plural}`;

/** @example percent(17, 420) // '4%'; of nothing it is 0 */
export const percent = (part: number, whole: number): string => PERCENT.format(whole === 0 ? 0 : part / whole);

/** @example shareOf(0.042) // '4.2%'; a dash for null */
export const shareOf = (share: number | null): string => (share === null ? '–' : PERCENT.format(share));

/** @example span(125_000) // '2 min 5 s'; a dash for null */
export function span(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return s % 60 === 0 ? `${min} min` : `${min} min ${s % 60} s`;
  const h = Math.floor(min / 60);
  return h < 48 ? `${h} h ${min % 60} min` : `${Math.floor(h / 24)} days`;
}

/** @example bytes(1_500_000) // '1.5 MB'; a dash for null */
export function bytes(size: number | null): string {
  if (size === null) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(size, 1)) / 3));
  return `${(size / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

/** Not every currency has cents. @example money(1_900, 'usd') // '$19' */
export function money(cents: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const format = new Intl.NumberFormat('en', {
    ...{ style: 'currency', currency, trailingZeroDisplay: 'stripIfInteger' },
    ...{ minimumFractionDigits: decimals, maximumFractionDigits: decimals },
  });
  return format.format(cents / 10 ** decimals);
}
