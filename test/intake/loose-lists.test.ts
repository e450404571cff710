// Files whose syntax is not what its standard says, or has rules of its own for lines, and files that are named and not read.
import test from 'ava';
import { parseLooseXml } from '../../intake/loose-xml.ts';
import { ZipPackage } from '../../intake/zip-package.ts';
import { cellsOf, failureOf, open, valuesOf, zip } from './uploads.ts';

const A = 'https://a.example.org/1';
const B = 'https://b.example.org/2?x=1&y=2';

test('a feed with a bare &, entities of HTML and control characters is read', async (t) => {
  const feed = `<?xml version="1.0"?><rss><channel><title>Q&A &nbsp; &copy; R&D&unknown; \u0002&#1;</title>
    <item><link>${B}</link></item><item><link><![CDATA[${B}&z=&amp;]]></link></item><item><link>${B.replace('&', '&amp;')}#x</link></item></channel></rss>`;
  t.deepEqual(await valuesOf(t, 'x.rss', feed), [B, `${B}&z=&amp;`, `${B}#x`]);
  t.deepEqual(await valuesOf(t, 'sitemap.xml', `<urlset><url><loc>${B}</loc></url></urlset>`), [B]);
});

test('loose XML is the same wherever the text is cut', async (t) => {
  const text = '<a b="x&y <i>z</i>">&nbsp;&amp;&#228;&bogus;<![CDATA[ & &nbsp; ]]>&<c d="1 "2" 3"/>\n</a>';
  for (let size = 1; size <= text.length; size++) {
    const parts = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
    async function* pieces() {
      yield* parts;
    }
    const opened: unknown[] = [];
    let inside = '';
    const handlers = {
      open: (name: string, attributes: Record<string, string>) =>
        void opened.push([name, attributes.b ?? attributes.d]),
      text: (more: string) => void (inside += more),
    };
    await Array.fromAsync(parseLooseXml(pieces(), handlers, t.fail as never));
    t.deepEqual(opened, [
      ['a', 'x&y <i>z</i>'],
      ['c', '1 '],
    ]);
    t.is(inside, '&nbsp;&\u00e4&bogus; & &nbsp; &\n', `pieces of ${size}`);
  }
});

test('an outline with markup and quotes in its attributes loses no link', async (t) => {
  const outline = `<?xml version="1.0"?>\n<opml><body>\n<outline description="<a href='${A}'>x</a>" xmlUrl="${B}"/>\n<outline text="a "b" c" htmlUrl="${A}/3"/></body></opml>`;
  t.deepEqual(await valuesOf(t, 'x.opml', outline), [B, A, `${A}/3`]);
  const quoted = `<opml><body><outline text="x" description="on <a href="${A}">a</a> or <a href="${A}/2">b</a>." xmlUrl="${B}"/><outline xmlUrl="${A}/4"/></body></opml>`;
  t.deepEqual(await valuesOf(t, 'x.opml', quoted), [`${A}/2`, B, `${A}/4`]);
});

test('Markdown that begins with HTML is Markdown, and loses no link', async (t) => {
  const badge =
    '<p align="center">\n  <a href="https://a.example.org/1"><img src="https://img.example.org/x.svg"></a>\n</p>';
  const text = `<!-- https://note.example.org/ -->\n${badge}\n\n# Title\n\n    git clone ${A}.git <name>\n\n[b]: ${B}\n`;
  t.like(await open(t, 'x', text), { format: 'text' });
  t.deepEqual(await valuesOf(t, 'x', text), [
    'https://note.example.org/',
    A,
    'https://img.example.org/x.svg',
    `${A}.git`,
    B,
  ]);
  t.like(await open(t, 'x', `<!doctype html>\n<body>\n# x [b](${A})\n`), { format: 'html' });
});

test('the lines of a calendar are folded, and have escapes of their own', async (t) => {
  const content = [
    'BEGIN:VCALENDAR',
    'BEGIN:VEVENT',
    `DESCRIPTION:Join at ${A.slice(0, 12)}`,
    ` ${A.slice(12)}\\nPassword: x\\, or ${B}\\, please`,
    `URL;VALUE=URI:${A}/x`,
    'END:VEVENT',
    'END:VCALENDAR',
  ].join('\r\n');
  t.deepEqual(await cellsOf(await open(t, 'x.ics', content)), [
    { row: 3, value: A },
    { row: 3, value: B },
    { row: 5, value: `${A}/x` },
  ]);
  t.deepEqual(await valuesOf(t, 'x.vcf', `BEGIN:VCARD\nitem1.URL;type=pref:https\\://a.example.org/1\nEND:VCARD\n`), [
    A,
  ]);
});

const compound = (name: string) =>
  Buffer.concat([Buffer.from('\xd0\xcf\x11\xe0', 'latin1'), Buffer.alloc(508), Buffer.from(name, 'utf16le')]);
for (const [kind, content, message] of [
  ['an old workbook', compound('Workbook'), /old Excel workbook \(\.xls\).*save it as XLSX/],
  [
    'a workbook of Excel 4',
    Buffer.from([9, 4, 6, 0, 0, 0, 16, 0, 0, 0]),
    /old Excel workbook \(\.xls\).*save it as XLSX/,
  ],
  ['a workbook with a password', compound('EncryptedPackage'), /password.*Save it without one/],
  ['an old document', compound('WordDocument'), /old Word document.*\.docx/],
  ['a message of Outlook', compound('__properties_version1.0'), /Outlook.*\.eml/],
  ['RTF', '{\\rtf1 https://a.example.org/}', /RTF document.*save it as/],
  ['a 7z archive', '7z\xbc\xaf', /7z archive.*Unpack it/],
] as const) {
  test(`${kind} is named, and the answer says what to do`, async (t) => {
    const failure = await failureOf(t, 'x', Buffer.from(content as string, 'latin1'));
    t.is(failure.code, 'not_a_table');
    t.regex(failure.message, message);
  });
}

test('a binary workbook is named, and the answer says what to do', async (t) => {
  const content = await zip({ '[Content_Types].xml': '<Types/>', 'xl/workbook.bin': 'x' });
  t.regex((await failureOf(t, 'x.xlsb', content)).message, /\.xlsb.*save it as XLSX/);
});

test('of a ZIP archive each list is read, named, or told of', async (t) => {
  const lists = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`list ${i}.txt`, `${A}?${i}\n`]));
  const sheet = await open(t, 'x.zip', await zip(lists(60)));
  t.deepEqual([sheet.other_sheets?.length, sheet.warnings], [59, ['several_sheets']]);
  const many = await zip(lists(130));
  t.deepEqual((await open(t, 'x.zip', many)).warnings, ['several_sheets', 'unread_files']);
  const last = await open(t, 'x.zip', many, {}, { sheet: 'list 129.txt' });
  t.deepEqual(
    (await cellsOf(last)).map(({ value }) => value),
    [`${A}?129`],
  );
  const mixed = await open(t, 'x.zip', await zip({ ...lists(1), 'book.xlsx': 'x' }));
  t.deepEqual(mixed.warnings, ['unread_files']);
  const broken = await open(t, 'x.zip', await zip({ ...lists(1), 'x.json': '{"a": ["https://a.example.org/2"' }));
  t.deepEqual(broken.warnings, ['unread_files']);
});

test.serial('an archive is opened once to look at all its lists', async (t) => {
  const lists = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${i}.csv`, `url\n${A}/${i}\n`]));
  const content = await zip(lists);
  const { open: opening } = ZipPackage;
  t.teardown(() => void (ZipPackage.open = opening));
  let opened = 0;
  ZipPackage.open = (...file) => {
    opened++;
    return opening.apply(ZipPackage, file);
  };
  const sheet = await open(t, 'x.zip', content);
  t.is(opened, 1);
  t.deepEqual(
    (await cellsOf(sheet)).map(({ value }) => value),
    [`${A}/0`],
  );
});

test('an archive of lists without URLs is refused for that', async (t) => {
  t.is((await failureOf(t, 'x.zip', await zip({ 'a.csv': 'n,url\n1,\n', 'b.csv': 'n,url\n2,\n' }))).code, 'no_urls');
});

test('thousands of links in a paragraph are all found', async (t) => {
  const links = Array.from({ length: 2_500 }, (_, i) => `<text:a xlink:href="${A}/${i}">x</text:a>`).join('');
  const content = `<office:document-content><text:p>${links} and <text:a xlink:href="${B.replace('&', '&amp;')}">y</text:a></text:p></office:document-content>`;
  const values = await valuesOf(t, 'x.odt', await zip({ mimetype: 'x', 'content.xml': content }));
  t.is(new Set(values).size, 2_501);
});
