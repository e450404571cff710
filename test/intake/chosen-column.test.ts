// The column that a client chooses, by header, letter or path, in each format that has columns.
import test from 'ava';
import { openSheet } from '../../intake/open-sheet.ts';
import { inlineRow, ods, odsRow, upload, workbook } from './uploads.ts';

const A = 'https://a.example/1';
const B = 'https://b.example/2';
const ROWS = [
  ['C', A, B],
  ['B', B, A],
];
const HEADER = ['shelf', 'page', 'from'];

const TABLES: Readonly<Record<string, (header: readonly string[]) => string | Promise<Buffer>>> = {
  CSV: (header) => [header, ...ROWS].map((row) => `${row.join(',')}\n`).join(''),
  'CSV with semicolons': (header) => [header, ...ROWS].map((row) => `${row.join(';')}\n`).join(''),
  'declared CSV': (header) => `sep=|\n${[header, ...ROWS].map((row) => `${row.join('|')}\n`).join('')}`,
  XLSX: (header) => workbook({ sheets: [[header, ...ROWS].map((row) => inlineRow(...row)).join('')] }),
  ODS: (header) => ods([header, ...ROWS].map((row) => odsRow(...row)).join('')),
  'JSON lines': (header) =>
    ROWS.map((row) => JSON.stringify(Object.fromEntries(header.map((name, i) => [name, row[i]])))).join('\n'),
};

for (const [format, make] of Object.entries(TABLES)) {
  test(`a header or a letter chooses a column of ${format}, whatever its cells hold`, async (t) => {
    const path = await upload(t, 'x', await make(HEADER));
    for (const [column, index, values] of [
      ['from', 2, [B, A]],
      [' FROM ', 2, [B, A]],
      ['c', 2, [B, A]],
      ['B', 1, [A, B]],
      ['A', 0, ['C', 'B']],
    ] as const) {
      const sheet = await openSheet(path, 'x', {}, { column });
      t.deepEqual(sheet.column, { index, name: HEADER[index]! }, column);
      t.deepEqual(sheet.warnings, []);
      const cells = (await Array.fromAsync(sheet.cells())).flat();
      t.deepEqual(
        cells.map(({ value }) => value),
        values,
        column,
      );
    }
  });

  test(`the refusal of a column that ${format} lacks names the columns that exist`, async (t) => {
    const path = await upload(t, 'x', await make(HEADER));
    for (const column of ['link', 'D', 'AAA', ' ']) {
      const error = await t.throwsAsync(openSheet(path, 'x', {}, { column }), { code: 'column_not_found' });
      t.regex(error!.message, /"shelf", "page", "from"/);
    }
  });
}

test('a path chooses a nested column of JSON', async (t) => {
  const path = await upload(t, 'x', JSON.stringify({ items: [{ page: { url: A, from: B } }] }));
  const sheet = await openSheet(path, 'x', {}, { column: 'items.page.from' });
  t.deepEqual((await Array.fromAsync(sheet.cells())).flat(), [{ row: 1, value: B }]);
});

test('a table without a header has columns by their letters', async (t) => {
  const path = await upload(t, 'x', `${A},${B}\n${B},${A}\n`);
  for (const [column, values] of [
    ['A', [A, B]],
    ['B', [B, A]],
  ] as const) {
    const cells = (await Array.fromAsync((await openSheet(path, 'x', {}, { column })).cells())).flat();
    t.deepEqual(
      cells.map(({ value }) => value),
      values,
    );
  }
});

test('HTML has no columns', async (t) => {
  const path = await upload(t, 'x', `<html><a href="${A}">a</a></html>`);
  const error = await t.throwsAsync(openSheet(path, 'x', {}, { column: 'A' }), { code: 'column_not_found' });
  t.regex(error!.message, /Leave `column` out/);
});

test('a sheet is chosen by its name, and other sheets with URLs are listed', async (t) => {
  const page = (n: number) => inlineRow('id', 'url') + inlineRow('1', `https://${n}.example/`);
  const path = await upload(t, 'x.xlsx', await workbook({ sheets: [inlineRow('hello'), page(1), page(2)] }));
  const others = ({ other_sheets }: Awaited<ReturnType<typeof openSheet>>) =>
    other_sheets?.map(({ sheet_name, index, name }) => [sheet_name, index, name]);
  const first = await openSheet(path, 'x.xlsx');
  t.deepEqual(
    [first.sheet_name, first.warnings, others(first)],
    ['Sheet 2', ['several_sheets'], [['Sheet 3', 1, 'url']]],
  );
  const chosen = await openSheet(path, 'x.xlsx', {}, { sheet: 'sheet 3' });
  t.deepEqual([chosen.sheet_name, chosen.warnings, others(chosen)], ['Sheet 3', [], [['Sheet 2', 1, 'url']]]);
  t.deepEqual((await Array.fromAsync(chosen.cells())).flat(), [{ row: 2, value: 'https://2.example/' }]);
  t.is(chosen.table!().sheet, 2);
  await t.throwsAsync(openSheet(path, 'x.xlsx', {}, { sheet: 'none' }), { message: /no sheet "none".*"Sheet 1"/ });
  const csv = await upload(t, 'x.csv', 'https://a.example/');
  await t.throwsAsync(openSheet(csv, 'x.csv', {}, { sheet: 'x' }), { message: /is no workbook/ });
});
