// The URLs to which pages refresh.
import test from 'ava';
import { refreshOf } from '../../../checkers/engine/meta-refresh.ts';
import { leastCpuMs } from '../../support/cpu-time.ts';

const PAGE = new URL('https://a.example/x/y?q=1');
const meta = (content: string): string =>
  `<!doctype html><head><meta http-equiv="refresh" content="${content}"></head>`;

const ROWS: readonly [what: string, html: string, url: string | null][] = [
  ['at once', meta('0; url=/z'), 'https://a.example/z'],
  ['later', meta('5;URL=https://b.example/'), 'https://b.example/'],
  ['with a comma', meta('0, url=z'), 'https://a.example/x/z'],
  ['with quotes inside', meta("0; url='/z'"), 'https://a.example/z'],
  ['without url=', meta('0; /z'), 'https://a.example/z'],
  ['with an entity', meta('0; url=/z?a=1&amp;b=2'), 'https://a.example/z?a=1&b=2'],
  ['with numbered entities', meta('0; url=&#39;&#x2F;z&#39;'), 'https://a.example/z'],
  ['with named entities', meta('0&semi; url&equals;&quot;/z&quot;'), 'https://a.example/z'],
  ['with a query that looks like an entity', meta('0; url=/z?a=1&copy=2'), 'https://a.example/z?a=1&copy=2'],
  ['below the base of its page', `<base href="/b/">${meta('0; url=z')}`, 'https://a.example/b/z'],
  [
    'below the first base',
    `<base target=_top><BASE HREF='//b.example/'><base href=/no/>${meta('0; url=z')}`,
    'https://b.example/z',
  ],
  ['before a base', `${meta('0; url=z')}<base href="/b/">`, 'https://a.example/x/z'],
  ['with a base of nonsense', `<base href="http://[">${meta('0; url=z')}`, 'https://a.example/x/z'],
  ['with a base in a comment', `<!-- <base href=/b/> -->${meta('0; url=z')}`, 'https://a.example/x/z'],
  ['with an element that begins like a base', `<basefont href=/b/>${meta('0; url=z')}`, 'https://a.example/x/z'],
  ['attributes the other way round', '<META content="0;url=/z" HTTP-EQUIV=Refresh>', 'https://a.example/z'],
  ['single quotes', "<meta http-equiv='refresh' content='0;url=/z'/>", 'https://a.example/z'],
  ['after other metas', `<meta charset=utf-8><meta name=a content="b">${meta('0;url=/z')}`, 'https://a.example/z'],
  ['a > in an attribute', `<meta name=a content="1>0">${meta('0;url=/z')}`, 'https://a.example/z'],
  ['with a user and a password', meta('0; url=https://me:secret@b.example/'), 'https://b.example/'],
  ['to itself', meta('300'), null],
  ['to nowhere', meta('0; url='), null],
  ['to a script', meta('0; url=javascript:alert(1)'), null],
  ['only without scripts', `<noscript>${meta('0; url=/z')}</noscript>`, null],
  ['in a comment', `<!-- ${meta('0; url=/z')} -->`, null],
  ['far from the head', 'x'.repeat(20_000) + meta('0; url=/z'), null],
  ['another http-equiv', '<meta http-equiv="content-type" content="text/html; url=/z">', null],
  ['none', '<title>A page</title>', null],
];

for (const [what, html, url] of ROWS) {
  test(`a refresh ${what} leads to ${url ?? 'nothing'}`, (t) => t.is(refreshOf(html, undefined, PAGE), url));
}

test('a Refresh header counts where the page has no refresh of its own', (t) => {
  t.is(refreshOf('', '0; url=/z', PAGE), 'https://a.example/z');
  t.is(refreshOf('', '0; url=/z?a=1&amp;b=2', PAGE), 'https://a.example/z?a=1&amp;b=2');
  t.is(refreshOf('<base href=/b/>', '0; url=z', PAGE), 'https://a.example/x/z');
  t.is(refreshOf(meta('0; url=/of-page'), '0; url=/z', PAGE), 'https://a.example/of-page');
});

test('the search takes no time over pages that are made to be slow', (t) => {
  const pages = [
    '<meta '.repeat(3000),
    '<meta http-equiv=refresh '.repeat(700),
    '<meta http-equiv '.repeat(1000),
    '<!--'.repeat(5000),
    '<noscript'.repeat(2000),
    '<base '.repeat(3000),
    `<base href="${'&lt;'.repeat(4000)}">${meta('&amp'.repeat(4000))}`,
    `<meta "${'<'.repeat(16_000)}`,
    `<meta http-equiv=${' '.repeat(16_000)}`,
    meta(' '.repeat(16_000)),
    meta(`0${' '.repeat(8000)};${' '.repeat(8000)}`),
    meta(`0;${'url='.repeat(4000)}`),
  ];
  const took_ms = leastCpuMs(() => {
    for (const page of pages) {
      refreshOf(page, undefined, PAGE);
      refreshOf(`refresh${page}`, page, PAGE);
    }
  });
  t.true(took_ms < 1000, `${took_ms} ms`);
});

test('a Refresh header is read as UTF-8, to its last letter', (t) => {
  t.is(refreshOf('', '0;url=/citt\xc3\xa0', PAGE), 'https://a.example/citt%C3%A0');
});
