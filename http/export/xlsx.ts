// Results as XLSX: a workbook of plain text, numbers and booleans (ECMA-376), written and zipped as it is read.
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { breather } from '../../intake/event-loop.ts';
import type { ResultDocument } from '../../readmodels/results.ts';
import { type Cell, COLUMNS } from './columns.ts';

/** What Excel takes: rows in a sheet, the header included, and characters in a cell. */
const MAX_ROWS = 1_048_576;
const MAX_CELL_CHARS = 32_767;
const CHUNK_CHARS = 64 * 1024;
/** Little more than half the time of the usual 6, for files that are a fifth larger. */
const COMPRESSION = { compressionLevel: 2 };

/** More results than `max_rows` (with the header) go on in a next sheet. */
export async function* xlsxOf(
  results: AsyncIterable<ResultDocument>,
  max_rows: number = MAX_ROWS,
): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  zip.on('error', (error: Error) => output.destroy(error));
  const written = write(zip, results, max_rows).catch((error: Error) => void output.destroy(error));
  try {
    yield* output as AsyncIterable<Buffer>;
  } finally {
    output.destroy();
    await written;
  }
}

async function write(zip: ZipFile, results: AsyncIterable<ResultDocument>, max_rows: number): Promise<void> {
  const rows = results[Symbol.asyncIterator]();
  let next = await rows.next();

  async function* sheet(): AsyncGenerator<string> {
    const breathe = breather();
    let text = `${SHEET_START}${rowXml(1, NAMES)}`;
    for (let row = 2; !next.done && row <= max_rows; row++) {
      await breathe();
      const result = next.value;
      text += rowXml(
        row,
        COLUMNS.map(({ cell }) => cell(result)),
      );
      if (text.length >= CHUNK_CHARS) {
        yield text;
        text = '';
      }
      next = await rows.next();
    }
    yield `${text}</sheetData></worksheet>`;
  }

  try {
    let sheets = 0;
    do {
      const source = Readable.from(sheet());
      // Who reads the workbook may go away: then nobody pulls on the sheet any more.
      zip.outputStream.once('close', () => source.destroy());
      zip.addReadStream(source, `xl/worksheets/sheet${++sheets}.xml`, COMPRESSION);
      await finished(source);
    } while (!next.done);
    for (const [path, xml] of Object.entries(partsOf(sheets))) zip.addBuffer(Buffer.from(xml), path);
    zip.end();
  } finally {
    await rows.return?.();
  }
}

const NAMES = COLUMNS.map(({ name }) => name);
/** `A` to `Z`: there are fewer columns than letters. */
const LETTERS = COLUMNS.map((_, place) => String.fromCharCode(65 + place));

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** The header stays in sight. */
const SHEET_START =
  `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">` +
  '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>' +
  COLUMNS.map(({ width }, n) => `<col min="${n + 1}" max="${n + 1}" width="${width}" customWidth="1"/>`).join('') +
  '</cols><sheetData>';

function rowXml(row: number, cells: readonly Cell[]): string {
  let xml = `<row r="${row}">`;
  for (let place = 0; place < cells.length; place++) xml += cellXml(`${LETTERS[place]}${row}`, cells[place]!);
  return `${xml}</row>`;
}

/** Text stands in its cell: a table of shared texts would have to be kept whole until the end. */
function cellXml(reference: string, cell: Cell): string {
  if (cell === null || cell === '') return '';
  if (typeof cell === 'number') return `<c r="${reference}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${reference}" t="b"><v>${cell ? 1 : 0}</v></c>`;
  return `<c r="${reference}" t="inlineStr"><is><t xml:space="preserve">${xmlText(cell)}</t></is></c>`;
}

const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Also characters that XML cannot hold, and text that looks like the escape that is used for them. */
const TO_ESCAPE = /[&<>\ufffe\uffff]|_(?=x[\dA-Fa-f]{4}_)|(?![\t\n])\p{Cc}/gu;

/** `_xHHHH_` is a character's escape in a spreadsheet (ECMA-376 part 1, 22.9.2.19). */
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
      each((n) => `<Relationship Id="rId${n}" Type="${OFFICE}/worksheet" Target="worksheets/sheet${n}.xml"/>`),
    ),
    '_rels/.rels': relationships(`<Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/>`),
    '[Content_Types].xml':
      `${XML}<Types xmlns="${PACKAGE}/content-types">` +
      '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
      `<Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/>` +
      `${each((n) => `<Override PartName="/xl/worksheets/sheet${n}.xml" ContentType="${TYPE}.worksheet+xml"/>`)}</Types>`,
  };
}

const relationships = (xml: string) => `${XML}<Relationships xmlns="${PACKAGE}/relationships">${xml}</Relationships>`;
