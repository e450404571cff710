// Lists of URLs as people have them, one a kind, made by code. Each holds the three URLs of `URLS` and nothing else to check.
import { gzipSync } from 'node:zlib';
import type { SheetFormat } from '../../intake/formats.ts';
import { inlineRow, ods, odsRow, workbook } from './uploads.ts';

export const URLS = ['https://a.example/1', 'https://b.example/2?x=1&y=2', 'https://c.example/3#top'] as const;
const [A, B, C] = URLS;

export interface ListKind {
  kind: string;
  filename: string;
  content: string | Buffer | (() => Promise<Buffer>);
  format: SheetFormat;
  /** Texts of the file that intake lists as rejected. */
  rejected?: readonly string[];
}

const inCsv = (text: string) => `"${text.replaceAll('"', '""')}"`;

const TEXT_KINDS: readonly ListKind[] = [
  { kind: 'one URL a line', filename: 'x.txt', content: `${A}\n${B}\n${C}\n`, format: 'csv' },
  { kind: 'CSV, a column of URLs', filename: 'x.csv', content: `id,url\n1,${A}\n2,${B}\n3,${C}\n`, format: 'csv' },
  {
    kind: 'CSV, line breaks in a cell (Alt+Enter)',
    filename: 'x.csv',
    content: `name,urls\r\nx,"${A}\n${B}"\r\ny,${C}\r\n`,
    format: 'csv',
  },
  {
    kind: 'CSV, labels before the URLs of a cell',
    filename: 'x.csv',
    content: `name,links\nx,"Home: ${A}\nBlog: ${B}"\ny,Home: ${C}\n`,
    format: 'csv',
  },
  {
    kind: 'CSV, a URL with spaces or a note',
    filename: 'x.csv',
    content: `n,url\n1,${A}\n2,https://a.example/my report\n3,${B}\n4,${C}\n`,
    format: 'csv',
    rejected: ['https://a.example/my report'],
  },
  {
    kind: 'CSV, a title behind each URL',
    filename: 'x.csv',
    content: `n,url\n1,${A} Home\n2,${B} About us\n3,${C} Jobs\n`,
    format: 'csv',
  },
  {
    kind: 'CSV, commas and spaces in a cell',
    filename: 'x.csv',
    content: `name;urls\nx;${A}, ${B}\ny;${C}\n`,
    format: 'csv',
  },
  {
    kind: 'CSV, rows wider than the header',
    filename: 'x.csv',
    content: `n,urls\nx,${A},${B}\ny,${C}\n`,
    format: 'csv',
  },
  { kind: 'several URLs a line, commas', filename: 'x.csv', content: `${A},${B}\n${C}\n`, format: 'csv' },
  { kind: 'several URLs a line, commas and spaces', filename: 'x.txt', content: `${A}, ${B}, ${C}`, format: 'csv' },
  { kind: 'several URLs a line, semicolons', filename: 'x.csv', content: `${A};${B};${C}\n`, format: 'csv' },
  { kind: 'several URLs a line, tabs', filename: 'x.tsv', content: `${A}\t${B}\n${C}\t${A}\n`, format: 'csv' },
  { kind: 'several URLs a line, spaces', filename: 'x.txt', content: `${A} ${B}\n${C}\n`, format: 'csv' },
  { kind: 'a Python list', filename: 'x.txt', content: `['${A}', '${B}',\n '${C}']\n`, format: 'csv' },
  { kind: 'URLs in angle brackets', filename: 'x.txt', content: `<${A}>\n<${B}>, <${C}>\n`, format: 'csv' },
  { kind: 'a numbered list', filename: 'x.txt', content: `1. ${A}\n2. ${B}\n3) ${C}\n`, format: 'csv' },
  { kind: 'a dashed list', filename: 'x.txt', content: `- ${A}\n* ${B}\n• ${C}\n`, format: 'csv' },
  { kind: 'a checklist', filename: 'x.txt', content: `- [ ] ${A}\n- [x] ${B}\n- [ ] ${C}\n`, format: 'csv' },
  {
    kind: 'Markdown',
    filename: 'x.md',
    content: `# Links\n\nSee [a](${A} "A"), <${B}> and\nmore text, without any.\n\n- [![c](${C})](${A})\n`,
    format: 'text',
  },
  {
    kind: 'Markdown, link definitions',
    filename: 'x.md',
    content: `# x\n[a]: ${A}\n[b]: <${B}> "b"\n[c]: ${C}\n`,
    format: 'text',
  },
  {
    kind: 'Markdown, a table',
    filename: 'x.md',
    content: `| n | url |\n|---|-----|\n| a | ${A} |\n| b | [b](${B}) |\n| c | <${C}> |\n`,
    format: 'text',
  },
  {
    kind: 'Markdown links in cells',
    filename: 'x.csv',
    content: `n,link\nx,[x](${A})\ny,[y](${B})\nz,"[z, z](${C})"\n`,
    format: 'csv',
  },
  {
    kind: '=HYPERLINK() in cells',
    filename: 'x.csv',
    content: `n,link\nx,${inCsv(`=HYPERLINK("${A}","x")`)}\ny,${inCsv(`=LIEN_HYPERTEXTE("${B}";"y")`)}\nz,${inCsv(`=HYPERLINK("${C}")`)}\n`,
    format: 'csv',
  },
  {
    kind: 'zero-width characters',
    filename: 'x.txt',
    content: `\ufeff\u200b${A}\n${B.slice(0, 12)}\u2060${B.slice(12)}\n\ufeff${C}\u200d\n`,
    format: 'csv',
  },
  {
    kind: "R's write.table",
    filename: 'x.txt',
    content: `"url" "status"\n"1" "${A}" 200\n"2" "${B}" 404\n"3" "${C}" 200\n`,
    format: 'csv',
  },
  {
    kind: "R's write.table, tabs",
    filename: 'x.tsv',
    content: `url\tstatus\n1\t${A}\t200\n2\t${B}\t404\n3\t${C}\t200\n`,
    format: 'csv',
  },
  { kind: "R's print", filename: 'x.txt', content: `[1] "${A}" "${B}"\n[3] "${C}"\n`, format: 'csv' },
  {
    kind: 'an e-mail',
    filename: 'x.txt',
    content: `Dear all,\nplease look at ${A}.\nAlso (${B})!\n\nBye\n${C}\n`,
    format: 'text',
  },
  {
    kind: 'robots.txt',
    filename: 'robots.txt',
    content: `Sitemap: ${A}\nSitemap: ${B}\nSitemap: ${C}\n`,
    format: 'csv',
  },
  {
    kind: 'Windows-1252 with notes',
    filename: 'x.csv',
    content: Buffer.from(`größe;link\nklein;${A}\ngroß;${B}\nweiß;${C}\n`, 'latin1'),
    format: 'csv',
  },
  {
    kind: 'UTF-16 of Excel',
    filename: 'x.txt',
    content: Buffer.from(`\ufeffname\tlink\r\nä\t${A}\r\nb\t${B}\r\nc\t${C}\r\n`, 'utf16le'),
    format: 'csv',
  },
];

const xml = (text: string) => text.replaceAll('&', '&amp;');
const urlset =
  `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i">` +
  `<url><loc>${A}</loc><image:image><image:loc>https://img.example/</image:loc></image:image></url>` +
  `<url>\n<loc>\n${xml(B)}\n</loc><lastmod>2026-01-31</lastmod></url><url><loc><![CDATA[${C}]]></loc></url></urlset>`;
const index = `<sitemapindex>${URLS.map((url) => `<sitemap><loc>${xml(url)}</loc></sitemap>`).join('')}</sitemapindex>`;
const page = `<!doctype html>
<html><head><title>https://t.example/</title><script>const s = 'https://s.example/';</script></head><body>
<!-- <a href="https://c.example/hidden">x</a> --><a href="${xml(B)}">b</a> <A HREF='${A}'>${A}</A>
<p>Or ${C}.</p><a href="#top">up</a> <a href="/about">about</a> <a href="mailto:a@b.example">write</a></body></html>`;

const STRUCTURED_KINDS: readonly ListKind[] = [
  { kind: 'JSON, an array', filename: 'x.json', content: JSON.stringify(URLS), format: 'json' },
  {
    kind: 'JSON, objects',
    filename: 'x.json',
    content: JSON.stringify(
      URLS.map((url, id) => ({ id, url, title: `no ${id}` })),
      null,
      2,
    ),
    format: 'json',
  },
  {
    kind: 'JSON, objects in objects',
    filename: 'x.json',
    content: JSON.stringify({ data: { items: URLS.map((url) => ({ page: { url } })) }, next: null }),
    format: 'json',
  },
  {
    kind: 'JSON lines',
    filename: 'x.jsonl',
    content: URLS.map((url) => `${JSON.stringify({ url })}\n`).join(''),
    format: 'json',
  },
  { kind: 'JSON lines of arrays', filename: 'x.jsonl', content: `["${A}","${B}"]\n["${C}"]\n`, format: 'json' },
  {
    kind: 'JSON lines of texts',
    filename: 'x.jsonl',
    content: URLS.map((url) => `"${url}"\n`).join(''),
    format: 'csv',
  },
  { kind: 'sitemap.xml', filename: 'sitemap.xml', content: urlset, format: 'sitemap' },
  { kind: 'sitemap.xml.gz', filename: 'sitemap.xml.gz', content: gzipSync(urlset), format: 'sitemap' },
  { kind: 'sitemap.xml, an index', filename: 'sitemap.xml', content: index, format: 'sitemap' },
  { kind: 'CSV in gzip', filename: 'x.csv.gz', content: gzipSync(`id,url\n1,${A}\n2,${B}\n3,${C}\n`), format: 'csv' },
  { kind: 'HTML', filename: 'x.html', content: page, format: 'html', rejected: ['/about', 'mailto:a@b.example'] },
  {
    kind: 'HTML, a table without links',
    filename: 'x.xls',
    content: `<table>${URLS.map((url) => `<tr><td>x</td><td>${xml(url)}</td></tr>`).join('')}</table>`,
    format: 'html',
  },
  {
    kind: "HTML, a browser's bookmarks",
    filename: 'bookmarks.html',
    content: `<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n${URLS.map((url) => `<DT><A HREF="${xml(url)}">x</A>\n`).join('')}</DL>`,
    format: 'html',
  },
  {
    kind: 'XLSX, line breaks in a cell',
    filename: 'x.xlsx',
    content: () =>
      workbook({ sheets: [inlineRow('n', 'url') + inlineRow('1', xml(`${A}\n${B}`)) + inlineRow('2', C)] }),
    format: 'xlsx',
  },
  {
    kind: 'XLSX, =HYPERLINK() and links',
    filename: 'x.xlsx',
    content: () =>
      workbook({
        sheets: [
          inlineRow('url') +
            `<row><c t="str"><f>HYPERLINK("${A}","a")</f><v>a</v></c></row>` +
            inlineRow('click') +
            inlineRow(`[c](${C})`),
        ],
        links: { A3: xml(B) },
      }),
    format: 'xlsx',
  },
  {
    kind: 'ODS',
    filename: 'x.ods',
    content: () =>
      ods(
        odsRow('n', 'url') +
          odsRow('1', `<text:p>${A}</text:p><text:p>${xml(B)}</text:p>`) +
          odsRow('2', `<text:p><text:a xlink:href="${C}">here</text:a></text:p>`) +
          '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>',
      ),
    format: 'ods',
  },
  {
    kind: 'ODS, =HYPERLINK()',
    filename: 'x.ods',
    content: () =>
      ods(
        URLS.map(
          (url) =>
            `<table:table-row><table:table-cell table:formula="of:=HYPERLINK(&quot;${xml(url)}&quot;;&quot;x&quot;)">` +
            '<text:p>x</text:p></table:table-cell></table:table-row>',
        ).join(''),
      ),
    format: 'ods',
  },
];

export const LIST_KINDS: readonly ListKind[] = [...TEXT_KINDS, ...STRUCTURED_KINDS];
