// JSON, sitemaps, HTML, ODS and gzip: large files, hostile files, and any bytes.
import { gzipSync } from 'node:zlib';
import test from 'ava';
import fc from 'fast-check';
import type { IntakeErrorCode } from '../../intake/errors.ts';
import { hostileText } from '../support/hostile-text.ts';
import { outcomeOf } from './outcomes.ts';
import { cellsOf, failureOf, ods, odsRow, open, valuesOf } from './uploads.ts';

const RUNS = { numRuns: Number(process.env.FUZZ_RUNS ?? 50), endOnFailure: true };
const A = 'https://a.example/1';
const MANY = Array.from({ length: 20_000 }, (_, i) => `https://ü${i % 97}.example/${'é'.repeat(i % 13)}?a=${i}&b=1`);
const xml = (text: string) => text.replaceAll('&', '&amp;');

const LARGE: Readonly<Record<string, () => string | Promise<Buffer>>> = {
  'a JSON array on one line': () => JSON.stringify(MANY),
  'JSON lines': () => MANY.map((url) => JSON.stringify({ id: 1, page: { url } })).join('\n'),
  'a sitemap on one line': () => `<urlset>${MANY.map((url) => `<url><loc>${xml(url)}</loc></url>`).join('')}</urlset>`,
  'HTML on one line': () => `<html>${MANY.map((url) => `<a title="x" href="${xml(url)}">link</a>`).join('')}`,
  'HTML with URLs in its text': () => `<table>${MANY.map((url) => `<tr><td>x</td><td>${xml(url)}</td></tr>`).join('')}`,
  ODS: () => ods(MANY.map((url) => odsRow('x', xml(url))).join('')),
  'a list in gzip': async () => gzipSync(MANY.join('\n')),
};
for (const [name, make] of Object.entries(LARGE)) {
  test(`${name} of many chunks is read whole`, async (t) => {
    t.deepEqual(await valuesOf(t, 'x', await make()), MANY);
  });
}

test('URLs of HTML have their line numbers, and relative ones resolve against their base', async (t) => {
  const page = `<html>\n<base href="https://a.example/x/">\n\n<a\nhref="1">1</a><a href='../2'>2</a>\n<p>www.b.example</p>`;
  t.deepEqual(await cellsOf(await open(t, 'x', page)), [
    { row: 4, value: 'https://a.example/x/1' },
    { row: 5, value: 'https://a.example/2' },
    { row: 6, value: 'www.b.example' },
  ]);
});

test('a column of JSON has its path as its name, and the other columns with URLs are listed', async (t) => {
  const items = Array.from({ length: 3 }, (_, i) => ({ url: `${A}${i}`, shop: { logo: i === 0 ? A : 'none' } }));
  const sheet = await open(t, 'x', JSON.stringify({ items }));
  t.deepEqual(sheet.column, { index: 0, name: 'items.url' });
  t.deepEqual(
    sheet.other_columns.map(({ name }) => name),
    ['items.shop.logo'],
  );
});

const urlsBy = (of: string) => ({ '0': `${A}${of}0`, '1': `${A}${of}1`, '5': `${A}${of}5` });
for (const [orient, frame] of Object.entries({
  columns: { name: { '0': 'x', '1': 'y', '5': 'z' }, url: urlsBy('') },
  index: Object.fromEntries(Object.entries(urlsBy('')).map(([index, url]) => [index, { name: 'x', url }])),
  'a list for each column': { name: ['x', 'y', 'z'], url: Object.values(urlsBy('')) },
})) {
  test(`the JSON that pandas writes of a table is read by its rows: ${orient}`, async (t) => {
    const sheet = await open(t, 'x.json', JSON.stringify(frame));
    t.is(sheet.column.name, 'url');
    const rows = Object.values(urlsBy('')).map((value, i) => ({ row: i + 1, value }));
    t.deepEqual(await cellsOf(sheet), rows);
  });
}

test('the JSON that pandas writes of one column, and arrays of PHP in JSON lines, are lists', async (t) => {
  t.deepEqual(await valuesOf(t, 'x.json', JSON.stringify(urlsBy(''))), Object.values(urlsBy('')));
  const lines = ['a', 'b'].map((line) => JSON.stringify({ id: line, links: urlsBy(line) })).join('\n');
  const sheet = await open(t, 'x.jsonl', lines);
  t.is(sheet.column.name, 'links');
  t.deepEqual(
    (await cellsOf(sheet)).map(({ row }) => row),
    [1, 2, 3, 4, 5, 6],
  );
});

test('names that are numbers are columns where they stand in a list', async (t) => {
  const sheet = await open(t, 'x.json', JSON.stringify([{ '0': 'x', '1': A }]));
  t.is(sheet.column.name, '1');
});

test('names that are numbers are columns where they stand in JSON lines', async (t) => {
  const lines = [A, `${A}0`].map((url) => JSON.stringify({ '0': 7, '1': url, '2': `${url}/image.png` })).join('\n');
  const sheet = await open(t, 'x.jsonl', lines);
  t.is(sheet.column.name, '1');
  t.deepEqual(await cellsOf(sheet), [
    { row: 1, value: A },
    { row: 2, value: `${A}0` },
  ]);
});

test('an index of sitemaps reports that its URLs are sitemaps', async (t) => {
  const sheet = await open(t, 'x', `<sitemapindex><sitemap><loc>${A}</loc></sitemap></sitemapindex>`);
  t.deepEqual(sheet.warnings, ['sitemap_index']);
});

const deep = (open: string, close: string, inside = '') => open.repeat(100_000) + inside + close.repeat(100_000);
const DAMAGED: Readonly<Record<string, [code: IntakeErrorCode, content: () => string | Buffer | Promise<Buffer>]>> = {
  'JSON that is cut off': ['broken_file', () => JSON.stringify([A, A]).slice(0, -5)],
  'JSON whose brackets do not match': ['broken_file', () => `[{"url":"${A}"]`],
  'JSON lists in each other without end': ['broken_file', () => deep('[', ']', `"${A}"`)],
  'JSON objects in each other without end': ['broken_file', () => '{"a":'.repeat(100_000)],
  'a JSON text without end': ['row_too_long', () => `["${A}${'x'.repeat(2_000_000)}`],
  'a sitemap that is cut off': ['broken_file', () => `<urlset><url><loc>${A}</loc>`],
  'XML elements in each other without end': ['broken_file', () => `<urlset>${deep('<a>', '</a>')}</urlset>`],
  'entities that name each other': [
    'broken_file',
    () =>
      '<?xml version="1.0"?><!DOCTYPE u [<!ENTITY a "&b;&b;"><!ENTITY b "&a;&a;">]><urlset><url><loc>&a;</loc></url></urlset>',
  ],
  'entities behind another declaration': [
    'broken_file',
    () =>
      `<?xml version="1.0"?><!DOCTYPE u [ <!ELEMENT u ANY> <!ENTITY a "x"> ]><urlset><url><loc>${A}&a;</loc></url></urlset>`,
  ],
  'XML text without end': ['broken_file', () => `<urlset><url><loc>${'x'.repeat(2_000_000)}</loc></url></urlset>`],
  'gzip that is cut off': ['broken_file', () => gzipSync(MANY.join('\n')).subarray(0, -100)],
  'a gzip bomb': [
    'zip_bomb',
    () => gzipSync(Buffer.concat([Buffer.from(`<html><a href=${A}>x</a><!--`), Buffer.alloc(100_000_000, 'x')])),
  ],
  'ODS rows beyond a spreadsheet': [
    'broken_xlsx',
    () =>
      ods(
        `<table:table-row table:number-rows-repeated="1048576"><table:table-cell><text:p>${A}</text:p></table:table-cell></table:table-row>`.repeat(
          2,
        ),
      ),
  ],
};
for (const [name, [code, make]] of Object.entries(DAMAGED)) {
  test(`${name} is refused with ${code}`, async (t) => {
    t.is((await failureOf(t, 'x', await make())).code, code);
  });
}

test('a formula of ODS that nobody has calculated is refused, and an empty result is empty', async (t) => {
  const cell = (attributes: string) => `<table:table-row><table:table-cell ${attributes}/></table:table-row>`;
  const rows = [
    odsRow(A),
    cell(`table:formula='of:="https://c.example"&amp;"/x"'`),
    cell(`table:formula='of:=""' office:value-type="string"`),
    cell(`table:formula='of:=HYPERLINK("https://d.example/")'`),
  ];
  t.deepEqual(await cellsOf(await open(t, 'x.ods', await ods(rows.join('')))), [
    { row: 1, value: A },
    { row: 2, value: 'of:="https://c.example"&"/x"', refused: 'uncalculated' },
    { row: 4, value: 'https://d.example/' },
  ]);
});

test('a hidden sheet of an ODS workbook is read when no other has URLs', async (t) => {
  const table = (style: string, row: string) =>
    `<table:table table:name="${style}" table:style-name="${style}">${row}</table:table>`;
  const book = (shown: string) =>
    ods('', {
      'content.xml':
        '<office:document-content xmlns:office="o" xmlns:style="s" xmlns:table="t" xmlns:text="x"><office:automatic-styles>' +
        '<style:style style:name="shown"><style:table-properties table:display="true"/></style:style>' +
        '<style:style style:name="hidden"><style:table-properties table:display="false"/></style:style>' +
        '</office:automatic-styles><office:body><office:spreadsheet>' +
        `${table('hidden', odsRow(A))}${table('shown', odsRow(shown))}` +
        '</office:spreadsheet></office:body></office:document-content>',
    });
  const sheet = await open(t, 'x.ods', await book('https://shown.example/'));
  t.is(sheet.sheet_name, 'shown');
  t.deepEqual([await cellsOf(sheet), sheet.table?.().sheet], [[{ row: 1, value: 'https://shown.example/' }], 1]);
  t.deepEqual(await valuesOf(t, 'x.ods', await book('none')), [A]);
});

for (const [name, make] of Object.entries({
  'HTML elements in each other without end': () => `<a href="${A}">x</a>${'<div>'.repeat(300_000)}`,
  'an HTML attribute without end': () => `<a href="${A}">x</a><a href="${'x'.repeat(3_000_000)}">`,
  'an HTML tag without end': () => `<a href="${A}">x</a><a${' x=y'.repeat(500_000)}`,
  'an HTML text without end': () => `<a href="${A}">x</a><p>${'x'.repeat(3_000_000)}</p>`,
  'HTML comments and entities without end': () => `<a href="${A}">x</a>${'<!--&amp;'.repeat(200_000)}`,
})) {
  test(`${name} hides no URL before it`, async (t) => {
    const [first] = await valuesOf(t, 'x', make());
    t.is(first, A);
  });
}

const SYNTAX: Readonly<Record<string, readonly string[]>> = {
  '[': [
    '[',
    ']',
    '{',
    '}',
    '"',
    `"${A}"`,
    ',',
    ':',
    '"url":',
    '\\u0000',
    '\\ud800',
    '\\"',
    'null',
    '1e9',
    '\n',
    'true',
  ],
  '<urlset>': [
    '<url>',
    '</url>',
    '<loc>',
    '</loc>',
    A,
    '&amp;',
    '&x;',
    '<![CDATA[',
    ']]>',
    '<!--',
    '-->',
    '</urlset>',
    '<?x?>',
  ],
  '<html>': [
    '<a href="',
    `<a href=${A}>`,
    '">',
    "'",
    '</a>',
    '<base href="/',
    A,
    '&amp;',
    '&#0;',
    '&#x110000;',
    '<!--',
    '-->',
    '<script>',
    '</script>',
    '<a',
    '=',
    '/>',
  ],
};
for (const [start, pieces] of Object.entries(SYNTAX)) {
  test(`any text after ${start} gives a list or a refusal with a code`, async (t) => {
    await fc.assert(
      fc.asyncProperty(hostileText(pieces), async (text) => void (await outcomeOf(start + text))),
      RUNS,
    );
    t.pass();
  });
}

test('a bit flipped anywhere in ODS or gzip gives a result or an error that names the file', async (t) => {
  for (const whole of [
    await ods(odsRow('url') + odsRow(A).repeat(20)),
    gzipSync(`url\n${MANY.slice(0, 30).join('\n')}`),
  ]) {
    for (let at = 0; at < whole.length; at += 11) {
      const flipped = Buffer.from(whole);
      flipped[at]! ^= 1 << (at % 8);
      await t.notThrowsAsync(outcomeOf(flipped), `byte ${at}`);
    }
  }
});

test('references of Zotero have their lines for rows, so that no two are in one', async (t) => {
  const of = (url: string) => `<bib:Document><dcterms:URI><rdf:value>${url}</rdf:value></dcterms:URI></bib:Document>\n`;
  const sheet = await open(t, 'x.rdf', `<rdf:RDF>\n${of('https://a.example/')}${of('https://b.example/')}</rdf:RDF>`);
  t.deepEqual(await cellsOf(sheet), [
    { row: 2, value: 'https://a.example/' },
    { row: 3, value: 'https://b.example/' },
  ]);
});
