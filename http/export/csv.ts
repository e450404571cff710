// Writes results as CSV (RFC 4180), in UTF-8 with a byte order mark: without it, Excel reads the local code page.
import { breather } from '../../intake/event-loop.ts';
import { type Cell, COLUMNS, type Exported } from './columns.ts';

const BYTE_ORDER_MARK = '\ufeff';
const CHUNK_CHARS = 64 * 1024;

/** Yields the file in pieces of about 64 KiB. */
export async function* csvOf(results: AsyncIterable<Exported>): AsyncGenerator<string> {
  let text = `${BYTE_ORDER_MARK}${COLUMNS.map(({ name }) => name).join(',')}\r\n`;
  const breathe = breather();
  for await (const result of results) {
    await breathe();
    text += lineOf(result);
    if (text.length < CHUNK_CHARS) continue;
    yield text;
    text = '';
  }
  yield text;
}

const lineOf = (result: Exported): string => `${COLUMNS.map(({ cell }) => field(cell(result))).join(',')}\r\n`;

function field(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
