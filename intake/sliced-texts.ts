// The texts of cells of any length: a long cell is read in slices, between which the caller may yield to the event loop.

import { breather } from '../time/event-loop.ts';
import { isAttempt, isPlain, urlsInCell } from './cell-urls.ts';
import type { Cell } from './sheet.ts';

/** A slice takes a few milliseconds. */
const SLICE_CHARS = 16 * 1024;
const PAGE_CELLS = 1_000;
const SEPARATOR = /[\s,;|<>"]/g;
const WHITE_SPACE = /\s/;

/** How the cells of a column are read. */
export interface CellReading {
  /** Whether words behind a URL are notes, because most cells of the column have some. */
  has_notes: boolean;
  /** Whether names without a scheme count as URLs; else they are rejected. */
  takes_names: boolean;
}

type Text = Omit<Cell, 'row' | 'column'>;

/**
 * The texts of a cell, some at a time. Of a cell longer than a slice, sentences without a URL are left out. `in_prose`: as for `urlsInCell`.
 */
export function* slicedTexts(cell: string, reading: CellReading, in_prose = false): Generator<readonly Text[]> {
  if (cell.length <= SLICE_CHARS) {
    const { texts, is_unclear, without_scheme = [] } = urlsInCell(cell, in_prose);
    if (is_unclear && !reading.has_notes) yield [{ value: cell, refused: 'space_in_url' }];
    else {
      yield texts.map((value) => textOf(value, reading));
      if (without_scheme.length > 0)
        yield without_scheme.map((value) => ({ value, refused: 'prefix_missing' as const }));
    }
    return;
  }
  let is_empty = true;
  for (let start = 0; start < cell.length; ) {
    const end = endOfSlice(cell, start);
    const slice = cell.slice(start, end);
    const texts = end - start > SLICE_CHARS ? [slice.trim()] : urlsInCell(slice, in_prose).texts;
    const urls = texts.filter((text) => text !== '' && !WHITE_SPACE.test(text));
    is_empty &&= urls.length === 0;
    yield urls.map((value) => textOf(value, reading));
    start = end;
  }
  const beginning = is_empty ? cell.slice(0, SLICE_CHARS).trim() : '';
  if (beginning !== '') yield [{ value: beginning }];
}

/** A dotted word of a column that takes no names is rejected, not taken for a URL. */
export function textOf(value: string, { takes_names }: CellReading): Text {
  return takes_names || isAttempt(value) || !value.includes('.') ? { value } : { value, refused: 'prefix_missing' };
}

/** Behind the last white space of the slice; else behind its last separator, or the next one. */
function endOfSlice(cell: string, start: number): number {
  const most = start + SLICE_CHARS;
  if (most >= cell.length) return cell.length;
  let separator = 0;
  for (let at = most - 1; at > start; at--) {
    const char = cell[at]!;
    if (WHITE_SPACE.test(char)) return at + 1;
    if (separator === 0 && ',;|>'.includes(char)) separator = at + 1;
  }
  if (separator > 0) return separator;
  SEPARATOR.lastIndex = most;
  const next = SEPARATOR.exec(cell);
  return next === null ? cell.length : next.index + 1;
}

/** The texts of cells in pages that stay small, however many URLs a cell has. Yields to the event loop. */
export async function* pagesOfTexts(cells: readonly Cell[], reading: CellReading): AsyncGenerator<Cell[]> {
  const breathe = breather();
  let page: Cell[] = [];
  for (const cell of cells) {
    const { value, refused, ...place } = cell;
    if (refused !== undefined) page.push(cell);
    else if (isPlain(value)) page.push({ ...place, ...textOf(value, reading) });
    else {
      for (const texts of slicedTexts(value, reading)) {
        for (const text of texts) page.push({ ...place, ...text });
        await breathe();
      }
    }
    if (page.length < PAGE_CELLS) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
