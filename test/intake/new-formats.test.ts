// Formats that people bring beside tables: feeds, outlines, documents, mails, archives of lists, trees and rows of JSON.
import { deflateSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { collectUrls } from '../../intake/collect-urls.ts';
import { failureOf, open, valuesOf, zip } from './uploads.ts';

const A = 'https://a.example.org/1';
const B = 'https://b.example.org/2?x=1&y=2';
const C = 'https://c.example.org/3';
const xml = (text: string) => text.replaceAll('&', '&amp;');

const rels = (links: readonly string[]) =>
  `<Relationships>${links.map((link, i) => `<Relationship Id="r${i}" Type="x/hyperlink" Target="${xml(link)}" TargetMode="External"/>`).join('')}</Relationships>`;
const ROOT_RELS = (target: string) =>
  `<Relationships><Relationship Id="r" Type="x/officeDocument" Target="${target}"/></Relationships>`;

const docx = () =>
  zip({
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': ROOT_RELS('word/document.xml'),
    'word/document.xml': `<w:document><w:body><w:p><w:hyperlink r:id="r0"><w:r><w:t>here</w:t></w:r></w:hyperlink></w:p><w:p><w:r><w:t>or ${xml(B)}.</w:t></w:r></w:p><w:p><w:r><w:instrText> HYPERLINK "${C}" </w:instrText></w:r><w:r><w:t>x</w:t></w:r></w:p></w:body></w:document>`,
    'word/_rels/document.xml.rels': rels([A]),
  });
const pptx = () =>
  zip({
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': ROOT_RELS('ppt/presentation.xml'),
    'ppt/presentation.xml': '<p:presentation/>',
    'ppt/slides/slide1.xml': `<p:sld><a:p><a:r><a:rPr><a:hlinkClick r:id="r0"/></a:rPr><a:t>x</a:t></a:r></a:p><a:p><a:r><a:t>${xml(B)} ${C}</a:t></a:r></a:p></p:sld>`,
    'ppt/slides/_rels/slide1.xml.rels': rels([A]),
  });
const odt = () =>
  zip({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'content.xml': `<office:document-content><office:body><office:text><text:p>see <text:a xlink:href="${A}">a</text:a> and ${xml(B)}</text:p><text:h>${C}</text:h></office:text></office:body></office:document-content>`,
  });

const MAIL = [
  'From: x <x@example.org>',
  'Subject: links',
  'MIME-Version: 1.0',
  'Content-Type: multipart/alternative; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  `Look at ${A} and https://b.example.org/2?x=3D1=`,
  '&y=3D2 please',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from(`<p><a href="${A}">a</a> <a href="${xml(B)}">b</a> <a href="${C}">c</a></p>`).toString('base64'),
  '--b--',
  '',
].join('\r\n');

for (const [kind, name, content] of [
  [
    'RSS',
    'x.rss',
    `<?xml version="1.0"?><rss><channel><title>t</title><link>${A}</link><item><title>x</title><link>${xml(B)}</link></item><item><link><![CDATA[${C}]]></link></item></channel></rss>`,
  ],
  [
    'RSS 1.0',
    'x.rdf',
    `<?xml version="1.0"?><rdf:RDF><channel><link>${A}</link></channel><item><link>${xml(B)}</link></item><item><link>${C}</link></item></rdf:RDF>`,
  ],
  [
    'Atom',
    'x.xml',
    `<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="https://self.example.org/"/><link href="${A}"/><entry><link rel="alternate" href="${xml(B)}"/></entry><entry><link href="${C}"/></entry></feed>`,
  ],
  [
    'OPML',
    'x.opml',
    `<?xml version="1.0"?><opml><body><outline text="f"><outline xmlUrl="${A}" htmlUrl="${xml(B)}"/><outline url="${C}"/></outline></body></opml>`,
  ],
  [
    'an empty line before the XML declaration',
    'x.xml',
    `\n<?xml version="1.0"?><urlset>${[A, B, C].map((url) => `<url><loc>${xml(url)}</loc></url>`).join('')}</urlset>`,
  ],
  ['a mail', 'x.eml', MAIL],
  ['a mail in gzip', 'x.eml.gz', gzipSync(MAIL)],
  [
    'a mail with a list attached',
    'x.eml',
    [
      'Subject: x',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      A,
      '--b',
      'Content-Type: text/csv; name=list.csv',
      'Content-Disposition: attachment; filename=list.csv',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.from(`n,url\n1,${B}\n`).toString('base64'),
      '--b',
      'Content-Type: message/rfc822',
      '',
      'Subject: y',
      '',
      C,
      '--b--',
    ].join('\r\n'),
  ],
  [
    'RSS whose items have no link but an identity',
    'x.rss',
    `<rss><channel><item><guid>${A}</guid></item><item><guid isPermaLink="false">https://id.example.org/</guid><link>${xml(B)}</link></item><item><link>${C}</link></item></channel></rss>`,
  ],
  [
    'Excel 2003 XML',
    'x.xml',
    `<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook xmlns="urn:x" xmlns:ss="http://schemas.example.org/"><Worksheet><Table><Row><Cell><Data>url</Data></Cell></Row><Row><Cell ss:HRef="${A}"><Data>${A}</Data></Cell></Row><Row><Cell ss:HRef="${xml(B)}"><Data>b</Data></Cell></Row><Row><Cell><Data>${C}</Data></Cell></Row></Table></Worksheet></Workbook>`,
  ],
  [
    'FODS',
    'x.fods',
    `<?xml version="1.0"?><office:document><table:table-row><table:table-cell><text:p><text:a xlink:href="${A}">a</text:a> and ${xml(B)} too</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>${C}</text:p></table:table-cell></table:table-row></office:document>`,
  ],
  [
    'XBEL',
    'x.xbel',
    `<?xml version="1.0"?><!DOCTYPE xbel><xbel><folder><bookmark href="${A}"><title>a</title></bookmark></folder><bookmark href="${xml(B)}"/><bookmark href="${C}"/></xbel>`,
  ],
  [
    'a mailbox',
    'x.mbox',
    `From a@b Mon Jan  5 10:00:00 2026\nSubject: x\nMessage-ID: <1@x>\n\n${A}\n\nFrom a@b Mon Jan  5 10:00:00 2026\nSubject: y\nMessage-ID: <2@x>\n\n${B}\n${C}\n`,
  ],
  [
    'a tree of JSON',
    'x.json',
    JSON.stringify({
      roots: { bar: { children: [{ url: A }, { children: [{ url: B }] }] }, other: { children: [{ url: C }] } },
    }),
  ],
  ['lists of JSON beside each other', 'x.json', JSON.stringify({ news: [A, B], jobs: [C] })],
  [
    'JSON with a URL of another scheme first',
    'x.json',
    JSON.stringify({ repository: 'git+ssh://x.example.org/y.git', author: { url: A }, home: B, funding: C }),
  ],
  ['a map of JSON', 'x.json', JSON.stringify({ home: A, about: B, name: 'x', jobs: C })],
  ['a map of JSON by URL', 'x.json', JSON.stringify({ [A]: 200, [B]: 404, [C]: 200 })],
  [
    'rows of JSON',
    'x.json',
    JSON.stringify([
      ['id', 'name', 'original'],
      [1, 'x', A],
      [2, 'y', B],
      [3, 'z', C],
    ]),
  ],
  [
    'rows of JSON without a header',
    'x.json',
    JSON.stringify([
      [1, 'x', A],
      [2, 'y', B],
      [3, 'z', C],
    ]),
  ],
  [
    'a line break in a link',
    'x.html',
    `<a href="https://a.example.org\n/1">a</a><a href="${xml(B)}">b</a><a href="\t${C}">c</a>`,
  ],
  [
    'an Internet shortcut, and BibTeX',
    'x.bib',
    `[InternetShortcut]\nURL=${A}\n@misc{x, url = {${B}}, note = "\\url{${C}}"}\n`,
  ],
] as const) {
  test(`the URLs of ${kind} are found, and no others`, async (t) => {
    const sheet = await open(t, name, content);
    const urls = (await Array.fromAsync(collectUrls(sheet.cells()))).flat();
    t.deepEqual(urls.sort(), [A, B, C]);
  });
}

for (const [kind, make] of Object.entries({ docx, pptx, odt })) {
  test(`the links of a ${kind} are found, and the URLs in its text`, async (t) => {
    t.deepEqual((await valuesOf(t, `x.${kind}`, await make())).sort(), [A, B, C]);
  });
}

test('a Word document without links is refused as one', async (t) => {
  const content = await zip({
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': ROOT_RELS('word/document.xml'),
    'word/document.xml': `<w:document><w:body><w:p><w:r><w:t>${A}</w:t></w:r></w:p></w:body></w:document>`,
  });
  t.regex((await failureOf(t, 'x.docx', content)).message, /Word document has no links/);
});

test('a ZIP archive of lists is read as a workbook of sheets', async (t) => {
  const content = await zip({
    '__MACOSX/x.csv': 'x',
    'Queries.csv': 'query,clicks\ngarden,3\nlight,2\n',
    'Pages.csv': `page,clicks\n${A},3\n${B},2\n`,
    'Other.txt': `${C}\n`,
  });
  const sheet = await open(t, 'export.zip', content);
  t.like(sheet, { sheet_name: 'pages.csv', format: 'csv', warnings: ['several_sheets'] });
  t.deepEqual(
    (await Array.fromAsync(sheet.cells())).flat().map(({ value }) => value),
    [A, B],
  );
  t.deepEqual(
    sheet.other_sheets?.map(({ sheet_name }) => sheet_name),
    ['other.txt'],
  );
  const other = await open(t, 'export.zip', content, {}, { sheet: 'Other.txt' });
  t.deepEqual(
    (await Array.fromAsync(other.cells())).flat().map(({ value }) => value),
    [C],
  );
});

test('all columns with URLs are taken where the client says so', async (t) => {
  const csv = `name,page,referrer\nx,${A},${B}\ny,${C},\n`;
  const sheet = await open(t, 'x.csv', csv, {}, { column: '*' });
  t.deepEqual((await Array.fromAsync(sheet.cells())).flat(), [
    { row: 2, column: 1, value: A },
    { row: 2, column: 2, value: B },
    { row: 3, column: 1, value: C },
  ]);
  t.deepEqual(sheet.warnings, []);
});

test('a list of names alone has a warning, unless its header says what they are', async (t) => {
  t.deepEqual((await open(t, 'x.txt', 'example.com\nexample.org\n')).warnings, ['names_only']);
  t.deepEqual((await open(t, 'x.csv', 'name,website\nx,example.com\ny,example.org\n')).warnings, []);
});

for (const [kind, name, content] of [
  ['file names', 'x.csv', 'id,photo\n1,IMG_0001.png\n2,HOWTO.md\n3,run.sh\n'],
  ['identifiers', 'x.txt', 'St.Konrad\n31.23\nv1.2.3\njava.lang.String\n'],
  ['sentences without spaces', 'x.txt', '这是一个句子。下一句\n另一个句子。完\n'],
  ['names here and there among words', 'x.csv', 'id,note\n1,hello\n2,see you\n3,amazon.com\n4,ok\n5,no\n'],
] as const) {
  test(`no job is made of ${kind}`, async (t) => {
    t.is((await failureOf(t, name, content)).code, 'no_urls');
  });
}

const pdf = (...objects: (string | Buffer)[]) =>
  Buffer.concat(
    ['%PDF-1.7\n', ...objects.flatMap((one) => [one, '\n'])].map((one) => Buffer.from(one as string, 'latin1')),
  );
const stream = (dictionary: string, data: Buffer) =>
  Buffer.concat([
    Buffer.from(`<< ${dictionary} /Length ${data.length} >>\nstream\r\n`),
    data,
    Buffer.from('\nendstream\nendobj'),
  ]);
const annotation = (uri: string) => `1 0 obj << /Subtype /Link /A << /S /URI /URI ${uri} >> >> endobj`;

test('the links of a PDF document are found, in plain and in compressed objects', async (t) => {
  const content = pdf(
    annotation(`(${A})`),
    stream('/Filter /FlateDecode', deflateSync(`(https://text.example.org/) Tj`)),
    stream(
      '/Type /ObjStm /N 1 /First 5 /Filter /FlateDecode',
      deflateSync(`1 0 ${annotation('(https://b.example.org/\\(x\\)/\\050y(z))')}`),
    ),
    annotation(`<${Buffer.from(C).toString('hex')}>`),
  );
  t.like(await open(t, 'x.pdf', content), { format: 'pdf' });
  t.deepEqual(await valuesOf(t, 'x.pdf', content), [A, 'https://b.example.org/(x)/(y(z)', C]);
});

for (const [kind, content, code, message] of [
  ['without links', pdf(`(${A}) Tj`), 'no_urls', /PDF document has no links/],
  [
    'with a password',
    pdf(annotation('(x)'), 'trailer << /Encrypt 5 0 R >>'),
    'not_a_table',
    /PDF document with a password/,
  ],
  [
    'that inflates to a bomb',
    pdf(stream('/Type /ObjStm', deflateSync(Buffer.alloc(9 * 1024 * 1024)))),
    'zip_bomb',
    /PDF document inflates/,
  ],
] as const) {
  test(`a PDF document ${kind} is refused as one`, async (t) => {
    const failure = await failureOf(t, 'x.pdf', content);
    t.is(failure.code, code);
    t.regex(failure.message, message);
  });
}

test('prose whose URLs stand on lines of their own is no table of its sentences', async (t) => {
  const text = `You may not use this file except in compliance.\n\n    ${A}\n\nUnless required by law or agreed to in writing it is so.\n`;
  const sheet = await open(t, 'LICENSE.txt', text);
  t.is(sheet.format, 'text');
  t.deepEqual((await Array.fromAsync(sheet.cells())).flat(), [{ row: 3, value: A }]);
});

test('lists of URLs beside each other in JSON are taken, however many there are', async (t) => {
  const urls = Array.from({ length: 300 }, (_, i) => `${A}${i}`);
  const content = JSON.stringify(Object.fromEntries(urls.map((url, i) => [`list ${i}`, [url]])));
  const sheet = await open(t, 'x.json', content);
  t.like(sheet, { warnings: [], other_columns: [] });
  t.deepEqual(await valuesOf(t, 'x.json', content), urls);
});

test('the lists of JSON lines are rows of a table', async (t) => {
  const content = `["name","page"]\n["x","${A}"]\n["y","${B}"]\n`;
  t.deepEqual((await Array.fromAsync((await open(t, 'x.jsonl', content)).cells())).flat(), [
    { row: 2, value: A },
    { row: 3, value: B },
  ]);
});
