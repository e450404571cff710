import test from 'ava';
import Excel from 'exceljs';
import { readWorkbook } from '../../intake/xlsx/workbook.ts';
import { ZipPackage } from '../../intake/zip-package.ts';
import { cellsOf, failureOf, inlineRow, open, upload, valuesOf, workbook, zip } from './uploads.ts';

const A = 'https://a.example/1';
const B = 'https://b.example/2';

test('the reader reads workbooks of spreadsheet programs under any file name', async (t) => {
  const book = new Excel.Workbook();
  const sheet = book.addWorksheet('Links');
  sheet.addRow(['name', 'target', 'n']);
  sheet.addRow(['one', A, 1]);
  sheet.addRow(['two', { text: 'second', hyperlink: B }, 2]);
  sheet.addRow(['three', { formula: 'B2', result: 'https://c.example/' }, 3]);
  sheet.addRow(['four', { richText: [{ text: 'https://d.' }, { text: 'example/', font: { bold: true } }] }, 4]);
  sheet.addRow(['five', null, 5]);
  const opened = await open(t, 'export.csv', Buffer.from(await book.xlsx.writeBuffer()));
  t.like(opened, { format: 'xlsx', sheet_name: 'Links', column: { index: 1, name: 'target' }, delimiter: null });
  t.deepEqual(await cellsOf(opened), [
    { row: 2, value: A },
    { row: 3, value: B },
    { row: 4, value: 'https://c.example/' },
    { row: 5, value: 'https://d.example/' },
  ]);
});

test('a shared string joins its runs, without phonetic ones, and is unescaped', async (t) => {
  const book = await workbook({
    sheets: [
      '<row><c t="s"><v>0</v></c></row><row><c t="s"><v>1</v></c></row><row><c t="s"><v>9</v></c><c t="s"/></row>',
    ],
    shared_strings: [
      '<r><t>https://a.</t></r><r><rPr><b/></rPr><t xml:space="preserve">example/1</t></r><rPh sb="0" eb="1"><t>no</t></rPh>',
      '<t>https://b.example/?x=1&amp;y=_x005F_x0041_&#x20AC;</t>',
    ],
  });
  t.deepEqual(await valuesOf(t, 'x.xlsx', book), [A, 'https://b.example/?x=1&y=_x0041_€']);
});

test('cells and rows without a reference follow the previous ones', async (t) => {
  const book = await workbook({
    sheets: [
      `<row><c><v>1</v></c><c t="str"><v>${A}</v></c></row>` +
        `<row r="7"><c r="B7" t="str"><v>${B}</v></c></row><row><c/><c t="inlineStr"><is><t>${A}</t></is></c></row>`,
    ],
  });
  const sheet = await open(t, 'x.xlsx', book);
  t.is(sheet.column.index, 1);
  t.deepEqual(await cellsOf(sheet), [
    { row: 1, value: A },
    { row: 7, value: B },
    { row: 8, value: A },
  ]);
});

test('a cell gives its text when that is a URL, else its hyperlink, else the link of its formula', async (t) => {
  const book = await workbook({
    sheets: [
      inlineRow('Link') +
        inlineRow(A) +
        inlineRow('click here') +
        inlineRow('write us') +
        inlineRow('the report') +
        `<row><c t="str"><f>HYPERLINK("https://c.example/","more")</f><v>more</v></c></row>`,
    ],
    links: { A2: 'https://other.example/', A3: B, A4: 'mailto:a@b.example', A5: 'https://r.example/my report#part 2' },
  });
  t.deepEqual(await valuesOf(t, 'x.xlsx', book), [
    A,
    B,
    'write us',
    'https://r.example/my%20report#part%202',
    'https://c.example/',
  ]);
});

test('a formula that nobody has calculated is refused, and an empty result is empty', async (t) => {
  const book = await workbook({
    sheets: [
      inlineRow('url') +
        inlineRow(A) +
        '<row><c><f>CONCATENATE("https://c.example","/x")</f><v></v></c></row>' +
        '<row><c><f t="shared" si="0"/></c></row>' +
        '<row><c t="str"><f>IF(A1="","x","")</f><v></v></c></row>' +
        '<row><c><f>HYPERLINK("https://d.example/")</f></c></row>',
    ],
  });
  t.deepEqual(await cellsOf(await open(t, 'x.xlsx', book)), [
    { row: 2, value: A },
    { row: 3, value: '=CONCATENATE("https://c.example","/x")', refused: 'uncalculated' },
    { row: 4, value: '=', refused: 'uncalculated' },
    { row: 6, value: 'https://d.example/' },
  ]);
});

test('formulas that nobody has calculated make no column of URLs', async (t) => {
  const formula = '<c><f>CONCATENATE("https://c.example/",ROW())</f></c>';
  const cell = (text: string) => inlineRow(text).replaceAll(/<\/?row>/g, '');
  const book = await workbook({
    sheets: [
      inlineRow('built') + `<row>${formula}</row>`,
      `${inlineRow('built', 'seen')}<row>${formula}${cell(A)}</row><row>${formula}</row>`,
    ],
  });
  t.deepEqual(await cellsOf(await open(t, 'x.xlsx', book)), [{ row: 2, value: A }]);
  const alone = await workbook({ sheets: [`<row>${formula}</row>`] });
  t.like(await cellsOf(await open(t, 'x.xlsx', alone)), [{ row: 1, refused: 'uncalculated' }]);
});

test('the first sheet that has URLs is read', async (t) => {
  const book = await workbook({
    sheets: ['', inlineRow('a', 'b'), inlineRow('n', 'page') + inlineRow('1', A), inlineRow(B)],
  });
  const sheet = await open(t, 'x.xlsx', book);
  t.like(sheet, { sheet_name: 'Sheet 3', column: { index: 1, name: 'page' } });
  t.deepEqual(await cellsOf(sheet), [{ row: 2, value: A }]);
});

test('a hidden sheet is read when no other has URLs, or by its name', async (t) => {
  const names = ['hidden', 'veryHidden', 'visible'];
  const sheets = names.map(
    (state, i) => `<sheet name="${state}" sheetId="${i + 1}" r:id="rId${i + 1}" state="${state}"/>`,
  );
  const structure = `<workbook xmlns:r="r"><sheets>${sheets.join('')}</sheets></workbook>`;
  const book = await workbook({
    sheets: [inlineRow(A), inlineRow('https://very.example/'), inlineRow(B)],
    parts: { 'xl/workbook.xml': structure },
  });
  const sheet = await open(t, 'x.xlsx', book);
  t.like(sheet, { sheet_name: 'visible', warnings: ['several_sheets'] });
  t.deepEqual(
    sheet.other_sheets?.map(({ sheet_name }) => sheet_name),
    ['hidden', 'veryHidden'],
  );
  t.deepEqual(await cellsOf(sheet), [{ row: 1, value: B }]);
  t.is(sheet.table?.().sheet, 2);
  const named = await open(t, 'x.xlsx', book, {}, { sheet: 'hidden' });
  t.deepEqual([await cellsOf(named), named.table?.().sheet], [[{ row: 1, value: A }], 0]);
  const alone = await workbook({ sheets: [inlineRow(A), '', ''], parts: { 'xl/workbook.xml': structure } });
  t.deepEqual(await valuesOf(t, 'x.xlsx', alone), [A]);
});

test('URLs that begin far down a sheet are found', async (t) => {
  const rows = Array.from({ length: 1_500 }, (_, i) => inlineRow(`name ${i}`, 'none')).join('');
  const sheet = await open(
    t,
    'x.xlsx',
    await workbook({ sheets: [inlineRow('who', 'url') + rows + inlineRow('x', A)] }),
  );
  const cells = await cellsOf(sheet);
  t.is(cells.length, 1_501);
  t.deepEqual(cells.at(-1), { row: 1_502, value: A });
});

test('a namespace prefix does not change a name', async (t) => {
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const rows = `<x:row><x:c t="inlineStr"><x:is><x:t>${A}</x:t></x:is></x:c></x:row>`;
  const sheet = `<x:worksheet xmlns:x="${main}"><x:sheetData>${rows}</x:sheetData></x:worksheet>`;
  const book = await workbook({ sheets: [''], parts: { 'xl/worksheets/sheet1.xml': sheet } });
  t.deepEqual(await valuesOf(t, 'x.xlsx', book), [A]);
});

test('a workbook without URLs is refused with that reason', async (t) => {
  t.is((await failureOf(t, 'x.xlsx', await workbook({ sheets: [inlineRow('a', 'b')] }))).code, 'no_urls');
  t.is((await failureOf(t, 'x.xlsx', await workbook({ sheets: [] }))).code, 'no_urls');
});

test('a ZIP archive that is no workbook, or holds another document, is refused as no table', async (t) => {
  t.is((await failureOf(t, 'x.xlsx', await zip({ 'urls.bin': `${A}\n` }))).code, 'not_a_table');
  const rels = `<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.bin"/></Relationships>`;
  const xlsb = await workbook({ sheets: [''], parts: { '_rels/.rels': rels } });
  t.is((await failureOf(t, 'x.xlsx', xlsb)).code, 'not_a_table');
});

test('a damaged workbook is refused as damaged', async (t) => {
  const whole = await workbook({ sheets: [inlineRow(A)] });
  const damaged = {
    'cut short': whole.subarray(0, whole.length / 2),
    'a signature alone': Buffer.from('PK\x03\x04'),
    'XML that is not well-formed': await workbook({ sheets: [`<row><c t="str"><v>${A}</c></row>`] }),
    'XML that ends early': await workbook({
      sheets: [''],
      parts: { 'xl/worksheets/sheet1.xml': '<worksheet><sheetData>' },
    }),
    'a sheet that is not there': await workbook({ sheets: [''], parts: { 'xl/worksheets/sheet1.xml': null } }),
    'an entity of its own': await workbook({
      sheets: [''],
      parts: { 'xl/worksheets/sheet1.xml': '<!DOCTYPE x [<!ENTITY e "eee">]><worksheet>&e;</worksheet>' },
    }),
  };
  for (const [name, content] of Object.entries(damaged)) {
    t.is((await failureOf(t, 'x.xlsx', content)).code, 'broken_xlsx', name);
  }
});

test('a bit flipped anywhere gives a result or an error that names the file, never another error', async (t) => {
  const whole = await workbook({ sheets: [inlineRow('url') + inlineRow(A).repeat(50)], shared_strings: ['<t>x</t>'] });
  for (let at = 0; at < whole.length; at += 11) {
    const flipped = Buffer.from(whole);
    flipped[at]! ^= 1 << (at % 8);
    const outcome = await valuesOf(t, 'x.xlsx', flipped).catch((error) => error);
    t.true(Array.isArray(outcome) || outcome.name === 'IntakeError', `byte ${at}: ${outcome?.stack}`);
  }
});

test('endlessly nested elements are refused while they are read', async (t) => {
  const sheet = `<worksheet>${'<a>'.repeat(100_000)}`;
  const error = await failureOf(
    t,
    'x.xlsx',
    await workbook({ sheets: [''], parts: { 'xl/worksheets/sheet1.xml': sheet } }),
  );
  t.is(error.code, 'broken_xlsx');
  t.regex(error.message, /nested/);
});

test('a text that is too long for any cell stays out of memory', async (t) => {
  const noise = Array.from({ length: 400_000 }, (_, i) => (i * 2654435761).toString(36)).join('');
  const error = await failureOf(t, 'x.xlsx', await workbook({ sheets: [`<row><c t="str"><v>${noise}</v></c></row>`] }));
  t.is(error.code, 'broken_xlsx');
  t.regex(error.message, /too long/);
});

test('a shared string without a text counts, wherever it stands', async (t) => {
  const cells = (...numbers: number[]) => numbers.map((n) => `<row><c t="s"><v>${n}</v></c></row>`).join('');
  const first = await workbook({
    sheets: [cells(0, 1, 2, 3)],
    shared_strings: ['', `<t>${A}</t>`, '<t></t>', `<t>${B}</t>`],
  });
  t.deepEqual(await valuesOf(t, 'x.xlsx', first), [A, B]);
  const bare = await workbook({
    sheets: [inlineRow(A) + cells(0)],
    shared_strings: [],
    parts: { 'xl/sharedStrings.xml': '<sst><si/></sst>' },
  });
  t.deepEqual(await valuesOf(t, 'x.xlsx', bare), [A]);
});

test('a part that the workbook names a thousand times counts as one sheet', async (t) => {
  const names = Array.from({ length: 1_000 }, (_, i) => `<sheet name="${i}" r:id="rId1"/>`).join('');
  const book = await workbook({
    sheets: ['<row><c><v>1</v></c></row>'.repeat(2_000)],
    parts: { 'xl/workbook.xml': `<workbook xmlns:r="r"><sheets>${names}</sheets></workbook>` },
  });
  t.is((await failureOf(t, 'x.xlsx', book)).code, 'no_urls');
  const archive = await ZipPackage.open(await upload(t, 'x.xlsx', book), 1e9);
  t.teardown(() => archive.close());
  t.deepEqual((await readWorkbook(archive)).sheets, [
    { name: '0', part: 'xl/worksheets/sheet1.xml', is_hidden: false },
  ]);
});

test('the limits count every entry of the archive, with its name', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`xl/${i}`, '']));
  t.regex((await failureOf(t, 'x.xlsx', await workbook({ sheets: [''], parts: many }))).message, /10000 parts/);
  const long = { [`xl/${'x'.repeat(5_000)}`]: '' };
  t.is((await failureOf(t, 'x.xlsx', await workbook({ sheets: [''], parts: long }))).code, 'broken_xlsx');
});

test('an impossible row number is ignored', async (t) => {
  const row = (r: string) => `<row r="${r}"><c t="str"><v>${A}</v></c></row>`;
  const rows = ['1e308', '-1', '2.5', 'Infinity', '', '7'].map(row).join('');
  const cells = await cellsOf(await open(t, 'x.xlsx', await workbook({ sheets: [rows] })));
  t.deepEqual(
    cells.map((cell) => cell.row),
    [1, 2, 3, 4, 5, 7],
  );
});

test('the reader stops a zip bomb while it inflates', async (t) => {
  const bomb = await workbook({ sheets: ['<row/>'.repeat(12_000_000)] });
  t.true(bomb.length < 1_000_000);
  t.is((await failureOf(t, 'x.xlsx', bomb)).code, 'zip_bomb');
});

test('the reader does not trust the sizes that an archive states', async (t) => {
  const content = Buffer.from(await workbook({ sheets: [inlineRow(A).repeat(5_000)] }));
  const name = content.lastIndexOf('xl/worksheets/sheet1.xml');
  const central_header = name - 46;
  t.is(content.readUInt32LE(central_header), 0x02014b50);
  content.writeUInt32LE(100, central_header + 24);
  t.is((await failureOf(t, 'x.xlsx', content)).code, 'broken_xlsx');
});

test('all parts together have a limit of inflated bytes', async (t) => {
  const rows = Array.from({ length: 3_000 }, (_, i) => inlineRow(`https://a.example/${i}`)).join('');
  const book = await workbook({ sheets: [rows, rows] });
  t.is((await failureOf(t, 'x.xlsx', book, { max_inflated_bytes: 100_000 })).code, 'inflated_too_large');
  t.is((await valuesOf(t, 'x.xlsx', book)).length, 3_000);
});

// Serial tests run before the others of the file, whose memory would be counted too.
test.serial('a row that reaches to the last column costs no memory for those before it', async (t) => {
  const rows = Array.from(
    { length: 5_000 },
    () => `<row><c t="str"><v>${A}</v></c><c r="XFD1"><v>1</v></c></row>`,
  ).join('');
  const before = process.memoryUsage().heapUsed;
  const sheet = await open(t, 'x.xlsx', await workbook({ sheets: [rows] }));
  t.is((await cellsOf(sheet)).length, 5_000);
  t.true(process.memoryUsage().heapUsed - before < 100_000_000);
});
