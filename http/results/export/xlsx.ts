// Writes lines as XLSX: a workbook of text, numbers, booleans and dates (ECMA-376), zipped while its client reads it.
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { lettersOfColumn } from '../../../intake/find-column.ts';
import { breather } from '../../../time/event-loop.ts';
import type { Cell, Line, Lines } from './columns.ts';

/** Excel's limits: rows in a sheet, with the head, and characters in a cell. */
const MAX_ROWS = 1_048_576;
const MAX_CELL_CHARS = 32_767;
const CHUNK_CHARS = 64 * 1024;
/** More rows would fill the screen. */
const MAX_FROZEN_ROWS = 10;
/** Level 2 takes little more than half the time of level 6, for files that are a fifth larger. */
const COMPRESSION = { compressionLevel: 2 };

/** Yields the workbook. After `max_rows` rows, with the head, it begins another sheet. */
export async function* xlsxOf(
  lines: Pick<Lines, 'pages' | 'widths'>,
  max_rows: number = MAX_ROWS,
): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  zip.on('error', (error: Error) => output.destroy(error));
  const written = write(zip, lines, max_rows).catch((error: Error) => void output.destroy(error));
  try {
    yield* output as AsyncIterable<Buffer>;
  } finally {
    output.destroy();
    await written;
  }
}

async function write(
  zip: ZipFile,
  { pages, widths }: Pick<Lines, 'pages' | 'widths'>,
  max_rows: number,
): Promise<void> {
  const iterator = pages[Symbol.asyncIterator]();
  try {
    const first = await iterator.next();
    const head: readonly Line[] = first.done ? [] : first.value;
    const start = sheetStart(head.length, widths);
    const columns = head.at(-1)?.length ?? 0;
    /** The buttons of the last line of the head, which filter the rows below it. */
    const filter = (last_row: number) =>
      columns === 0 ? '' : `<autoFilter ref="A${head.length}:${lettersOf(columns - 1)}${last_row}"/>`;
    let page: readonly Line[] = [];
    let at = 0;
    let is_end = first.done === true;
    /** Gets the next page when the lines of this one are written. */
    const fill = async () => {
      while (at === page.length && !is_end) {
        const next = await iterator.next();
        is_end = next.done === true;
        [page, at] = [next.done ? [] : next.value, 0];
      }
    };
    await fill();

    async function* sheet(): AsyncGenerator<string> {
      const breathe = breather();
      let text = start;
      let row = 1;
      /** Yields in the middle of a row too, which may have thousands of the longest cells. */
      function* add(line: Line): Generator<string> {
        text += `<row r="${row}">`;
        for (let place = 0; place < line.length; place++) {
          text += cellXml(`${lettersOf(place)}${row}`, line[place]!);
          if (text.length < CHUNK_CHARS) continue;
          yield text;
          text = '';
        }
        text += '</row>';
        row++;
      }
      for (const line of head) for (const piece of add(line)) yield piece;
      while (at < page.length && row <= max_rows) {
        for (const piece of add(page[at++]!)) yield piece;
        const pause = breathe();
        if (pause) await pause;
        if (at === page.length) await fill();
      }
      yield `${text}</sheetData>${filter(row - 1)}</worksheet>`;
    }

    let sheets = 0;
    do {
      const source = Readable.from(sheet());
      // When the workbook's reader leaves, nobody reads this sheet either.
      zip.outputStream.once('close', () => source.destroy());
      zip.addReadStream(source, `xl/worksheets/sheet${++sheets}.xml`, COMPRESSION);
      await finished(source);
    } while (at < page.length);
    for (const [path, xml] of Object.entries(partsOf(sheets))) zip.addBuffer(Buffer.from(xml), path);
    zip.end();
  } finally {
    await iterator.return?.();
  }
}

const letters: string[] = [];
/** The letters of a column, which every row asks for. */
const lettersOf = (place: number): string => (letters[place] ??= lettersOfColumn(place));

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** The start of a sheet. Its frozen pane keeps the head in sight. */
function sheetStart(head_rows: number, widths: Lines['widths']): string {
  const pane =
    head_rows === 0 || head_rows > MAX_FROZEN_ROWS
      ? ''
      : `<pane ySplit="${head_rows}" topLeftCell="A${head_rows + 1}" activePane="bottomLeft" state="frozen"/>`;
  const columns = [...widths].map(
    ([place, width]) => `<col min="${place + 1}" max="${place + 1}" width="${width}" customWidth="1"/>`,
  );
  return (
    `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">${pane}</sheetView></sheetViews>` +
    `<cols>${columns.join('')}</cols><sheetData>`
  );
}

/** The XML of a cell with its text inline: a table of shared strings would stay in memory until the end. */
function cellXml(reference: string, cell: Cell): string {
  if (cell === null || cell === '') return '';
  if (typeof cell === 'number') return `<c r="${reference}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${reference}" t="b"><v>${cell ? 1 : 0}</v></c>`;
  if (typeof cell === 'string') return textXml(reference, cell);
  const serial = serialOf(cell.iso);
  if (serial === null) return textXml(reference, cell.iso);
  const style = !cell.iso.includes('-') ? TIME_STYLE : cell.iso.includes(':') ? DATE_TIME_STYLE : DATE_STYLE;
  return `<c r="${reference}" s="${style}"><v>${serial}</v></c>`;
}

const textXml = (reference: string, text: string): string =>
  `<c r="${reference}" t="inlineStr"><is><t xml:space="preserve">${xmlText(text)}</t></is></c>`;

/** The styles of cells, by their places in the part of styles, and the formats that Excel has for them. */
const [DATE_STYLE, DATE_TIME_STYLE, TIME_STYLE] = [1, 2, 3];
const FORMATS = [0, 14, 22, 20];
/** Days before 1970 in the system of 1900. Its first two months are a day off, so that dates in them stay texts. */
const EPOCH = 25_569;
const FIRST_SERIAL = 61;

/** The number that a spreadsheet shows as a date or a time of day; null for one that it has no number for. */
function serialOf(iso: string): number | null {
  if (!iso.includes('-')) {
    const [hours = 0, minutes = 0, seconds = 0] = iso.split(':').map(Number);
    return (hours * 3_600 + minutes * 60 + seconds) / 86_400;
  }
  const serial = Date.parse(`${iso.replace(' ', 'T')}${iso.includes(':') ? 'Z' : ''}`) / 86_400_000 + EPOCH;
  return serial >= FIRST_SERIAL ? serial : null;
}

const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Markup, characters that XML cannot hold, and text that looks like the escape for them. */
const TO_ESCAPE = /[&<>\ufffe\uffff]|_(?=x[\dA-Fa-f]{4}_)|(?![\t\n])\p{Cc}/gu;

/** Escapes text for a cell. A spreadsheet reads `_xHHHH_` as a character (ECMA-376 part 1, 22.9.2.19). */
function xmlText(text: string): string {
  const whole = text.length <= MAX_CELL_CHARS ? text : `${text.slice(0, MAX_CELL_CHARS - 1)}…`;
  return whole
    .toWellFormed()
    .replace(TO_ESCAPE, (c) => MARKUP[c] ?? `_x${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`);
}

function partsOf(sheets: number): Record<string, string> {
  const numbers = Array.from({ length: sheets }, (_, n) => n + 1);
  const each = (xml: (n: number) => string) => numbers.map(xml).join('');
  return {
    'xl/workbook.xml':
      `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>` +
      `${each((n) => `<sheet name="Results${n === 1 ? '' : ` ${n}`}" sheetId="${n}" r:id="rId${n}"/>`)}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships(
      each((n) => `<Relationship Id="rId${n}" Type="${OFFICE}/worksheet" Target="worksheets/sheet${n}.xml"/>`) +
        `<Relationship Id="styles" Type="${OFFICE}/styles" Target="styles.xml"/>`,
    ),
    'xl/styles.xml':
      `${XML}<styleSheet xmlns="${MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>` +
      `<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="${FORMATS.length}">` +
      `${FORMATS.map((format) => `<xf numFmtId="${format}" applyNumberFormat="1"/>`).join('')}</cellXfs></styleSheet>`,
    '_rels/.rels': relationships(`<Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/>`),
    '[Content_Types].xml':
      `${XML}<Types xmlns="${PACKAGE}/content-types">` +
      '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
      `<Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/>` +
      `<Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/>` +
      `${each((n) => `<Override PartName="/xl/worksheets/sheet${n}.xml" ContentType="${TYPE}.worksheet+xml"/>`)}</Types>`,
  };
}

const relationships = (xml: string) => `${XML}<Relationships xmlns="${PACKAGE}/relationships">${xml}</Relationships>`;
