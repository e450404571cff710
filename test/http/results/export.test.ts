// Exported files as their readers see them: columns, types, names, and what a spreadsheet would run.
import { buffer, text } from 'node:stream/consumers';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import Excel from 'exceljs';
import { csvLine } from '../../../cli/ops/events-text.ts';
import { COLUMNS, inert, resultsTable } from '../../../http/results/export/columns.ts';
import { csvField, csvOf } from '../../../http/results/export/csv.ts';
import { attachment, exportFilename } from '../../../http/results/export/file-name.ts';
import { xlsxOf } from '../../../http/results/export/xlsx.ts';
import type { Place } from '../../../http/results/result-place.ts';
import { lettersOfColumn } from '../../../intake/find-column.ts';
import { DateValue } from '../../../intake/workbook-sheet.ts';
import type { ResultDocument } from '../../../readmodels/results/results.ts';
import { result } from '../../support/result-document.ts';

const NAMES = COLUMNS.map(({ name }) => name);

async function* some(rows: readonly ResultDocument[]): AsyncGenerator<(ResultDocument & Place)[]> {
  for (const row of rows) yield [{ ...row, row: row.index + 2, cell: `A${row.index + 2}` }];
}

async function csvRows(rows: readonly ResultDocument[]): Promise<Record<string, string>[]> {
  return parse(await text(csvOf(resultsTable(some(rows)))), { bom: true, columns: true });
}

async function sheetsOf(rows: readonly ResultDocument[], max_rows?: number): Promise<Excel.Worksheet[]> {
  const workbook = new Excel.Workbook();
  await workbook.xlsx.load((await buffer(xlsxOf(resultsTable(some(rows)), max_rows))) as never);
  return workbook.worksheets;
}

/** The cells of a row by their column's name. */
function cells(sheet: Excel.Worksheet, row: number): Record<string, Excel.CellValue> {
  return Object.fromEntries(NAMES.map((name, n) => [name, sheet.getRow(row).getCell(n + 1).value]));
}

const HOSTILE = [
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '"=1+1"',
  `' =1`,
  '  =1',
  '＝1+1',
  '=cmd|\' /C calc\'!A0","=2',
];

test('CSV has a byte order mark, a header, CRLF lines, and every kind of value', async (t) => {
  const rows = [
    result(0, { url: 'https://example.com/a,"b"\nc', redirect_chain: ['https://a.example/', 'https://b.example/'] }),
    result(1, { url: 'https://münchen.example/ß', status_code: null, final_url: null, is_broken: true }),
  ];
  const csv = await text(csvOf(resultsTable(some(rows))));
  t.is(csv[0], '\ufeff');
  t.true(csv.slice(1).startsWith(`${NAMES.join(',')}\r\n`));
  t.true(csv.endsWith('\r\n'));
  const [first, second] = await csvRows(rows);
  t.deepEqual(first, {
    url: 'https://example.com/a,"b"\nc',
    status_code: '200',
    verdict: 'ok',
    is_broken: 'false',
    is_soft_404: 'false',
    error_code: '',
    final_url: 'https://example.com/0',
    redirect_chain: 'https://a.example/ https://b.example/',
    response_time_ms: '12',
    content_type: 'text/html',
    protection: '',
    attempts: '1',
    temporary: 'false',
    tried_ms: '',
    redirect_statuses: '',
    redirect_kind: '',
    row: '2',
    cell: 'A2',
  });
  t.like(second, { url: 'https://münchen.example/ß', status_code: '', final_url: '', is_broken: 'true' });
});

test('a file without results holds its header alone', async (t) => {
  t.is(await text(csvOf(resultsTable(some([])))), `\ufeff${NAMES.join(',')}\r\n`);
  const [sheet] = await sheetsOf([]);
  t.deepEqual([sheet!.rowCount, cells(sheet!, 1).url], [1, 'url']);
});

test('an export keeps formulas as text, and numbers as numbers', async (t) => {
  const rows = HOSTILE.map((content_type, index) => result(index, { content_type, response_time_ms: -1 }));
  const harmless = result(HOSTILE.length, { content_type: 'text/x-a=b+c-d@e' });
  const parsed = await csvRows([...rows, harmless]);
  t.deepEqual(
    parsed.map((row) => row.content_type),
    // Of a reader with another separator, a line break begins a line.
    [...HOSTILE.map((cell) => `'${cell.replace(/[\t\r\n](?==)/, "$&'")}`), harmless.content_type],
  );
  t.is(parsed[0]!.response_time_ms, '-1');
  const [sheet] = await sheetsOf([...rows, harmless]);
  for (const [n, cell] of HOSTILE.entries()) {
    const row = cells(sheet!, n + 2);
    t.is(row.content_type, `'${cell.replace('\r', '_x000D_')}`, 'a text, in which a CR is written as its escape');
    t.is(row.response_time_ms, -1);
  }
});

test('XLSX holds text, numbers, booleans and empty cells', async (t) => {
  const odd = 'https://example.com/?a=<b>&c="d" \u0001_x0041_\ud800';
  const rows = [result(0, { url: odd, is_broken: true, final_url: null, status_code: null })];
  const [sheet] = await sheetsOf(rows);
  t.is(sheet!.name, 'Results');
  t.like(cells(sheet!, 2), {
    url: 'https://example.com/?a=<b>&c="d" _x0001__x005F_x0041_\ufffd',
    is_broken: true,
    final_url: null,
    status_code: null,
    attempts: 1,
    verdict: 'ok',
  });
});

test('XLSX cuts a text that is too long for a cell, and CSV keeps it', async (t) => {
  const url = `https://example.com/${'x'.repeat(40_000)}`;
  const [sheet] = await sheetsOf([result(0, { url })]);
  const cut = cells(sheet!, 2).url as string;
  t.deepEqual([cut.length, cut.at(-1)], [32_767, '…']);
  t.is((await csvRows([result(0, { url })]))[0]!.url, url);
});

test('XLSX continues a full sheet in another one with its own header', async (t) => {
  const rows = Array.from({ length: 25 }, (_, index) => result(index));
  const sheets = await sheetsOf(rows, 11);
  t.deepEqual(
    sheets.map((sheet) => [sheet.name, sheet.rowCount]),
    [
      ['Results', 11],
      ['Results 2', 11],
      ['Results 3', 6],
    ],
  );
  t.deepEqual(
    sheets.map((sheet) => [cells(sheet, 1).url, cells(sheet, 2).url]),
    [0, 10, 20].map((index) => ['url', `https://example.com/${index}`]),
  );
  t.is((await sheetsOf(rows.slice(0, 20), 11)).length, 2);
});

test('each sheet of XLSX can be filtered by its header', async (t) => {
  const rows = Array.from({ length: 12 }, (_, index) => result(index));
  const refs = (await sheetsOf(rows, 11)).map(({ autoFilter }) => autoFilter);
  const last = lettersOfColumn(NAMES.length - 1);
  t.deepEqual(refs, [`A1:${last}11`, `A1:${last}3`]);
});

test('an exported file gets a safe name from the uploaded one', (t) => {
  const names: [string | null, string][] = [
    ['urls.csv', 'urls-results.csv'],
    ['My list.2026.xlsx', 'My list.2026-results.csv'],
    ['../../etc/passwd', 'passwd-results.csv'],
    ['C:\\Users\\me\\links.csv', 'links-results.csv'],
    ['a"b\r\nSet-Cookie: x=1.csv', 'a_b_Set-Cookie_ x=1-results.csv'],
    ['Übersicht 网址 😀.csv', 'Übersicht 网址 😀-results.csv'],
    ['invoice\u202efdp.csv', 'invoice_fdp-results.csv'],
    ['\ud800.csv', '�-results.csv'],
    ['...', 'results.csv'],
    ['', 'results.csv'],
    [null, 'results.csv'],
    ['x'.repeat(500), `${'x'.repeat(100)}-results.csv`],
  ];
  for (const [uploaded, expected] of names) t.is(exportFilename(uploaded, 'csv'), expected, String(uploaded));
  t.is(exportFilename('urls.csv', 'xlsx', 'with-results'), 'urls-with-results.xlsx');
});

test('Content-Disposition has the name in ASCII and in UTF-8', (t) => {
  t.is(attachment('urls-results.csv'), `attachment; filename="urls-results.csv"; filename*=UTF-8''urls-results.csv`);
  t.is(
    attachment(`Ü'(1)*%"\\.csv`),
    `attachment; filename="_'(1)*___.csv"; filename*=UTF-8''%C3%9C%27%281%29%2A%25%22%5C.csv`,
  );
});

const SEPARATORS = [';', '\t', ',', '"', '\n', '\r'];

test('a text with a separator of any list, a tab or a quote is quoted, in exports and in lines of events', (t) => {
  for (const each of SEPARATORS) {
    const cell = `https://a.example/${each}page`;
    const quoted = `"${cell.replaceAll('"', '""')}"`;
    t.is(csvField(cell), quoted);
    t.is(csvLine([1, cell, true]), `1,${quoted},true\n`);
  }
  t.is(csvField('https://a.example/b c'), 'https://a.example/b c');
});

test('whatever separates the lists of a spreadsheet, no field of a line becomes a formula', (t) => {
  const formulas = [
    "=cmd|' /C calc'!A0",
    '=1+1',
    '"=1+1',
    " '@SUM(1)",
    '\u3000\uff1d1+1',
    "-cmd|' /C calc'!A0",
    '+HYPERLINK("x")',
  ];
  for (const delimiter of [',', ';', '\t']) {
    for (const each of SEPARATORS) {
      for (const formula of formulas) {
        const line = ['first', `a${each}${formula}`, `${each}${formula}`, 'last'].map((cell) =>
          csvField(inert(cell), delimiter),
        );
        for (const of_reader of [',', ';', '\t']) {
          const options = { delimiter: of_reader, relax_quotes: true, relax_column_count: true };
          for (const cell of (parse(line.join(delimiter), options) as string[][]).flat()) {
            t.notRegex(cell, /^[\s"]*[=+\-@\uff1d]/, JSON.stringify([delimiter, of_reader, each, formula, line]));
          }
        }
      }
    }
  }
});

test('what calls nothing stays as it is', (t) => {
  t.is(csvField('https://a.example/seite,-12.html'), '"https://a.example/seite,-12.html"');
  t.is(csvField('https://a.example/seite,-12.html', ';'), '"https://a.example/seite,-12.html"');
  t.is(csvField('to do:\n- links\n- pages'), '"to do:\n- links\n- pages"');
  t.is(csvField('a;=1', ';'), '"a;=1"', 'the separator of the file is protected by the quotes');
});

test('a workbook shows dates and times of day as dates', async (t) => {
  const isos = ['2026-01-31', '2026-01-31 12:30:00', '08:05', '1900-01-15'];
  async function* pages() {
    yield [['when']];
    yield isos.map((iso) => [new DateValue(iso)]);
  }
  const workbook = new Excel.Workbook();
  await workbook.xlsx.load((await buffer(xlsxOf({ pages: pages(), widths: new Map() }))) as never);
  const cells = isos.map((_, i) => workbook.worksheets[0]!.getRow(i + 2).getCell(1));
  t.deepEqual(
    cells.map(({ value }) => (value instanceof Date ? value.toISOString() : value)),
    ['2026-01-31T00:00:00.000Z', '2026-01-31T12:30:00.000Z', '1899-12-30T08:05:00.000Z', '1900-01-15'],
  );
  t.deepEqual(
    cells.map(({ numFmt }) => numFmt),
    ['mm-dd-yy', 'm/d/yy "h":mm', 'h:mm', undefined],
  );
});
