// Lists of kinds that people reported as lost, cut or charged for nothing, here or of other tools: exactly the URLs that are meant are taken.
import test from 'ava';
import { collectUrls } from '../../intake/collect-urls.ts';
import { failureOf, inlineRow, open, valuesOf, workbook, zip } from './uploads.ts';

const A = 'https://a.example.org/1';
const B = 'https://b.example.org/2?x=1&y=2';
const C = 'https://c.example.org/3';
const xml = (text: string) => text.replaceAll('&', '&amp;');

for (const [kind, name, content, urls] of [
  [
    'quotes that nothing closes, between tabs',
    'x.tsv',
    `n\turl\n5" disk\t${A}\n"x "y" z"\t${B}\n"open\t${C}\n`,
    [A, B, C],
  ],
  ['items of JSON of two kinds', 'x.json', JSON.stringify([A, { url: C }]), [A, C]],
  ['items of JSON with other names', 'x.json', JSON.stringify([{ url: A, image_url: B }, { link: C }]), [A, C]],
  ['the end of a text of DOS', 'x.txt', `${A}\r\n${C}\u001a`, [A, C]],
  [
    'an export of a wiki',
    'x.xml',
    `<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo><base>https://wiki.example.org/Main</base></siteinfo><page><revision><text>See [${A} x] and {{cite|url=${xml(B)}|title=y}}</text></revision></page></mediawiki>`,
    [A, B],
  ],
  [
    'references of EndNote',
    'x.xml',
    `<?xml version="1.0"?><xml><records><record><urls><related-urls><url><style face="normal">${xml(B)}</style></url></related-urls></urls></record></records></xml>`,
    [B],
  ],
  [
    'references of Zotero',
    'x.rdf',
    `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:bib="http://purl.org/net/biblio#"><bib:Document rdf:about="${A}"><dc:identifier><dcterms:URI><rdf:value>${A}</rdf:value></dcterms:URI></dc:identifier></bib:Document></rdf:RDF>`,
    [A],
  ],
  ['a line of Slack with bars', 'x.txt', `<${A}|one> <${B}>\n`, [A, B]],
  ['links of Jira and Confluence', 'x.txt', `See [here|${A}] and [there|${B}] of these`, [A, B]],
  ['links of Creole', 'x.txt', `[[${A}|label]] and [[${B}]]`, [A, B]],
  ['hidden texts of Discord', 'x.txt', `<${A}> and ||${B}|| spoiler`, [A, B]],
  ['a Link header', 'x.txt', `Link: <${A}>; rel="next", <${B}>; rel="last"\n`, [A, B]],
  ['the repr of Python', 'x.txt', `[{'url': '${A}', 'n': 1}, {'url': '${B}', 'n': None}]`, [A, B]],
  ['JSONP', 'x.txt', `callback({"url":"${A}","u":"${B}"});`, [A, B]],
  [
    'a dump of SQL',
    'x.sql',
    `INSERT INTO t VALUES (1,'a','${A}'),(2,'b','${B}');\nINSERT INTO t VALUES (3,'c','${C}');\n`,
    [A, B, C],
  ],
  ['a script', 'x.sh', `#!/bin/sh\nwget ${A}; curl '${B}' && echo ok\n`, [A, B]],
  ['Texinfo', 'x.txt', `@uref{${A}, label} and @url{${B}}\n`, [A, B]],
  ['a log of a chat', 'x.log', `[06:40] <nick> see ${A}\n[06:41] <nick2> ${B} :)\n`, [A, B]],
  ['cells between carets', 'x.csv', `id^url\n1^${A}\n2^${B}\n`, [A, B]],
  [
    'colours of a terminal',
    'x.log',
    `\u001b[32mok\u001b[0m\t\u001b[4m${A}\u001b[0m\n\u001b[31mbad\u001b[0m\t\u001b[4m${B}\u001b[0m\n`,
    [A, B],
  ],
  [
    'cells of many lines above the first URL',
    'x.csv',
    `id,text,link\n${Array.from({ length: 60 }, (_, n) => `${n},"${`${'A line of a letter. '.repeat(6)}\n`.repeat(25)}",\n`).join('')}61,x,${A}\n62,y,${C}\n`,
    [A, C],
  ],
  [
    'a mere quote far above the first URL',
    'x.tsv',
    `id\ttext\tlink\n${Array.from({ length: 2000 }, (_, n) => `${n}\t${n === 51 ? '"5 inches' : 'some text'}\t\n`).join('')}2001\tx\t${A}\n2002\ty\t${C}\n`,
    [A, C],
  ],
  ['a shortcut of Windows', 'x.url', `[InternetShortcut]\r\nIDList=\r\nURL=${A}\r\nIconIndex=1\r\n`, [A]],
  ['a link in SVG in a page', 'x.html', `<html><svg><a xlink:href="${A}"><text>x</text></a></svg></html>`, [A]],
  [
    'a URL that may break in a page',
    'x.html',
    '<html><p>https://a.example.org/<wbr>1 <b>https://</b>c.example.org/<em>3</em></p></html>',
    [A, C],
  ],
  [
    'enclosures of a podcast',
    'x.rss',
    `<rss><channel><item><link>${A}</link><enclosure url="${xml(B)}" type="audio/mpeg"/></item></channel></rss>`,
    [A, B],
  ],
  [
    'enclosures of Atom',
    'x.xml',
    `<feed xmlns="http://www.w3.org/2005/Atom"><entry><link rel="enclosure" href="${A}"/><link rel="via" href="${C}"/><link rel="edit" href="https://edit.example.org/"/></entry></feed>`,
    [A, C],
  ],
  [
    'markup in the texts of an outline',
    'x.opml',
    `<opml><body><outline text="See &lt;a href=&quot;${A}&quot;&gt;x&lt;/a&gt;"/><outline text="${C}" url="${C}"/><outline text="y" _note="or ${xml(B)} too"/></body></opml>`,
    [A, C, B],
  ],
  [
    'a list of Apple',
    'x.plist',
    `<?xml version="1.0"?><plist version="1.0"><array><string>${A}</string><string>${xml(B)}</string></array></plist>`,
    [A, B],
  ],
  [
    'a sitemap with a prefix',
    'x.xml',
    `<sm:urlset xmlns:sm="http://www.sitemaps.org/schemas/sitemap/0.9"><sm:url><sm:loc>${A}</sm:loc></sm:url></sm:urlset>`,
    [A],
  ],
  [
    'a sitemap behind a comment',
    'x.xml',
    `<!-- made by https://tool.example.org/ -->\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${A}</loc></url></urlset>`,
    [A],
  ],
  [
    'a link of Markdown with spaces',
    'x.md',
    '# x\n[a](<https://a.example.org/a b> "t")\n',
    ['https://a.example.org/a%20b'],
  ],
  ['notes behind URLs', 'x.txt', `See ${A}[1] and ${C}[2][3]. Then more words here follow\n`, [A, C]],
  [
    'JSON whose paths read like names of sites',
    'x.ipynb',
    JSON.stringify({ cells: [{ source: `see [x](${A})` }], metadata: { kernelspec: { name: 'python3' } } }),
    [A],
  ],
  [
    'a link in a formula in a formula',
    'x.csv',
    `n,l\n1,"=IF(A1=,,HYPERLINK(""${A}"",""x""))"\n2,"=HYPERLINK(""${C}"",""x"")"\n`,
    [A, C],
  ],
  [
    'a column named in Japanese',
    'x.csv',
    `画像,リンク\nhttps://i.example.org/1.png,${A}\nhttps://i.example.org/2.png,${C}\n`,
    [A, C],
  ],
  ['a permalink beside a thumbnail', 'x.csv', `thumbnail_url,permalink\nhttps://i.example.org/1.png,${A}\n`, [A]],
  ['links of Markdown with the label for the target', 'x.md', `See [${A}](cygwin) or [${C}](${B}).\n`, [A, B]],
  [
    'prose with a quote that never ends',
    'x.txt',
    `He said this about ${A} to us all:\n"It is all there, see ${B} for more of it\nAnd more of it is at ${C} today\n`,
    [A, B, C],
  ],
] as const) {
  test(`the URLs of ${kind} are found, and no others`, async (t) => {
    const sheet = await open(t, name, content);
    t.deepEqual((await Array.fromAsync(collectUrls(sheet.cells()))).flat(), [...urls]);
  });
}

for (const [kind, name, content, code] of [
  ['a picture in SVG', 'x.svg', `<svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>`, 'not_a_table'],
  [
    'a Maven project',
    'pom.xml',
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><version>1.2</version></project>`,
    'not_a_table',
  ],
  [
    'schemes that stand twice',
    'x.csv',
    'id,url\n1,https://https://a.example.org/1\n2,http://https//b.example.org\n',
    'no_urls',
  ],
] as const) {
  test(`no job is made of ${kind}`, async (t) => {
    t.is((await failureOf(t, name, content)).code, code);
  });
}

test('names of sites in one table give way to URLs in another', async (t) => {
  const queries = [
    ['Top queries', 'Clicks'],
    ['shop.example', '3'],
    ['a.example', '2'],
  ];
  const pages = [
    ['Top pages', 'Clicks'],
    [A, '3'],
    [C, '2'],
  ];
  const csvOf = (rows: string[][]) => rows.map((cells) => `${cells.join(',')}\n`).join('');
  const sheetOf = (rows: string[][]) => rows.map((cells) => inlineRow(...cells)).join('');
  for (const [name, content] of [
    ['x.zip', await zip({ 'Queries.csv': csvOf(queries), 'Pages.csv': csvOf(pages) })],
    ['x.xlsx', await workbook({ sheets: [sheetOf(queries), sheetOf(pages)] })],
  ] as const) {
    const sheet = await open(t, name, content);
    t.deepEqual(sheet.warnings, ['several_sheets'], name);
    t.deepEqual(
      sheet.other_sheets?.map((other) => other.name),
      ['Top queries'],
    );
    t.deepEqual(await valuesOf(t, name, content), [A, C]);
  }
});

test('a book is named, whose parts are named like lists', async (t) => {
  const content = await zip({ 'META-INF/container.xml': '<container/>', 'OEBPS/a.xhtml': `<a href="${A}">x</a>` });
  t.regex((await failureOf(t, 'x.epub', content)).message, /EPUB/);
});

test('a column is found whose first URL stands far below', async (t) => {
  for (const rows of [1_000, 20_000]) {
    const text = `a,b,c\n${'1,x,y.z\n'.repeat(rows)}2,${A},y\n3,${C},y\n`;
    const sheet = await open(t, 'x.csv', text);
    t.deepEqual([sheet.delimiter, sheet.column], [',', { index: 1, name: 'b' }]);
    t.deepEqual((await valuesOf(t, 'x.csv', text)).slice(-2), [A, C]);
  }
});

test('two columns that are named as sites are told of', async (t) => {
  const backlinks = `Referring page URL,Target URL\n${A},https://t.example.org/1\n${C},https://t.example.org/2\n`;
  t.deepEqual((await open(t, 'x.csv', backlinks)).warnings, ['several_columns']);
});

test('hyperlinks on thousands of ranges are all found', async (t) => {
  const ranges = Array.from({ length: 3_000 }, (_, i) => [`B${2 * i + 2}:B${2 * i + 3}`, `https://a.example.org/${i}`]);
  const rows = Array.from({ length: 6_000 }, (_, i) => inlineRow(`${i}`, 'here'));
  const content = await workbook({
    sheets: [inlineRow('n', 'url') + rows.join('')],
    links: Object.fromEntries(ranges),
  });
  const urls = await valuesOf(t, 'x.xlsx', content);
  t.is(urls.length, 6_000);
  t.is(new Set(urls).size, 3_000);
});

test('a link on one cell is found behind any number of links on ranges', async (t) => {
  const ranges = Array.from({ length: 100_001 }, (_, i) => [`C${i + 2}:D${i + 2}`, 'https://b.example/']);
  const links = Object.fromEntries([...ranges, ['A2', A]]);
  const content = await workbook({ sheets: [inlineRow('url') + inlineRow('here')], links });
  t.deepEqual(await valuesOf(t, 'x.xlsx', content), [A]);
});

test('a link in a formula of a workbook is found in another formula', async (t) => {
  const cell = `<row><c t="str"><f>IF(1=1,HYPERLINK("${A}","x"),"")</f><v>x</v></c></row>`;
  t.deepEqual(await valuesOf(t, 'x.xlsx', await workbook({ sheets: [inlineRow('url') + cell] })), [A]);
});

for (const [kind, before, ending] of [
  ['a sentence', 'Translations are available at', '.'],
  ['a sentence in brackets', 'It is answered elsewhere (see', ').'],
  ['a part of a sentence', 'There is more of it, as told in', ','],
] as const) {
  test(`a line of its own in prose ends ${kind}, and not its URL`, async (t) => {
    const text = `${before}\n${A}${ending}\nand on other pages, which are not named here.\n`;
    t.deepEqual(await valuesOf(t, 'x.md', text), [A]);
  });
}

test('the end of a URL is kept in a list, and not in prose', async (t) => {
  const inc = 'https://en.wikipedia.org/wiki/Apple_Inc';
  t.deepEqual(await valuesOf(t, 'x.txt', `${A}\n${inc}.\n`), [A, `${inc}.`]);
  t.deepEqual(await valuesOf(t, 'x.md', `# My links\n${A}\n\n${inc}.\n`), [A, inc]);
});
