// Reads the cells of a sheet in the order of its file: shared, inline and rich texts, results of formulas, hyperlinks. A cell
// or row without a reference follows the previous one.

import { linkOfFormula, textWithLinks } from '../cell-links.ts';
import { readPart } from '../read-part.ts';
import { type CellValue, DateValue, type SheetHandlers } from '../workbook-sheet.ts';
import type { ZipPackage } from '../zip-package.ts';
import type { DateStyles } from './date-styles.ts';
import { MAX_CELL_CHARS, RichText } from './rich-text.ts';
import type { SharedStrings } from './shared-strings.ts';
import { type Hyperlinks, MAX_COLUMNS, parseReference } from './workbook.ts';

export interface SheetSource {
  xlsx: ZipPackage;
  part: string;
  strings: SharedStrings;
  links: Hyperlinks;
  max_url_chars: number;
  /** The styles of cells that show a number as a date; null to see the numbers. */
  dates: DateStyles | null;
}

/** The largest row that `parseReference` accepts, more than any spreadsheet has. */
const MAX_STATED_ROW = 9_999_999;

/** Calls the handlers for each non-empty cell and at the end of each row. Yields after each piece of the part. */
export async function* readWorksheet(source: SheetSource, handlers: SheetHandlers): AsyncGenerator<void> {
  const { max_url_chars } = source;
  const inline = new RichText(MAX_CELL_CHARS);
  let row = 0;
  let column = -1;
  let wanted = false;
  let type = '';
  let style = 0;
  let value = '';
  let formula = '';
  let inside = '';

  yield* readPart(source.xlsx, source.part, {
    open(name, attributes) {
      inside = name;
      if (name === 'row') {
        const stated = Number(attributes.r);
        row = Number.isInteger(stated) && stated > 0 && stated <= MAX_STATED_ROW ? stated : row + 1;
        column = -1;
      } else if (name === 'c') {
        column = parseReference(attributes.r ?? '')?.column ?? column + 1;
        wanted = handlers.column === null ? column < MAX_COLUMNS : column === handlers.column;
        type = attributes.t ?? 'n';
        style = Number(attributes.s ?? 0);
        value = formula = '';
        inline.start();
      } else {
        if (name === 'v' || name === 'is') handlers.filled?.(column);
        else if (name === 'f') formula = '=';
        inline.open(name);
      }
    },
    text(text) {
      if (!wanted) return;
      if (inside === 'v') value = append(value, text, MAX_CELL_CHARS);
      else if (inside === 'f') formula = append(formula, text, max_url_chars + HYPERLINK_ROOM);
      else inline.text(text);
    },
    close(name) {
      inside = '';
      inline.close(name);
      if (name === 'row') handlers.row?.(row);
      if (name !== 'c' || !wanted) return;
      wanted = false;
      const is_shared = type === 's' && value !== '';
      const shown = is_shared ? source.strings.get(Number(value)) : type === 'inlineStr' ? inline.value() : value;
      if (handlers.value) {
        if (shown !== '') handlers.value(row, column, shownValue(shown, type, style, source.dates));
        return;
      }
      const link = source.links.of(row, column) ?? linkOfFormula(formula);
      const text = link === null ? shown : textWithLinks(shown, [link], max_url_chars);
      if (text.trim() !== '') handlers.cell(row, column, text);
      // An empty result has a type; a program that calculates nothing leaves the type and the result out.
      else if (formula !== '' && type === 'n') handlers.cell(row, column, formula, 'uncalculated');
    },
  });
}

const HYPERLINK_ROOM = 32;

function shownValue(shown: string, type: string, style: number, dates: DateStyles | null): CellValue {
  if (type === 'b') return shown === '1';
  const number = type === 'n' && shown.trim() !== '' ? Number(shown) : Number.NaN;
  if (!Number.isFinite(number)) return shown;
  const date = dates?.textOf(number, style) ?? null;
  return date === null ? number : new DateValue(date);
}

/** Concatenates, and cuts one character after the limit. */
function append(value: string, text: string, max_chars: number): string {
  return value.length > max_chars ? value : (value + text).slice(0, max_chars + 1);
}
