// Every attempt at a URL is accounted for, in each format: it is taken, or left out with its place and a reason; and the analysis counts the same.
import test from 'ava';
import fc from 'fast-check';
import type { LeftOut } from '../../commands/jobs/intake.ts';
import { analyzeUrls, collectPages } from '../../intake/collect-urls.ts';
import { inlineRow, ods, odsRow, open, workbook, zip } from './uploads.ts';

const RUNS = Number(process.env.FUZZ_RUNS ?? 25);
const BLOCKED = 'blocked.example.org';
const xml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

/** Makes a text of its own from a number. */
type Attempt = (n: number) => string;
const TAKEN: readonly Attempt[] = [
  (n) => `https://a${n}.example.org/`,
  (n) => `http://a.example.org:8080/x_(y)/${n}?a=1&b=2`,
  (n) => `HTTPS://A.example.org/${n}#top`,
  (n) => `https://xn--mnchen-3ya.example.org/%C3%A4/${n};v=1`,
  (n) => `https://a.example.org/ä/${n}`,
];
const LEFT_OUT: readonly Attempt[] = [
  (n) => `https://${BLOCKED}/${n}`,
  (n) => `https://https://a.example.org/${n}`,
  (n) => `https://a.example.org:99999/${n}`,
  (n) => `https://a.example.org/{{id${n}}}`,
  (n) => `htp://a.example.org/${n}`,
  (n) => `ftp://a.example.org/${n}`,
  (n) => `https://a..example.org/${n}`,
  (n) => `http://bad host/${n}`,
];

/** A list of texts in each format. */
const FORMATS: Readonly<Record<string, (texts: readonly string[]) => string | Promise<Buffer>>> = {
  'x.csv': (texts) => `id,url,note\n${texts.map((text, i) => `${i},${quoted(text)},"a, b"\n`).join('')}`,
  'x.tsv': (texts) => `id\turl\n${texts.map((text, i) => `${i}\t${text}\n`).join('')}`,
  'x.txt': (texts) => texts.join('\n'),
  'x.md': (texts) => `# Links\n\n${texts.map((text) => `- <${text}>\n`).join('')}`,
  'x.json': (texts) => JSON.stringify(texts.map((url, id) => ({ id, url }))),
  'x.jsonl': (texts) => texts.map((url) => `${JSON.stringify({ url })}\n`).join(''),
  'sitemap.xml': (texts) => `<urlset>${texts.map((text) => `<url><loc>${xml(text)}</loc></url>`).join('')}</urlset>`,
  'x.rss': (texts) =>
    `<rss><channel>${texts.map((text) => `<item><link>${xml(text)}</link></item>`).join('')}</channel></rss>`,
  'x.opml': (texts) =>
    `<opml><body>${texts.map((text) => `<outline text="x" xmlUrl="${xml(text)}"/>`).join('')}</body></opml>`,
  'x.html': (texts) =>
    `<html><body>${texts.map((text) => `<p><a href="${xml(text)}">x</a></p>\n`).join('')}</body></html>`,
  'x.eml': (texts) =>
    `Message-ID: <1@x>\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n${texts.map((text) => `<a href="${xml(text)}">x</a>\n`).join('')}`,
  'x.xlsx': (texts) =>
    workbook({ sheets: [[inlineRow('id', 'url'), ...texts.map((text, i) => inlineRow(`${i}`, xml(text)))].join('')] }),
  'x.ods': (texts) => ods([odsRow('id', 'url'), ...texts.map((text, i) => odsRow(`${i}`, xml(text)))].join('')),
  'x.odt': (texts) =>
    zip({
      mimetype: 'application/vnd.oasis.opendocument.text',
      'content.xml': `<office:document-content><office:text>${texts.map((text) => `<text:p><text:a xlink:href="${xml(text)}">x</text:a></text:p>`).join('')}</office:text></office:document-content>`,
    }),
  'x.zip': (texts) => zip({ 'list.csv': `id,url\n${texts.map((text, i) => `${i},${quoted(text)}\n`).join('')}` }),
};

const index = (makers: readonly Attempt[]) => fc.integer({ min: 0, max: makers.length - 1 });
const list = fc.record({
  taken: fc.array(index(TAKEN), { minLength: 4, maxLength: 12 }),
  left_out: fc.array(index(LEFT_OUT), { maxLength: 3 }),
  repeated: fc.nat(3),
});

for (const [name, content] of Object.entries(FORMATS)) {
  test(`each attempt at a URL in ${name} is taken, or left out with its place`, async (t) => {
    await fc.assert(
      fc.asyncProperty(list, async ({ taken, left_out, repeated }) => {
        const urls = taken.map((maker, n) => TAKEN[maker]!(n));
        const others = left_out.map((maker, n) => LEFT_OUT[maker]!(n));
        const texts = [...urls, ...others, ...urls.slice(0, repeated)];
        const sheet = await open(t, name, await content(texts));
        const left: LeftOut[] = [];
        const options = { blocked_domain_of: (host: string) => (host === BLOCKED ? BLOCKED : null) };
        const log = { add: (entry: LeftOut) => void left.push(entry), drained: () => undefined };
        const collected = collectPages(sheet.cells(), { ...options, left_out: log });
        const found = (await Array.fromAsync(collected)).flatMap((page) => page.urls);
        t.deepEqual(found, urls);
        const whole = left.map(({ value }) => value).join('\n');
        for (const text of others) t.true(whole.includes(text), `${text} is told of among ${whole}`);
        // A message has the same links as text and as a page.
        if (name !== 'x.eml') t.is(left.filter(({ reason }) => reason === 'duplicate').length, repeated);
        t.true(left.every(({ row, reason }) => row >= 1 && reason !== ''));
        const { summary } = collected;
        t.is(summary.total_rows, found.length + left.length);
        t.like(await analyzeUrls(sheet.cells(), options), {
          total_rows: summary.total_rows,
          categories: summary.categories,
        });
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
}
