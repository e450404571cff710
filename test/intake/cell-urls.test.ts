import test from 'ava';
import fc from 'fast-check';
import { urlsInCell } from '../../intake/cell-urls.ts';
import { bounded, hostileText } from '../support/hostile-text.ts';

const A = 'https://a.example/1';
const B = 'https://b.example/2';

for (const [cell, texts] of [
  [`${A},${B}`, [A, B]],
  [`"1" "${A}" 200`, [A]],
  ['www.a.example and www.b.example', ['www.a.example', 'www.b.example']],
  ['a.example, b.example', ['a.example', 'b.example']],
  [`${A}, b.example`, [A]],
  ['http://my site.invalid/', ['http://my site.invalid/']],
  ['http://bad host/', ['http://bad host/']],
  ['https://a.com b.com', ['https://a.com b.com']],
  ['see http://my site.com/x and more', ['http://my site.com/x']],
  ['https://a.com/ok/[x](y)', ['https://a.com/ok/[x](y)']],
  [`${A}\nhtp://b.example`, [A, 'htp://b.example']],
  [`see ${A}. And (${B}).`, [A, B]],
  ['https://a.com is good', ['https://a.com']],
  ['https://a.com/x - is good', ['https://a.com/x']],
  ['good (https://a.com) and a.pdf', ['https://a.com']],
  [`[${A}](${A})`, [A]],
  ['(https://en.wikipedia.org/wiki/A_(b))', ['https://en.wikipedia.org/wiki/A_(b)']],
  ['URL=https://a.example/1', [A]],
  [`${A},`, [A]],
  ['ftp://a.example/x', ['ftp://a.example/x']],
] as const) {
  test(`${JSON.stringify(cell)} holds ${texts.join(' and ')}`, (t) => {
    t.deepEqual(urlsInCell(cell).texts, texts);
  });
}

for (const cell of [
  'https://en.wikipedia.org/wiki/A_(b)',
  'https://web.archive.org/web/2020/https://b.example/',
  'https://a.example/?u=https://b.example/,c;d|e',
  'https://a.example/1,2;3',
  'https://a.example/My File.pdf',
  'example.com/a,b.html',
  'not a url',
  'a.com is good',
  'https://a.com/docs/My File.pdf',
  'https:// is good',
  '=HYPERLINK("https://a.example/"&A2,"x")',
  'https://a.example/\u{1f468}\u200d\u{1f469}',
]) {
  test(`${JSON.stringify(cell)} is one text`, (t) => {
    t.deepEqual(urlsInCell(cell).texts, [cell]);
  });
}

const url = fc
  .tuple(
    fc.constantFrom('https://', 'http://', 'HTTPS://'),
    fc.constantFrom('a.example', 'b.example:8080', 'bücher.example', '127.0.0.1'),
    fc.constantFrom('', '/', '/x', '/x_(y)', '/a-b~c', '/?q=1&r=%20', '/x/https://c.example/', '/#top', '/a=b@c'),
  )
  .map((parts) => parts.join(''));
const ways: readonly ((urls: readonly string[]) => string)[] = [
  ...[' ', ', ', '\n', '; ', ',', ';', '|', '\r\n', ' | ', '\t'].map(
    (by) => (urls: readonly string[]) => urls.join(by),
  ),
  (urls) => JSON.stringify(urls),
  (urls) => urls.map((one) => `<${one}>`).join(''),
  (urls) => urls.map((one) => `[label, 1](${one} "title")`).join(' and '),
  (urls) => urls.map((one, i) => `${i + 1}. ${one}\n`).join(''),
  (urls) => urls.map((one) => `* \u200b"${one}",`).join('\n'),
  (urls) => urls.map((one) => `see ${one} .`).join(' '),
];

test('a cell gives back the URLs that were joined in it, whatever separates them', (t) => {
  fc.assert(
    fc.property(fc.array(url, { minLength: 1, maxLength: 8 }), fc.constantFrom(...ways), (urls, together) => {
      t.deepEqual(urlsInCell(together(urls)).texts, urls);
    }),
    { numRuns: 2_000 },
  );
});

const SYNTAX = [
  ...['https://', 'www.', A, '[a](', '](', ')', '(', '<', '>', '"', '""', "'", ',', ';', '|', '\n', '- ', '1. ', '['],
  ...[']', '["', '=HYPERLINK("', '=', ':', '\u200b', '\u200d', 'a.example', '://', '#', '!['],
];

test('any cell splits quickly into trimmed texts that are not empty', (t) => {
  fc.assert(
    fc.property(hostileText(SYNTAX), (text) => {
      const { texts } = bounded(() => urlsInCell(text));
      return texts.every((one) => one === one.trim() && one !== '');
    }),
    { numRuns: Number(process.env.FUZZ_RUNS ?? 500), endOnFailure: true },
  );
  t.pass();
});

test('the time for a megabyte of any syntax grows only with its length', (t) => {
  for (const piece of [...SYNTAX, `${A},`, `[a](${A})`, ' (', '. ', 'a= ']) {
    for (const [start, end] of [
      ['', ''],
      ['x ', ' y'],
      [`${A} `, ''],
    ]) {
      const before = process.threadCpuUsage().user;
      urlsInCell(start + piece.repeat(1e6 / piece.length) + end);
      t.true(process.threadCpuUsage().user - before < 4_000_000, piece);
    }
  }
});
