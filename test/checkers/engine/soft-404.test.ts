// The recognition of soft 404s: phrases by language, evidence and probes.
import test from 'ava';
import { prose, readSigns, similarity, sketch } from '../../../checkers/engine/html.ts';
import {
  compareToProbe,
  folderOf,
  isSoft,
  needsProbe,
  siblingOf,
  suspicionOf,
} from '../../../checkers/engine/soft-404.ts';
import { leastCpuMs } from '../../support/cpu-time.ts';
import { html } from '../../support/test-site.ts';

const GONE = new URL('http://shop.example/things/1');

function points(page: string, requested = GONE, final = requested, shared = false): number {
  return suspicionOf(page, readSigns(page), requested, final, shared).points;
}

test('a page without not-found words has no points, however short it is', (t) => {
  t.is(points(html('Things', 'Things')), 0);
  t.is(points('<div id=app></div>'), 0);
  t.is(points(''), 0);
});

test('the root of a site is never a soft 404', (t) => {
  t.is(points(html('Page not found', 'Page not found'), new URL('http://shop.example/')), 0);
});

test('body phrases are not evidence', (t) => {
  t.is(points(html('Things', 'Things', 'Page not found. '.repeat(50))), 0);
});

test('a not-found title needs the probe, and a title with a heading does not', (t) => {
  const title_alone = points(html('Page not found', 'Things'));
  t.true(needsProbe(title_alone));
  t.false(isSoft(title_alone, 'unknown'));
  t.true(isSoft(title_alone, 'equal'));
  t.false(isSoft(title_alone, 'honest'));
  const both = points(html('Page not found', 'Page not found'));
  t.false(needsProbe(both));
  t.true(isSoft(both, 'unknown'));
});

test('bare words that may name a work or title a long page are no statement', (t) => {
  const short = points(html('Not Found | Discs', 'Not Found', 'Nothing here.'));
  t.true(isSoft(short, 'honest'));
  const work = '<meta property="og:type" content="music.album">';
  t.false(isSoft(points(work + html('Not Found | Discs', 'Not Found', 'Nothing here.')), 'honest'));
  t.false(isSoft(points(html('404 Not Found', '404 Not Found', 'A status code of HTTP. '.repeat(40))), 'honest'));
  t.true(isSoft(points(html('404 Not Found', '404 Not Found', 'A status code of HTTP. '.repeat(40))), 'equal'));
});

test('a long page that is titled page 410 of many is not suspect', (t) => {
  for (const title of ['pages/page-410', 'page-404', 'Page 410']) {
    t.is(
      points(html(title, title, `<p>${'Copper kettles and pans, mended while you wait. '.repeat(60)}</p>`)),
      0,
      title,
    );
  }
});

test('a heading that repeats the title counts once, and a long page needs the probe', (t) => {
  const long = html(
    'Page not found',
    'Page not found',
    'We looked for it everywhere, and here is what we found. '.repeat(60),
  );
  t.true(needsProbe(points(long)));
  t.false(isSoft(points(long), 'honest'));
});

test('an equal page at a sibling outweighs the marks of an article, and a clock at zero is no mark', (t) => {
  const page = html('Page not found', 'Page not found');
  const published = (time: string) => `<meta property="article:published_time" content="${time}">${page}`;
  t.is(points(published('0001-01-01T00:00:00+00:00')), points(page));
  const suspicion = suspicionOf(published('2026-01-01'), readSigns(published('2026-01-01')), GONE, GONE, false);
  t.false(isSoft(suspicion.points, 'honest', suspicion.work));
  t.true(isSoft(suspicion.points, 'equal', suspicion.work));
});

test('texts of scripts and templates do not count', (t) => {
  t.is(points('<title>App</title><template><h1>Page not found</h1></template>'), 0);
  t.is(points("<title>App</title><script>const s = '<h1>Page not found</h1>'</script>"), 0);
  t.true(points('<title>App</title><script></script><h1>Page not found</h1>') > 0);
});

test('a page of one not-found sentence counts by it, and one that begins with other words needs the probe', (t) => {
  const nav = '<title>Shop</title><nav><a href="/">Home</a></nav>';
  t.true(isSoft(points(`${nav}<p>Product not found. <a>Back</a></p>`), 'honest'));
  t.true(needsProbe(points(`${nav}<p>Kettles and lamps</p><p>Product not found. <a>Back</a></p>`)));
  t.is(points('<title>Shop</title><p>Tel. 555 0123</p>'), 0);
});

test('a page from the not-found template of its platform needs the probe', (t) => {
  for (const mark of [
    '<meta name="prerender-status-code" content="404"><body>',
    '<body class="home error404 wide">',
    '<body id="pagenotfound">',
    '<body><script type="application/json">{"page":"/404"}</script>',
  ]) {
    t.true(needsProbe(points(`<title>Shop</title>${mark}<h1>Dyma ni</h1>`)), mark);
  }
  t.is(points('<title>Shop</title><body class="errors404s"><h1>Dyma ni</h1>'), 0);
});

test('that other URLs share a page is evidence only beside a word of absence', (t) => {
  const page = html('Toonville', 'Well, this is awkward');
  t.is(points(page, GONE, GONE, true), 0);
  t.is(points(`${page}<meta name="robots" content="noindex">`, GONE, GONE, true), 0);
  const stated = html('Page not found', 'Things');
  t.true(points(stated, GONE, GONE, true) > points(stated));
  t.is(points(`${stated}<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/x"></script>`, GONE, GONE, true), 0);
});

test('a page whose words stand between tags, in indented lines and entities is long when it is', (t) => {
  const shapes: readonly ((word: string) => string)[] = [
    (word) => `<b>${word}</b>\n          `,
    (word) => `<p>\n        ${word}\n      </p>\n`,
    (word) => `${word}&nbsp;&nbsp;&nbsp; `,
    (word) => `${word}\n\n\n\n\t\t\t`,
    (word) => `<span> </span>${word}<i> </i> `,
  ];
  for (const shape of shapes) {
    const page = html('Page not found', 'Page not found', shape('kettle').repeat(300));
    t.is(prose(page, 1501).length, 1501);
    t.false(isSoft(points(page), 'honest'), shape('kettle'));
    t.true(isSoft(points(page), 'equal'));
  }
  t.is(prose('<p> a </p> <p>&amp;  b</p> c<i>d</i>', 99), 'a | & b | c d');
});

const DISCUSSIONS = [
  'https://git.example/owner/project/issues/42',
  'https://git.example/owner/project/pull/42',
  'https://git.example/owner/project/-/merge_requests/42',
  'https://git.example/owner/project/commit/0a1b2c3d',
  'https://git.example/owner/project/discussions/7',
  'https://ask.example/questions/123/page-not-found-after-update',
  'https://board.example/viewtopic.php?t=12',
  'https://board.example/showthread.php?12-Page-not-found',
  'https://board.example/forum/threads/page-not-found.12/',
  'https://talk.example/t/page-not-found/12',
  'https://bugs.example/show_bug.cgi?id=12',
  'https://jira.example/browse/ABC-12',
];
for (const url of DISCUSSIONS) {
  test(`${url} is soft only when a sibling shows the same page`, (t) => {
    const suspicion = points(html('Page not found', 'Page not found'), new URL(url));
    t.false(isSoft(suspicion, 'honest') || isSoft(suspicion, 'unknown') || isSoft(suspicion, 'different'));
    t.true(isSoft(suspicion, 'equal'));
  });
}

test('a page marked as a discussion is soft only when a sibling shows the same, and lists of discussions are pages like others', (t) => {
  const page = html('Page not found', 'Page not found');
  for (const mark of [
    '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script>',
    '<div itemscope itemtype="https://schema.org/Question"></div>',
  ]) {
    const { points, work } = suspicionOf(page + mark, readSigns(page + mark), GONE, GONE, false);
    t.false(isSoft(points, 'honest', work) || isSoft(points, 'unknown', work), mark);
    t.true(isSoft(points, 'equal', work), mark);
  }
  for (const path of ['/issues', '/forum/', '/community', '/tissues/4', '/shop/commitments/4']) {
    t.true(isSoft(points(page, new URL(path, GONE)), 'honest'), path);
  }
});

test('a redirect to the home page is evidence, unless it comes from an index page or leads to another site', (t) => {
  const fine = html('Shop', 'Shop');
  t.true(points(fine, GONE, new URL('http://www.shop.example/')) > 0);
  t.true(points(fine, GONE, new URL('http://shop.example/en/')) > 0);
  t.is(points(fine, new URL('http://shop.example/index.html'), new URL('http://shop.example/')), 0);
  t.is(points(fine, GONE, new URL('http://other.example/')), 0);
  t.is(points(fine, GONE, new URL('http://shop.example/things/one')), 0);
});

test('the comparison with a probe covers its status, its final URL and its content', (t) => {
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
  t.is(compareToProbe(page, GONE, GONE, probe), 'equal');
  t.is(compareToProbe(page, GONE, GONE, { ...probe, sketch: other }), 'different');
  const lost = new URL('/lost', GONE);
  t.is(compareToProbe(page, GONE, lost, { ...probe, sketch: other, final_path: '/lost' }), 'equal');
  t.is(compareToProbe(page, GONE, GONE, { ...probe, sketch: other, final_path: GONE.pathname }), 'different');
  t.is(compareToProbe(page, GONE, GONE, { ...probe, status: 404 }), 'honest');
  t.is(compareToProbe(page, GONE, GONE, { ...probe, status: 500 }), 'unknown');
  t.is(compareToProbe(page, GONE, GONE, { status: null, final_path: '/', sketch: null }), 'unknown');
});

const FOLDERS = [
  ['http://a.example/shop/kettle', 'http://a.example/shop/', /^\/shop\/\w{10,}-\w{4}$/],
  ['http://a.example/shop/kettle/', 'http://a.example/shop/', /^\/shop\/\w{10,}-\w{4}\/$/],
  ['http://a.example/shop/kettle.html', 'http://a.example/shop/', /^\/shop\/\w{10,}-\w{4}\.html$/],
  ['http://a.example/item/4711', 'http://a.example/item/', /^\/item\/9\d{9}$/],
  ['http://a.example/kettle#top', 'http://a.example/', /^\/\w{10,}-\w{4}$/],
  ['http://a.example/p/kettle?utm_source=x', 'http://a.example/p/', /^\/p\/\w{10,}-\w{4}$/],
  ['http://a.example/?s=kettle', 'http://a.example/?s=', /^\/\?s=\w{10,}-\w{4}$/],
  ['http://a.example/topic.php?f=4&t=99', 'http://a.example/topic.php?t=', /^\/topic\.php\?f=4&t=9\d{9}$/],
  ['http://a.example/show?id=7&lang=en', 'http://a.example/show?id=', /^\/show\?id=9\d{9}&lang=en$/],
] as const;

for (const [url, folder, sibling] of FOLDERS) {
  test(`${url} has the folder ${folder}, and its sibling has the same shape`, (t) => {
    t.is(folderOf(new URL(url)), folder);
    for (const random of [0, 0.123456, 0.999999]) {
      const { pathname, search, hash } = siblingOf(new URL(url), random);
      t.regex(pathname + search + hash, sibling);
    }
  });
}

test("a sibling's name contains no word of the compared page", (t) => {
  const page = html('Shop', 'Have a look at all I have, or go to x, y and z').toString();
  const url = new URL('https://a.example/shop/kettle.html');
  const own = sketch(page, url.href);
  for (let i = 0; i < 2000; i++) {
    const { href } = siblingOf(url, i / 2000);
    t.is(similarity(sketch(page, href), own), 1, href);
  }
});

test('prose excludes menus, links and footers', (t) => {
  const page =
    '<body><nav>Home</nav><header>Acme</header><p>It is <b>gone</b>.</p><a href="/">Back</a><footer>2026</footer>';
  t.is(prose(page, 100), 'Acme | It is gone .');
  t.is(prose(page, 4), 'Acme');
});

test('the reader finds titles and headings behind entities, tags, attributes and line breaks', (t) => {
  t.deepEqual(
    readSigns('<TITLE lang=en>\n Page&nbsp;not\nfound &#8211; A&amp;B </TITLE><h1 class="x"><b>No</b> page</h1>'),
    {
      title: 'Page not found – A&B',
      headings: [{ level: 1, text: 'No page', at: 61 }],
    },
  );
  t.deepEqual(readSigns('no tags at all'), { title: '', headings: [] });
});

test('sketches of equal pages have the similarity 1, those of unrelated pages 0, and others lie between', (t) => {
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
  test(`reading a page of ${page.slice(0, 12)}… takes no time`, (t) => {
    const took_ms = leastCpuMs(() => {
      points(`<title>Page not found</title>${page}`);
      points(page);
      sketch(page, '');
    });
    t.true(took_ms < 500, `${took_ms} ms`);
  });
}
