// Values of DuckDB as JSON has them.
import type { DuckDBDateValue, DuckDBResult, DuckDBTimestampValue, DuckDBValueConverter } from '@duckdb/node-api';

type DuckDb = typeof import('@duckdb/node-api');

/** A value as JSON has it. Numbers beyond JSON's are texts, times are ISO 8601, and maps are lists of keys and values. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

/** The rows of a result, in bunches. `zone` is the time zone of the session. */
export async function* rowsOf(
  { DuckDBTypeId: Id, JsonDuckDBValueConverter: toJson }: DuckDb,
  result: DuckDBResult,
  zone: string,
): AsyncGenerator<Value[][]> {
  const instant = textOfInstants(zone);
  const convert: DuckDBValueConverter<Value> = (value, type, converter) => {
    if (value === null) return null;
    switch (type.typeId) {
      case Id.BIGINT:
      case Id.UBIGINT:
      case Id.HUGEINT:
      case Id.UHUGEINT:
        return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
      case Id.DECIMAL:
        return decimal(value.toString());
      case Id.DATE:
        return infinity((value as DuckDBDateValue).days) ?? String(value);
      case Id.TIMESTAMP:
        return timeText(value as DuckDBTimestampValue, (time) => time.toISOString().slice(0, -1));
      case Id.TIMESTAMP_TZ:
        return timeText(value as DuckDBTimestampValue, instant);
      default:
        return toJson(value, type, converter as never) as Value;
    }
  };
  // Only the result's types say what is JSON.
  const are_json = result.columnTypes().map(({ alias }) => alias === 'JSON');
  const parsed = (value: Value, n: number): Value =>
    are_json[n] && value !== null ? (JSON.parse(value as string) as Value) : value;
  for await (const rows of result.yieldConvertedRows(convert)) {
    yield are_json.includes(true) ? rows.map((row) => row.map(parsed)) : rows;
  }
}

/** A number of JSON has 15 digits for sure. */
const decimal = (text: string): number | string => (text.replace(/\D/g, '').length > 15 ? text : Number(text));

const LAST_DAY = 2 ** 31 - 1;
const infinity = (days: number): string | undefined =>
  Math.abs(days) === LAST_DAY ? `${days < 0 ? '-' : ''}infinity` : undefined;

/** Years beyond those of JavaScript, and infinity, as DuckDB writes them. */
function timeText(value: DuckDBTimestampValue, text: (time: Date) => string): string {
  const { micros } = value;
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  const time = new Date(Number((micros - rest) / 1000n));
  if (Number.isNaN(time.getTime())) return String(value);
  return rest === 0n ? text(time) : text(time).replace(/\.\d{3}/, `$&${String(rest).padStart(3, '0')}`);
}

/**
 * Writes points in time with the offset that the zone has then, `Z` for UTC.
 * @example textOfInstants('Europe/Berlin')(new Date('2026-01-31T09:00:00Z')) // '2026-01-31T10:00:00.000+01:00'
 */
export function textOfInstants(zone: string): (time: Date) => string {
  if (/^(?:etc\/)?(?:utc|gmt|uct|zulu|universal)$/i.test(zone)) return (time) => time.toISOString();
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
  return (time) => {
    const offset = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(format.format(time))!;
    const [, sign = '+', hours = '00', minutes = '00'] = offset;
    const shift_minutes = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
    const local = new Date(time.getTime() + shift_minutes * 60_000).toISOString();
    return `${local.slice(0, -1)}${sign}${hours}:${minutes}`;
  };
}
