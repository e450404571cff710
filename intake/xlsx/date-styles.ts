// The styles of an XLSX workbook that show a number as a date or a time of day (ECMA-376 part 1, 18.8.30).
import { readPartWhole } from '../read-part.ts';
import { attributeOf } from '../xml.ts';
import type { ZipPackage } from '../zip-package.ts';

export interface DateStyles {
  /** The date or time that the cell shows, in ISO 8601 without a zone; null for a style that shows a number. */
  textOf(serial: number, style: number): string | null;
}

/** Excel accepts 65,490. */
const MAX_STYLES = 100_000;
/** Formats that every workbook has without naming them; the last ones are of East Asian locales. */
const BUILT_IN = [
  ...[14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 47],
  ...[27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58],
];
/** Quoted text, escaped characters and conditions or colours, none of which shows a part of a date. */
const LITERAL = /"[^"]*"|\\.|_.|\*.|\[[^\][]*\]/g;
/** Days from the beginning of both systems to 1970. Numbers below 60 are a day off, because 1900 is taken for a leap year. */
const EPOCH_1900 = 25_569;
const EPOCH_1904 = 24_107;
/** The last day of the year 9999. */
const MAX_SERIAL = 2_958_466;

export async function readDateStyles(
  workbook: ZipPackage,
  { styles, is_1904 }: { styles: string | null; is_1904: boolean },
): Promise<DateStyles> {
  const dates = new Set(BUILT_IN);
  /** Whether each style shows a date, by its number. */
  const shows_date: boolean[] = [];
  let is_of_cells = false;
  if (styles !== null) {
    await readPartWhole(workbook, styles, {
      open(name, attributes) {
        if (name === 'numFmt') {
          const id = Number(attributeOf(attributes, 'numFmtId'));
          if (isDateFormat(attributeOf(attributes, 'formatCode') ?? '')) dates.add(id);
          else dates.delete(id);
        } else if (name === 'cellXfs') is_of_cells = true;
        else if (name === 'xf' && is_of_cells && shows_date.length < MAX_STYLES) {
          shows_date.push(dates.has(Number(attributeOf(attributes, 'numFmtId'))));
        }
      },
      close(name) {
        if (name === 'cellXfs') is_of_cells = false;
      },
    });
  }
  return { textOf: (serial, style) => (shows_date[style] ? dateText(serial, is_1904) : null) };
}

/** A format of hours beyond a day, such as `[h]:mm`, shows a duration, which stays a number. */
export function isDateFormat(code: string): boolean {
  return !/\[[hms]+\]/i.test(code) && /[dmyhs]/i.test(code.replace(LITERAL, '').replace(/general/gi, ''));
}

function dateText(serial: number, is_1904: boolean): string | null {
  if (serial < 0 || serial > MAX_SERIAL) return null;
  const days = is_1904 ? serial - EPOCH_1904 : serial - EPOCH_1900 + (serial < 60 ? 1 : 0);
  const iso = new Date(Math.round(days * 86_400) * 1000).toISOString();
  const [date, time] = [iso.slice(0, 10), iso.slice(11, 19)];
  if (serial < 1 && !is_1904) return time;
  return time === '00:00:00' ? date : `${date} ${time}`;
}
