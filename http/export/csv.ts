// Writes lines as CSV (RFC 4180), in UTF-8 with a byte order mark: without it, Excel reads the local code page.
import { breather } from '../../time/event-loop.ts';
import type { Cell, Lines } from './columns.ts';

const BYTE_ORDER_MARK = '\ufeff';
const CHUNK_CHARS = 64 * 1024;

/** Yields the file in pieces of about 64 KiB. */
export async function* csvOf({ pages, delimiter }: Pick<Lines, 'pages' | 'delimiter'>): AsyncGenerator<string> {
  let text = BYTE_ORDER_MARK;
  const breathe = breather();
  for await (const page of pages) {
    for (const line of page) {
      for (let place = 0; place < line.length; place++) {
        if (place > 0) text += delimiter;
        text += csvField(line[place]!);
        // A row may have thousands of the longest cells.
        if (text.length < CHUNK_CHARS) continue;
        yield text;
        text = '';
      }
      text += '\r\n';
      const pause = breathe();
      if (pause) await pause;
    }
  }
  yield text;
}

/** Commas, semicolons and tabs: whichever is the list separator of the spreadsheet that opens the file, no text becomes two cells. */
const QUOTED = /[",;\t\r\n]/;

/**
 * A field of any CSV that the service and its commands write, whatever separates its fields.
 * @example csvField('https://a.example/;=1+1') // '"https://a.example/;=1+1"'
 */
export function csvField(cell: Cell | bigint): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  return QUOTED.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
