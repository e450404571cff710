// Finds the column of a table that holds the URLs, and the end of its header. The cells decide; the header breaks ties.
import { urlLikeness } from './classify-url.ts';

export interface SampleRow {
  /** Number of the row as in a spreadsheet, from 1. */
  row: number;
  cells: readonly string[];
}

export interface UrlColumn {
  /** Index of the column, from 0. */
  index: number;
  /** The column's header; null without a header. */
  name: string | null;
  first_data_row: number;
  /** Share of rows with a URL in this column, 0 to 1; a URL without `https://` counts half. */
  url_share: number;
  /** Number of cells in the header; 0 without a header. */
  header_width: number;
}

const COLUMN_NAMES = new Set(
  (
    'url,urls,uri,link,links,href,website,websites,web site,site,sites,page,pages,page url,web page,webpage,landing page,' +
    'landing page url,website url,target url,source url,final url,full url,link url,url to check,address,web address,' +
    'domain,domains,homepage,location,loc,destination,adresse,webseite,lien,enlace,sitio web'
  ).split(','),
);
const LABEL = /^\p{L}[\p{L}\p{M}\p{N} _()#-]{0,63}$/u;

/**
 * Returns the column with the largest share of URLs. Among equals a column with a name such as `url` wins, then the leftmost.
 * If no cell is a URL, it returns the column with such a name, or the only column, else null.
 */
export function findUrlColumn(rows: readonly SampleRow[], max_url_chars: number): UrlColumn | null {
  const totals: number[] = [];
  const first_url: number[] = [];
  let width = 0;
  for (const [position, { cells }] of rows.entries()) {
    width = Math.max(width, cells.length);
    for (const [index, cell] of cells.entries()) {
      const likeness = cellLikeness(cell, max_url_chars);
      if (likeness === 0) continue;
      totals[index] = (totals[index] ?? 0) + likeness;
      first_url[index] ??= position;
    }
  }
  const most = totals.reduce((a, b) => Math.max(a, b), 0);
  if (most === 0) return byNameAlone(rows, width);

  let best: UrlColumn | null = null;
  for (const [index, total] of totals.entries()) {
    if (total !== most) continue;
    const column = describe(rows, index, first_url[index]!, width, total / rows.length);
    if (best === null || (isColumnName(column.name ?? '') && !isColumnName(best.name ?? ''))) best = column;
  }
  return best;
}

/** Stricter than `urlLikeness`: a URL with a space in it says nothing about the column. */
function cellLikeness(cell: string, max_url_chars: number): number {
  const text = cell.trim();
  return text === '' || text.includes(' ') ? 0 : urlLikeness(text, max_url_chars);
}

function describe(
  rows: readonly SampleRow[],
  index: number,
  first_url: number,
  width: number,
  url_share: number,
): UrlColumn {
  const above = rows.slice(0, first_url);
  const cellOf = (row: SampleRow) => row.cells[index]?.trim() ?? '';
  // The first line of a list may be a bad URL, so only a table's header may have any name.
  const header =
    above.find((row) => isColumnName(cellOf(row))) ??
    above.slice(0, 1).find((row) => width > 1 && LABEL.test(cellOf(row)));
  return {
    index,
    name: header ? cellOf(header) : null,
    first_data_row: header ? header.row + 1 : 1,
    url_share,
    header_width: header?.cells.length ?? 0,
  };
}

function byNameAlone(rows: readonly SampleRow[], width: number): UrlColumn | null {
  for (const { row, cells } of rows) {
    const index = cells.findIndex(isColumnName);
    if (index === -1) continue;
    const name = cells[index]!.trim();
    return { index, name, first_data_row: row + 1, url_share: 0, header_width: cells.length };
  }
  return width === 1 ? { index: 0, name: null, first_data_row: 1, url_share: 0, header_width: 0 } : null;
}

function isColumnName(cell: string): boolean {
  return COLUMN_NAMES.has(
    cell
      .trim()
      .toLowerCase()
      .replace(/[\s_-]+/g, ' '),
  );
}
