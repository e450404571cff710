// Whether a page says that it is not there: phrases by language, evidence and probes.
import test from 'ava';
import { readSigns, similarity, sketch } from '../../../checkers/engine/html.ts';
import { notFoundSaying } from '../../../checkers/engine/phrases.ts';
import { compareToProbe, isSoft, needsProbe, softPoints } from '../../../checkers/engine/soft-404.ts';
import { html } from '../../support/test-site.ts';

const SAYS = [
  ['English', 'Page not found'],
  ['English', '404 - Page Not Found | Example'],
  ['English', 'Sorry, this page isn’t available.'],
  ['English', 'Oops! That page can’t be found.'],
  ['English', '404'],
  ['English', 'Error 404'],
  ['German', 'Seite nicht gefunden – Beispiel GmbH'],
  ['French', 'Page introuvable - Exemple'],
  ['French', "Désolé, cette page n'existe pas"],
  ['Spanish', 'Página no encontrada | Ejemplo'],
  ['Portuguese', 'Página não encontrada'],
  ['Italian', 'Pagina non trovata'],
  ['Dutch', 'Pagina niet gevonden'],
  ['Polish', 'Nie znaleziono strony'],
  ['Czech', 'Stránka nenalezena'],
  ['Swedish', 'Sidan kunde inte hittas'],
  ['Danish', 'Siden blev ikke fundet'],
  ['Norwegian', 'Siden ble ikke funnet'],
  ['Finnish', 'Sivua ei löytynyt'],
  ['Hungarian', 'Az oldal nem található'],
  ['Romanian', 'Pagina nu a fost găsită'],
  ['Greek', 'Η σελίδα δεν βρέθηκε'],
  ['Turkish', 'Sayfa bulunamadı'],
  ['Russian', 'Страница не найдена — Пример'],
  ['Ukrainian', 'Сторінку не знайдено'],
  ['Japanese', 'ページが見つかりません'],
  ['Chinese', '页面不存在'],
  ['Chinese', '找不到網頁'],
  ['Korean', '페이지를 찾을 수 없습니다'],
  ['Arabic', 'الصفحة غير موجودة'],
  ['Hebrew', 'הדף לא נמצא'],
  ['Indonesian', 'Halaman tidak ditemukan'],
  ['Vietnamese', 'Không tìm thấy trang'],
  ['Hindi', 'पृष्ठ नहीं मिला'],
] as const;

for (const [language, title] of SAYS) {
  test(`${language}: '${title}' says so`, (t) => t.is(notFoundSaying(title), 'says'));
}

const SAYS_NOT = [
  'Welcome to the shop',
  'Route 404: a road trip through Nevada',
  'Peugeot 404 cabriolet for sale',
  'Lost and found',
  'Error handling in Go',
  'Foundation | About us',
  '',
];

for (const title of SAYS_NOT) {
  test(`'${title}' does not say so`, (t) => t.is(notFoundSaying(title), null));
}

test('a longer title that has a phrase in it mentions it', (t) => {
  t.is(notFoundSaying('How to fix the "page not found" error in your new WordPress installation'), 'mentions');
});

const GONE = new URL('http://shop.example/things/1');

function points(page: string, requested = GONE, final = requested): number {
  return softPoints(page, requested, final);
}

test('a page that says nothing of the kind has no points, however little is on it', (t) => {
  t.is(points(html('Things', 'Things')), 0);
  t.is(points('<div id=app></div>'), 0);
  t.is(points(''), 0);
});

test('the root is never soft', (t) => {
  t.is(points(html('Page not found', 'Page not found'), new URL('http://shop.example/')), 0);
});

test('body phrases are not evidence', (t) => {
  t.is(points(html('Things', 'Things', 'Page not found. '.repeat(50))), 0);
});

test('a title that says so needs the probe; a title and a heading do not', (t) => {
  const title_alone = points(html('Page not found', 'Things'));
  t.true(needsProbe(title_alone));
  t.false(isSoft(title_alone, 'unknown'));
  t.true(isSoft(title_alone, 'equal'));
  t.false(isSoft(title_alone, 'honest'));
  const both = points(html('Page not found', 'Page not found'));
  t.false(needsProbe(both));
  t.true(isSoft(both, 'unknown'));
});

test('to be sent home is evidence, from an index page or to another site it is not', (t) => {
  const fine = html('Shop', 'Shop');
  t.true(points(fine, GONE, new URL('http://www.shop.example/')) > 0);
  t.true(points(fine, GONE, new URL('http://shop.example/en/')) > 0);
  t.is(points(fine, new URL('http://shop.example/index.html'), new URL('http://shop.example/')), 0);
  t.is(points(fine, GONE, new URL('http://other.example/')), 0);
  t.is(points(fine, GONE, new URL('http://shop.example/things/one')), 0);
});

test('a probe is compared by its status, where it ended and what is on it', (t) => {
  const page = sketch(
    html('Sorry', 'Sorry', 'We looked everywhere for thing 1 and could not find it at all.'),
    '/things/1',
  );
  const same = sketch(
    html('Sorry', 'Sorry', 'We looked everywhere for thing 9 and could not find it at all.'),
    '/things/9',
  );
  const other = sketch(html('Kettles', 'Kettles', 'Water boils in them. Tea is made with it, and soup.'), '/things/9');
  const probe = { status: 200, final_path: '/things/9', sketch: same };
  t.is(compareToProbe(page, GONE, probe), 'equal');
  t.is(compareToProbe(page, GONE, { ...probe, sketch: other }), 'different');
  t.is(compareToProbe(page, GONE, { ...probe, sketch: other, final_path: GONE.pathname }), 'equal');
  t.is(compareToProbe(page, GONE, { ...probe, status: 404 }), 'honest');
  t.is(compareToProbe(page, GONE, { ...probe, status: 500 }), 'unknown');
  t.is(compareToProbe(page, GONE, { status: null, final_path: '/', sketch: null }), 'unknown');
});

test('titles and headings are read through entities, tags, attributes and line breaks', (t) => {
  t.deepEqual(
    readSigns('<TITLE lang=en>\n Page&nbsp;not\nfound &#8211; A&amp;B </TITLE><h1 class="x"><b>No</b> page</h1>'),
    {
      title: 'Page not found – A&B',
      headings: ['No page'],
    },
  );
  t.deepEqual(readSigns('no tags at all'), { title: '', headings: [] });
});

test('sketches: equal pages are 1, foreign ones 0, in between in between', (t) => {
  const words = (from: number, to: number): string =>
    Array.from(
      { length: to - from },
      (_, i) => `word${'abcdefghij'[(from + i) % 10]}${'klmnopqrst'[Math.floor((from + i) / 10) % 10]}`,
    ).join(' ');
  const a = sketch(words(0, 90), '');
  t.is(similarity(a, a), 1);
  t.is(similarity(a, sketch('something else entirely', '')), 0);
  const half = similarity(a, sketch(words(45, 90), ''));
  t.true(half > 0.3 && half < 0.7, String(half));
});

// Pages written to make their reader slow.
const HOSTILE = [
  '<title'.repeat(20_000),
  '<h1 '.repeat(30_000),
  '<h1>'.repeat(30_000),
  '<script>'.repeat(16_000),
  '<script></SCRIPT>'.repeat(8_000),
  '<!--'.repeat(30_000),
  '<meta robots '.repeat(9_000),
  '&#'.repeat(60_000),
  '<'.repeat(128_000),
];

for (const page of HOSTILE) {
  test(`a page of ${page.slice(0, 12)}… is read in no time`, (t) => {
    const began = performance.now();
    points(`<title>Page not found</title>${page}`);
    points(page);
    sketch(page, '');
    const took_ms = performance.now() - began;
    t.true(took_ms < 500, `${took_ms} ms`);
  });
}
