// No format loses a link where the reader's pieces meet: each list is shifted over the borders, character by character.
import test from 'ava';
import { collectUrls } from '../../intake/collect-urls.ts';
import { open } from './uploads.ts';

const A = 'https://shop.example.org/spring/2026/garden?utm_source=mail&utm_medium=email&x=%C3%A4';
const B = 'https://b.example.org/2';
const html = (url: string) => url.replaceAll('&', '&amp;');

/** A list of each format with room before its links. `pad` may stand in it without meaning. */
const LISTS: Readonly<Record<string, (pad: string) => string>> = {
  'x.html': (pad) =>
    `<html><body>${pad}<a class="x" href="${html(A)}">a</a> <p>See ${html(A)}2 or ${B}.</p></body></html>`,
  'x.txt': (pad) => `${pad}\nSee ${A} or (${A}2), and\n${B}\n`,
  'x.csv': (pad) => `title,url\n"${pad}",${A}\n"x ""y""",${A}2\nz,${B}\n`,
  'x.json': (pad) => JSON.stringify({ pad, items: [A, `${A}2`, B].map((url) => ({ url })) }),
  'x.jsonl': (pad) => [A, `${A}2`, B].map((url) => JSON.stringify({ pad, url })).join('\n'),
  'sitemap.xml': (pad) =>
    `<urlset>${pad}${[A, `${A}2`, B].map((url) => `<url><loc>${html(url)}</loc></url>`).join('')}</urlset>`,
  'x.opml': (pad) =>
    `<opml><body>${pad}${[A, `${A}2`, B].map((url) => `<outline htmlUrl="${html(url)}"/>`).join('')}</body></opml>`,
  'x.rss': (pad) =>
    `<rss><channel>${pad}${[A, `${A}2`, B].map((url) => `<item><link>${url}</link></item>`).join('')}</channel></rss>`,
  'x.kml': (pad) => `<kml>${pad}<a href="${html(A)}"/><description>See ${html(A)}2 or ${B}.</description></kml>`,
  'x.ics': (pad) =>
    `BEGIN:VCALENDAR\r\nX:${pad}\r\nURL:${A.slice(0, 30)}\r\n ${A.slice(30)}\r\nDESCRIPTION:${A}2 or ${B}\r\nEND:VCALENDAR\r\n`,
  'x.eml': (pad) =>
    `Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n${pad}<a href="${html(A)}">a</a> ${html(A)}2 ${B}`,
};
/** The pieces in which readers work, and those that a file comes in. */
const BORDERS = [8 * 1024, 16 * 1024, 64 * 1024];

for (const [name, list] of Object.entries(LISTS)) {
  test(`${name} keeps its links wherever they stand in it`, async (t) => {
    const { length } = list('');
    for (const border of BORDERS) {
      // Steps that share no factor with the parts of the list; each run of tests takes each border at some thirty places.
      for (let shift = border - length; shift <= border; shift += 11) {
        const content = list(' '.repeat(Math.max(0, shift)));
        const sheet = await open(t, name, content);
        const urls = (await Array.fromAsync(collectUrls(sheet.cells()))).flat();
        t.deepEqual([...new Set(urls)].sort(), [B, A, `${A}2`].sort(), `${name} shifted by ${shift}`);
      }
    }
  });
}

test('a page of one long text cuts no URL', async (t) => {
  const urls = Array.from({ length: 3_000 }, (_, i) => `https://a.example.org/page/${i}`);
  const sheet = await open(t, 'x.html', `<html><pre>${urls.join('\n')}</pre>`);
  t.deepEqual((await Array.fromAsync(collectUrls(sheet.cells()))).flat(), urls);
});
