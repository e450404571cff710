import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { openSheet } from '../../intake/open-sheet.ts';
import { cellsOf, failureOf, open, upload, valuesOf } from './uploads.ts';

const A = 'https://a.example/1';
const B = 'https://b.example/2';

test('the column with the most URLs is chosen, whatever the headers say', async (t) => {
  const sheet = await open(t, 'x.csv', `url,when,ziel\nsoon,2024,${A}\nlater,2025,${B}\n`);
  t.like(sheet, { format: 'csv', delimiter: ',', column: { index: 2, name: 'ziel' } });
  t.deepEqual(await cellsOf(sheet), [
    { row: 2, value: A },
    { row: 3, value: B },
  ]);
});

test('of two columns of URLs the one with a name for URLs is chosen, else the first', async (t) => {
  const named = await open(t, 'x.csv', `referrer,Page URL\n${A},${B}\n${B},${A}\n`);
  t.deepEqual(named.column, { index: 1, name: 'Page URL' });
  const unnamed = await open(t, 'x.csv', `${A},${B}\n${B},${A}\n`);
  t.deepEqual(unnamed.column, { index: 0, name: null });
});

test('whole URLs count for more than domains, files and e-mail addresses', async (t) => {
  const sheet = await open(
    t,
    'x.csv',
    `mail,domain,file,page\na@a.example,a.example,a.pdf,${A}\nb@b.c,b.example,b.pdf,${B}\n`,
  );
  t.is(sheet.column.name, 'page');
});

test('the column of domains is chosen where no column has whole URLs', async (t) => {
  t.deepEqual(await valuesOf(t, 'x.csv', 'n,site\n1,example.com\n2,www.x.de/y\n'), ['example.com', 'www.x.de/y']);
});

for (const [name, delimiter] of [
  ['a comma', ','],
  ['a semicolon', ';'],
  ['a tab', '\t'],
  ['a bar', '|'],
] as const) {
  test(`${name} separates cells, with and without a header, and with URLs that hold other delimiters`, async (t) => {
    const rows = [`1,${A}?a=1;2,x`, `2,${B},y`].map((row) => row.split(',').join(delimiter)).join('\n');
    for (const text of [rows, `id${delimiter}link${delimiter}note\n${rows}\n`]) {
      const sheet = await open(t, 'x.csv', delimiter === ';' ? text.replace('?a=1;2', '?a=1,2') : text);
      t.is(sheet.delimiter, delimiter);
      t.is(sheet.column.index, 1);
      t.is((await cellsOf(sheet)).length, 2);
    }
  });
}

test('a bare list is read line by line, and its URLs may contain commas', async (t) => {
  const lines = [A, `${B},with,commas`, `${B}?a=1,2`, 'https://c.example/;x'];
  t.deepEqual(await valuesOf(t, 'x.csv', lines.join('\n')), lines);
  t.deepEqual(await valuesOf(t, 'x.csv', `URL\n${lines.join('\r\n')}\r\n`), lines);
});

test('a header or the ending .txt distinguishes a bare list of URLs with commas from a table', async (t) => {
  const lines = [`${A},x`, `${B},y`];
  t.deepEqual(await valuesOf(t, 'x.csv', `url\n${lines.join('\n')}\n`), lines);
  t.deepEqual(await valuesOf(t, 'x.txt', lines.join('\n')), lines);
  t.deepEqual(await valuesOf(t, 'x.csv', `${lines.join('\n')}\n`), [A, B]);
});

test('quoted URLs may contain commas, also in a single column', async (t) => {
  t.deepEqual(await valuesOf(t, 'x.csv', `"${A},1",first\n"${B},2",second\n`), [`${A},1`, `${B},2`]);
  t.deepEqual(await valuesOf(t, 'x.csv', `"url"\n"${A},1"\n"${B},2"\n`), [`${A},1`, `${B},2`]);
});

test('prose with commas beside the URLs does not change the chosen column', async (t) => {
  const sheet = await open(t, 'x.csv', `url;title\n${A};Hello, world\n${B};Good, bye\n`);
  t.is(sheet.delimiter, ';');
  t.deepEqual(
    (await cellsOf(sheet)).map(({ value }) => value),
    [A, B],
  );
});

test("the first line of Excel's own format names the delimiter", async (t) => {
  const sheet = await open(t, 'x.csv', `sep=;\r\nname;url\r\nx;${A}\r\n`);
  t.like(sheet, { delimiter: ';', column: { index: 1, name: 'url' } });
  t.deepEqual(await cellsOf(sheet), [{ row: 3, value: A }]);
});

test('a title above the header is skipped', async (t) => {
  const sheet = await open(t, 'x.csv', `Report of May\n\nname,link\nx,${A}\ny,${B}\n`);
  t.deepEqual(sheet.column, { index: 1, name: 'link' });
  t.deepEqual(
    (await cellsOf(sheet)).map(({ row }) => row),
    [4, 5],
  );
});

test('the first line of a list counts as a header only when it has the name of one', async (t) => {
  t.deepEqual(await valuesOf(t, 'x.csv', `Website\n${A}\n`), [A]);
  t.deepEqual(await valuesOf(t, 'x.csv', `not a url\n${A}\n`), ['not a url', A]);
});

test('blank lines and cells are not checked, but count as rows of the file', async (t) => {
  const sheet = await open(t, 'x.csv', `url,n\n\n${A},1\n,2\n  ,3\n${B},4\n\n`);
  t.deepEqual(await cellsOf(sheet), [
    { row: 3, value: A },
    { row: 6, value: B },
  ]);
});

const list = `url\n${A}\nhttps://é.example/straße\n`;
const utf16 = Buffer.from(list, 'utf16le');
for (const [name, content, encoding] of [
  ['UTF-8', Buffer.from(list), 'utf-8'],
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${list}`), 'utf-8'],
  ['UTF-16 LE', utf16, 'utf-16le'],
  ['UTF-16 LE with a byte order mark', Buffer.from(`\ufeff${list}`, 'utf16le'), 'utf-16le'],
  ['UTF-16 BE', Buffer.from(utf16).swap16(), 'utf-16be'],
  ['UTF-16 BE with a byte order mark', Buffer.from(`\ufeff${list}`, 'utf16le').swap16(), 'utf-16be'],
  ['Windows-1252', Buffer.from(list, 'latin1'), 'windows-1252'],
] as const) {
  test(`the text reader reads ${name}`, async (t) => {
    const sheet = await open(t, 'x.csv', content);
    t.like(sheet, { encoding, column: { index: 0, name: 'url' } });
    t.deepEqual(
      (await cellsOf(sheet)).map(({ value }) => value),
      [A, 'https://é.example/straße'],
    );
  });
}

test('a file of many chunks is read whole, with characters and records across their borders', async (t) => {
  const urls = Array.from({ length: 20_000 }, (_, i) => `https://ü${i % 97}.example/${'é'.repeat(i % 13)}${i}`);
  const sheet = await open(t, 'x.csv', urls.map((url, i) => `"Zeile\n${i}",${url}\r\n`).join(''));
  const cells = await cellsOf(sheet);
  t.deepEqual(
    cells.map(({ value }) => value),
    urls,
  );
  t.is(cells.at(-1)?.row, 20_000);
});

test('URLs that begin far down the file are found, and the rows above them count', async (t) => {
  const filler = Array.from({ length: 20_000 }, (_, i) => `number ${i},none\n`).join('');
  const sheet = await open(t, 'x.csv', `name,link\n${filler}last,${A}\n`);
  t.deepEqual(sheet.column, { index: 1, name: 'link' });
  const cells = await cellsOf(sheet);
  t.is(cells.length, 20_001);
  t.deepEqual(cells.at(-1), { row: 20_002, value: A });
});

test('the cells can be read twice, and a reader that stops early closes the file', async (t) => {
  const path = await upload(t, 'x.csv', `${A}\n`.repeat(20_000));
  const sheet = await openSheet(path, 'x.csv');
  for (let i = 0; i < 3; i++) {
    for await (const page of sheet.cells()) {
      t.true(page.length > 0);
      break;
    }
  }
  t.is((await cellsOf(sheet)).length, 20_000);
  t.is(descriptorsOf(path), 0);
});

/** The number of open descriptors of the file in this process, or 0 where the system does not show them. */
function descriptorsOf(path: string): number {
  if (!existsSync('/proc/self/fd')) return 0;
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return 'closed since';
    }
  });
  return links.filter((link) => link === path).length;
}

for (const [name, content] of [
  ['no bytes', ''],
  ['blank lines only', '\n \r\n\n'],
  ['a byte order mark only', '\ufeff'],
] as const) {
  test(`a file of ${name} counts as empty`, async (t) => {
    t.is((await failureOf(t, 'x.csv', content)).code, 'empty_file');
  });
}

for (const [name, content] of [
  ['a PNG', Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')],
  ['a PDF in a gzip file', gzipSync('%PDF-1.7\nhttps://a.example/\n')],
  ['an RTF document', Buffer.from('{\\rtf1 https://a.example/}')],
  ['a Parquet file', Buffer.from('PAR1\x15\x04https://a.example/')],
  ['a gzip file in another one', gzipSync(gzipSync('https://a.example/'))],
  ['a workbook in a gzip file', gzipSync(Buffer.from('PK\x03\x04'))],
  ['XML of another kind', Buffer.from('<?xml version="1.0"?><invoice><link>https://a.example/</link></invoice>')],
  ['an old Excel file', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
  ['random bytes', Buffer.from(Array.from({ length: 4_000 }, (_, i) => (i * 7919 * (i + 3)) % 256))],
  ['control characters', Buffer.from('\x01\x02\x03\x04https://a.example/\n')],
  ['text with a NUL byte', Buffer.from(`${A}\n${A}\0\n`)],
  ['text with a NUL byte far down', Buffer.from(`${`${A}\n`.repeat(20_000)}\0\n`)],
] as const) {
  test(`${name} named .csv is refused as no table`, async (t) => {
    const error = await failureOf(t, 'x.csv', content);
    t.is(error.code, 'not_a_table');
    t.regex(error.message, /Upload a list in one of these formats|which is not read\. (?:Open|Save|Unpack) it/);
  });
}

test('a file without URLs is refused with that reason', async (t) => {
  t.is((await failureOf(t, 'x.csv', 'name,age\nAnn,40\nBen,41\n')).code, 'no_urls');
  t.is((await failureOf(t, 'x.txt', 'Some prose\nwithout any\n')).code, 'no_urls');
  t.is((await failureOf(t, 'x.csv', 'name,url\nAnn,none\n')).code, 'no_urls');
});

test('a file of one endless line is refused, in any encoding', async (t) => {
  const line = 'x'.repeat(3_000_000);
  t.is((await failureOf(t, 'x.csv', line)).code, 'row_too_long');
  t.is((await failureOf(t, 'x.csv', Buffer.from(line, 'utf16le'))).code, 'row_too_long');
  t.is((await failureOf(t, 'x.csv', `"${line}`)).code, 'row_too_long');
});

test('the error for an unclosed quote names its row, in any column of any file', async (t) => {
  const rows = `1,${A}\n`.repeat(20_000);
  for (const [row, text] of [
    [1, `"name,url\n1,${A}\n`],
    [3, `name,url\n1,${A}\n"2,${B}\n`],
    [20_002, `name,url\n${rows}2,"${B}\n`],
    [2, `url\n"${A}\n`],
    [2, `url,name\n${A},"one\n${B},two\n`],
    [2, `name;url\none;"${A}\ntwo;${B}\n`],
  ] as const) {
    const error = await failureOf(t, 'x.csv', text);
    t.is(error.code, 'quote_not_closed', text.slice(0, 40));
    t.true(error.message.startsWith(`Row ${row} `), error.message);
  }
});

test('a first row with a cell longer than the sample has its URL column found', async (t) => {
  const page = `<a href=""${B}"">B, and more</a>\n`.repeat(5_000);
  t.deepEqual(await valuesOf(t, 'x.csv', `url,html\n${A},"${page}"\n${B},x\n`), [A, B]);
  const text = 'Words, "so to speak"; more\n'.repeat(5_000).replaceAll('"', '""');
  for (const table of [
    `id,text,url\n1,"${text}",${A}\n2,x,${B}\n`,
    `url,text\n${A},"${text}"\n${B},x\n`,
    `"url","text"\n"${A}","${text}"\n"${B}","x"\n`,
    `url;text\n${A};"${text}"\n${B};x\n`,
  ]) {
    t.deepEqual(await valuesOf(t, 'x.csv', table), [A, B], table.slice(0, 40));
  }
});

test('the lines of a quoted cell in the only row are no rows', async (t) => {
  t.deepEqual(await valuesOf(t, 'x.csv', `url,note\n${A},"see\n${B}\n${B}1"\n`), [A]);
});

test('row numbers are right after quoted line breaks and line ends of all kinds', async (t) => {
  const sheet = await open(t, 'x.csv', `name,url\r\n"two\r\nlines",${A}\r"say ""hi""\n",${B}\n\n5" disk,${A}?2\n`);
  t.deepEqual(await cellsOf(sheet), [
    { row: 2, value: A },
    { row: 3, value: B },
    { row: 5, value: `${A}?2` },
  ]);
});

test('a file over the limit of bytes is refused', async (t) => {
  const error = await failureOf(t, 'x.csv', `${A}\n`.repeat(100), { max_file_bytes: 1_000 });
  t.is(error.code, 'file_too_large');
});
