// A table that is read again, whole: the rows and cells that its owner sees.
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import Excel from 'exceljs';
import { DEFAULT_LIMITS } from '../../intake/limits.ts';
import { openSheet } from '../../intake/open-sheet.ts';
import { readTable } from '../../intake/read-table.ts';
import { DateValue } from '../../intake/workbook-sheet.ts';
import { isDateFormat } from '../../intake/xlsx/date-styles.ts';
import { ods, odsRow, upload } from './uploads.ts';

/** The rows as the intake's own description of the table leads to them. */
async function tableOf(t: ExecutionContext, name: string, content: string | Buffer) {
  const path = await upload(t, name, content);
  const sheet = await openSheet(path, name);
  const cells = (await Array.fromAsync(sheet.cells())).flat();
  const table = sheet.table!();
  const rows = (await Array.fromAsync(readTable(path, table, DEFAULT_LIMITS))).flat();
  return { table, rows: rows.map(({ row, cells: of_row }) => [row, ...of_row]), urls: cells.map(({ row }) => row) };
}

const A = 'https://a.example/1';

const date = (iso: string) => new DateValue(iso);

test('a CSV has all its rows and cells, empty lines and wide rows too', async (t) => {
  const { table, rows } = await tableOf(
    t,
    'a.csv',
    `Name,URL\r\nOne,${A}\r\n\r\n"Two, too",https://b.example/,x,y\r\n`,
  );
  t.deepEqual(table, { format: 'csv', delimiter: ',', sheet: null, column: 1, header_row: 1, width: 4 });
  t.deepEqual(rows, [
    [1, 'Name', 'URL'],
    [2, 'One', A],
    [3, ''],
    [4, 'Two, too', 'https://b.example/', 'x', 'y'],
  ]);
});

test('a CSV in UTF-16, with gzip or with a declared delimiter is read as at first', async (t) => {
  const text = `sep=;\r\nName;URL\r\nOne;${A}\r\n`;
  for (const content of [Buffer.from(`\ufeff${text}`, 'utf16le'), gzipSync(text), Buffer.from(text)]) {
    const { table, rows, urls } = await tableOf(t, 'a.csv', content);
    t.like(table, { delimiter: ';', header_row: 2, width: 2 });
    t.deepEqual(rows, [
      [2, 'Name', 'URL'],
      [3, 'One', A],
    ]);
    t.deepEqual(urls, [3]);
  }
});

test('quotes that are mere characters between tabs are read as at first', async (t) => {
  const text = 'n\turl\n5"\thttps://a.example/\n"x\thttps://b.example/\n';
  t.deepEqual((await tableOf(t, 'x.tsv', text)).rows, [
    [1, 'n', 'url'],
    [2, '5"', 'https://a.example/'],
    [3, '"x', 'https://b.example/'],
  ]);
});

test('a URL in a few remarks makes no prose of a table', async (t) => {
  const data = Array.from({ length: 30 }, (_, i) => {
    const remark = i % 9 === 0 ? 'siehe https://b.example/' : '';
    return `${i};"Bäckerei „Größe"" ${i}";;${A}?n=${i};1,10;${remark};`;
  });
  const lines = [
    '\ufeffExport vom 26.11.2026;;;;;;',
    ';;;;;;',
    'Nr.; Titel ;;Wo? (Link);Preis €;Link;"intern;alt"',
    ...data,
  ];
  for (const above of [0, 2]) {
    const { table, urls } = await tableOf(t, 'Liste.csv', lines.slice(above).join('\r\n'));
    t.like(table, { delimiter: ';', column: 3, width: 7 });
    t.deepEqual(
      urls.slice(-30),
      data.map((_, i) => 4 - above + i),
    );
  }
});

test('a list without columns is a table of one, without a header', async (t) => {
  const { table, rows } = await tableOf(t, 'a.txt', `${A}\nhttps://b.example/x,y\n`);
  t.deepEqual(table, { format: 'csv', delimiter: null, sheet: null, column: 0, header_row: null, width: 1 });
  t.deepEqual(rows, [
    [1, A],
    [2, 'https://b.example/x,y'],
  ]);
});

test('a workbook shows texts of links, numbers, truth values, dates and results of formulas', async (t) => {
  const workbook = new Excel.Workbook();
  workbook.addWorksheet('Cover').getCell('A1').value = 'Report';
  const sheet = workbook.addWorksheet('Data');
  sheet.getRow(3).values = ['Name', 'When', 'Link', 'Amount', 'Fine', 'Twice'];
  const when = new Date(Date.UTC(2026, 4, 1));
  sheet.getRow(4).values = ['x', when, { text: 'here', hyperlink: A }, -12.5, true, { formula: 'D4*2', result: -25 }];
  sheet.getRow(6).values = ['y', new Date(Date.UTC(2026, 4, 1, 12, 30)), 'https://b.example/', 45_000, false];
  for (const [row, format] of [
    [4, 'dd/mm/yyyy'],
    [6, 'yyyy-mm-dd hh:mm'],
  ] as const) {
    sheet.getRow(row).getCell(2).numFmt = format;
  }
  const { table, rows, urls } = await tableOf(t, 'a.xlsx', Buffer.from(await workbook.xlsx.writeBuffer()));
  t.deepEqual(table, { format: 'xlsx', delimiter: null, sheet: 1, column: 2, header_row: 3, width: 6 });
  t.deepEqual(rows, [
    [3, 'Name', 'When', 'Link', 'Amount', 'Fine', 'Twice'],
    [4, 'x', date('2026-05-01'), 'here', -12.5, true, -25],
    [6, 'y', date('2026-05-01 12:30:00'), 'https://b.example/', 45_000, false],
  ]);
  t.deepEqual(urls, [4, 6]);
});

test('an ODS has the rows that it repeats, and texts of links', async (t) => {
  const link = `<text:p><text:a xlink:href="${A}">here</text:a></text:p>`;
  const again = odsRow('two', '<text:p>https://b.example/</text:p>').replace(
    '<table:table-row',
    '<table:table-row table:number-rows-repeated="3"',
  );
  const { table, rows, urls } = await tableOf(t, 'a.ods', await ods(odsRow('n', 'url') + odsRow('one', link) + again));
  t.like(table, { format: 'ods', sheet: 0, column: 1, header_row: 1, width: 2 });
  t.deepEqual(rows, [
    [1, 'n', 'url'],
    [2, 'one', 'here'],
    ...[3, 4, 5].map((row) => [row, 'two', 'https://b.example/']),
  ]);
  t.deepEqual(urls, [2, 3, 4, 5]);
});

test('an ODS cell without a paragraph has the value of its attribute', async (t) => {
  const row = (...cells: string[]) =>
    `<table:table-row>${cells.map((value) => `<table:table-cell ${value}/>`).join('')}</table:table-row>`;
  const book = await ods(
    row('office:value-type="string" office:string-value="url"', 'office:string-value="found"', '') +
      row(`office:string-value="${A}"`, 'office:value-type="date" office:date-value="2026-01-31"', 'office:value="7"'),
  );
  const { rows, urls } = await tableOf(t, 'a.ods', book);
  t.deepEqual(rows, [
    [1, 'url', 'found'],
    [2, A, date('2026-01-31'), '7'],
  ]);
  t.deepEqual(urls, [2]);
});

test('an ODS cell that shows a number, a date or a truth value has that value', async (t) => {
  const cell = (attributes: string, shown: string) =>
    `<table:table-cell ${attributes}><text:p>${shown}</text:p></table:table-cell>`;
  const values =
    cell('office:value-type="currency" office:value="1234.5"', '1.234,50 €') +
    cell('office:value-type="percentage" office:value="0.25"', '25 %') +
    cell('office:value-type="date" office:date-value="2026-01-31"', '31.01.26') +
    cell('office:value-type="date" office:date-value="2026-01-31T12:30:00.000000000"', '31.01.26 12:30') +
    cell('office:value-type="time" office:time-value="PT08H05M00S"', '8:05') +
    cell('office:value-type="boolean" office:boolean-value="true"', 'WAHR') +
    cell('office:value-type="string"', '007');
  const book = await ods(
    odsRow('url', 'a', 'b', 'c', 'd', 'e', 'f', 'g') +
      odsRow(A, '@').replace(/<table:table-cell><text:p>@<.text:p><.table:table-cell>/, values),
  );
  const { rows } = await tableOf(t, 'a.ods', book);
  t.deepEqual(rows[1], [
    2,
    A,
    1234.5,
    0.25,
    date('2026-01-31'),
    date('2026-01-31 12:30:00'),
    date('08:05:00'),
    true,
    '007',
  ]);
});

test('formats of dates are told apart from formats of numbers and durations', (t) => {
  for (const format of ['yyyy-mm-dd', 'd. mmm', '[$-407]dddd', 'h:mm AM/PM', 'mm:ss'])
    t.true(isDateFormat(format), format);
  for (const format of ['0.00', '#,##0 "days"', 'General', '[h]:mm', '[Red]0', '0\\d', '@', '']) {
    t.false(isDateFormat(format), format);
  }
});

test('an ODS whose columns repeat a value is read whole, where intake reads its column of URLs', async (t) => {
  const repeated = '<table:table-cell table:number-columns-repeated="16383"><text:p>0</text:p></table:table-cell>';
  const link = (n: number) => `<table:table-cell><text:p>https://a.example/${n}</text:p></table:table-cell>`;
  const rows = Array.from({ length: 620 }, (_, n) => `<table:table-row>${link(n)}${repeated}</table:table-row>`);
  const path = await upload(t, 'a.ods', await ods(rows.join('')));
  const sheet = await openSheet(path, 'a.ods');
  for await (const _ of sheet.cells());
  let read = 0;
  for await (const page of readTable(path, sheet.table!(), DEFAULT_LIMITS)) read += page.length;
  t.is(read, 620);
});
