// Writes lines as CSV (RFC 4180), in UTF-8 with a byte order mark: without it, Excel reads the local code page.
import { breather } from '../../../time/event-loop.ts';
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
        text += csvField(line[place]!, delimiter);
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

/*
 * A quote protects only where a field begins. A spreadsheet with another list separator takes `1,"a;=1+1"` apart at the semicolon, so what
 * follows a separator must not begin like a formula either. A comma or a line break is common before a sign, in addresses and lists:
 * there a sign counts only before something that could call a program or a function.
 */
const SPLITS = /[;\t](?=[ "'\u00a0\u3000]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const MAY_SPLIT =
  /[,\r\n](?=[ "'\u00a0\u3000]*(?:[=@\uff1d\uff20]|[+\-\uff0b\uff0d][^,;\t\r\n(|!\uff08]*[(|!\uff08]))/g;

/**
 * A field of any CSV that the service and its commands write. `delimiter`: what separates the fields of the file.
 * @example csvField('https://a.example/;=1+1') // '"https://a.example/;\'=1+1"'
 */
export function csvField(cell: Cell | bigint, delimiter = ','): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  if (!QUOTED.test(cell)) return cell;
  const defused = (separator: string) => (separator === delimiter ? separator : `${separator}'`);
  const inert = cell.replace(SPLITS, defused).replace(MAY_SPLIT, defused);
  return `"${inert.replaceAll('"', '""')}"`;
}
