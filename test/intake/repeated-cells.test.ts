// Small files that ask for much work: repeated cells, texts that many cells share, cells of many URLs. The tests count the work.
import test from 'ava';
import { openSheet } from '../../intake/open-sheet.ts';
import { slicedTexts } from '../../intake/sliced-texts.ts';
import { cellsOf, failureOf, ods, odsRow, open, upload, workbook } from './uploads.ts';

const A = 'https://a.example/1';
const LONG = `${A} ${`${'word'.repeat(25)} `.repeat(300)}`;
const repeated = (text: string, rows: number, columns = 1) =>
  `<table:table-row table:number-rows-repeated="${rows}"><table:table-cell table:number-columns-repeated="${columns}">` +
  `${text === '' ? '' : `<text:p>${text}</text:p>`}</table:table-cell></table:table-row>`;

test('a long cell that ODS repeats a million times is refused before any of its rows is read', async (t) => {
  const path = await upload(t, 'x', await ods(odsRow(A) + repeated(LONG, 1_000_000)));
  const sheet = await openSheet(path, 'x');
  let cells = 0;
  await t.throwsAsync(
    async () => {
      for await (const page of sheet.cells()) cells += page.length;
    },
    { code: 'inflated_too_large' },
  );
  t.true(cells <= 1, String(cells));
});

test('cells that ODS repeats over all columns without end are refused', async (t) => {
  const rows = repeated('none', 1, 16_384).repeat(1_000);
  t.is((await failureOf(t, 'x', await ods(rows))).code, 'inflated_too_large');
});

test('a URL that ODS repeats counts as so many rows, and a million empty rows cost nothing', async (t) => {
  const sheet = await open(t, 'x', await ods(repeated(A, 3_000, 2) + repeated('', 1_000_000, 16_384)));
  const cells = await cellsOf(sheet);
  t.is(cells.length, 3_000);
  t.deepEqual(cells.at(-1), { row: 3_000, value: A });
});

test('a long text that cells of XLSX share is refused when the cells exceed the limit of a list', async (t) => {
  const rows = '<row><c t="s"><v>0</v></c></row>'.repeat(8_000);
  const file = await workbook({ sheets: [rows], shared_strings: [`<t>${LONG}</t>`] });
  t.is((await failureOf(t, 'x', file)).code, 'inflated_too_large');
});

const READING = { has_notes: false, takes_names: true };
const MANY = Array.from({ length: 20_000 }, (_, i) => `https://a.example/${i}`);
for (const separator of [',', ', ', '\n', ' ', ';', '> <', '","']) {
  test(`a long cell of URLs with ${JSON.stringify(separator)} between them is read whole, in slices`, (t) => {
    const slices = [...slicedTexts(MANY.join(separator), READING)];
    t.deepEqual(
      slices.flat().map(({ value }) => value),
      MANY,
    );
    const most = slices.reduce((size, texts) => Math.max(size, texts.length), 0);
    t.true(most < 2_000, String(most));
  });
}

test('a long cell without a URL or without a separator is rejected as one text', (t) => {
  t.is([...slicedTexts('words '.repeat(100_000), READING)].flat().length, 1);
  t.is([...slicedTexts(`https://a.example/${'x'.repeat(1_000_000)}`, READING)].flat().length, 1);
  t.deepEqual([...slicedTexts(' '.repeat(100_000), READING)].flat(), []);
});
