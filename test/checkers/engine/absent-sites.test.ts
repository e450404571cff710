// Pages that stand for a whole site that is not there, as hosting providers, registrars and domain brokers show them, and honest pages
// with the same words.
import test from 'ava';
import { absenceOfSite, type SiteAbsence } from '../../../checkers/engine/absent-sites.ts';
import { createEngine } from '../../../checkers/engine/engine.ts';
import { readSigns } from '../../../checkers/engine/html.ts';
import { isSoft, needsProbe, suspicionOf } from '../../../checkers/engine/soft-404.ts';
import { page as answer, type Behaviour, html, startTestSite } from '../../support/test-site.ts';

const page = (title: string, body: string, html = '<html>', head = '') =>
  `<!doctype html>${html}<head><title>${title}</title>${head}</head><body>${body}</body></html>`;
const KEY = 'MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBANDrp2lz7AOmADaN8tA50LsWcjLFyQFcb_aa==';
const ASKED = 'http://www.old-mill.example/tours';
const PROSE = '<p>The mill grinds flour each Sunday, and its miller tells how the stones are dressed.</p>'.repeat(30);

/** What is shown, the page, the absence, and where the redirects ended. */
const PAGES: readonly [what: string, html: string, absence: SiteAbsence, final?: string][] = [
  [
    'a key of parked domains',
    page('old-mill.example', '<div id="target"></div>', `<html data-adblockkey="${KEY}">`),
    'certain',
  ],
  ['a parking script with its data', page('', '<script>window.park = "eyJ1dWlkIjoi";</script>'), 'certain'],
  [
    'a stub that goes on to the advertisements',
    '<!DOCTYPE html><html><head><script>window.onload=function(){window.location.href="/lander"}</script></head></html>',
    'certain',
  ],
  ['the page of the advertisements', page('', '<script>window.LANDER_SYSTEM="PW"</script>'), 'certain'],
  [
    'a script of a parking company',
    page('old-mill.example', '', '<html>', '<script src="//img.sedoparking.com/js/a.js"></script>'),
    'certain',
  ],
  [
    'a parking page of a site builder',
    page(
      '',
      '',
      '<html>',
      '<script src="https://assets.builder.example/universal/scripts/parking-page-1.js"></script>',
    ),
    'certain',
  ],
  [
    'a suspended account by its panel',
    page('Contact Support', 'This website is away.'),
    'certain',
    '/cgi-sys/suspendedpage.cgi',
  ],
  ['an account without a site', page('Default page', 'If you are the owner'), 'certain', '/cgi-sys/defaultwebpage.cgi'],
  [
    'a broker that offers the domain',
    page('Buy it', PROSE),
    'certain',
    'https://www.hugedomains.com/domain_profile.cfm?d=old-mill.example',
  ],
  ['another broker', page('Buy it', PROSE), 'certain', 'https://dan.com/buy-domain/old-mill.example?redirected=true'],
  [
    'a suspended account',
    page('Account Suspended', '<h1>Account Suspended</h1><p>Contact your hosting provider for more.</p>'),
    'stated',
  ],
  [
    'the same under another title',
    page('Away', '<h1>This Account has been suspended.</h1><p>Please contact your web host.</p>'),
    'stated',
  ],
  [
    'a suspended site',
    page('Website suspended', '<p>Are you the owner of this website? Write to support.</p>'),
    'stated',
  ],
  ['an expired domain', page('This domain has expired', '<p>Is it yours? Renew it with your registrar.</p>'), 'stated'],
  ['an expired domain by its name', page('old-mill.example has expired', '<p>Renew this domain name.</p>'), 'stated'],
  ['a domain for sale', page('old-mill.example is for sale!', '<p>Make an offer for this domain.</p>'), 'stated'],

  ['an ordinary page', page('The old mill', `<h1>Tours</h1>${PROSE}`), null],
  ['a page named after its domain', page('old-mill.example', `<h1>Tours</h1>${PROSE}`), null],
  [
    'a page of an application without a title',
    page('', '<div id=root></div><script src="/assets/park.js"></script>'),
    null,
  ],
  ['a long page that shows a key', page('', PROSE, `<html data-adblockkey="${KEY}">`), null],
  [
    'an article that quotes a parking script',
    page('', '<pre>&lt;script src="//img.sedoparking.com/a.js"&gt;</pre>'),
    null,
  ],
  [
    'a stub that goes on to a page of another name',
    '<html><head><script>window.location.href="/landing"</script></head></html>',
    null,
  ],
  [
    'help on accounts',
    page('Account suspended', '<p>Write to us if you think that your account should be open.</p>'),
    null,
  ],
  [
    'a long article with such a heading',
    page('My account has been suspended', `<h1>Account suspended</h1><p>hosting</p>${PROSE}`),
    null,
  ],
  ['a house for sale', page('The old mill is for sale', '<p>Ask our webmaster.</p>'), null],
  ['a page on the panel itself', page('cPanel', '<p>hosting</p>'), null, 'https://docs.example/cgi-sys/'],
  ['a broker that was asked for', page('Buy it', PROSE), null, 'https://sedo.com/about'],
  [
    'a default page of a web server',
    page('Welcome to nginx!', '<h1>Welcome to nginx!</h1><p>If you see this page, it works.</p>'),
    null,
  ],
  ['a page in maintenance', page('Under maintenance', '<h1>We will be back soon</h1>'), null],
];

for (const [what, html, absence, target] of PAGES) {
  test(`${what}: ${absence ?? 'the site is there'}`, (t) => {
    const requested = new URL(ASKED);
    const final = target === undefined ? requested : new URL(target, ASKED);
    const signs = readSigns(html);
    t.is(absenceOfSite(html, signs, requested, final), absence);
    for (const asked of [requested, new URL('/', ASKED)]) {
      const { points } = suspicionOf(html, signs, asked, target === undefined ? asked : final, false);
      t.is(isSoft(points, 'honest'), absence === 'certain');
      t.is(needsProbe(points), absence === 'stated');
    }
  });
}

test('a URL that names the page of a panel, or of a broker, is no redirect to it', (t) => {
  const html = page('Buy it', PROSE);
  for (const [asked, final] of [
    ['http://a.example/cgi-sys/suspendedpage.cgi', 'https://a.example/cgi-sys/suspendedpage.cgi'],
    ['http://dan.com/buy-domain/a.example', 'https://dan.com/buy-domain/a.example'],
    ['http://short.example/x', 'https://dan.com/buy-domain/other.example'],
  ] as const) {
    t.is(absenceOfSite(html, readSigns(html), new URL(asked), new URL(final)), null, asked);
  }
});

const SUSPENDED = html(
  'Account Suspended',
  'Account Suspended',
  'This account is away. Contact your hosting provider.',
);

for (const [what, missing, verdict] of [
  ['a site whose every page says that it is suspended', 200, 'soft_404'],
  ['a site that answers otherwise for what it does not have', 404, 'ok'],
] as const) {
  test(`the root and a page of ${what} are ${verdict}`, async (t) => {
    const suspended: Behaviour = (_request, socket) => answer(socket, SUSPENDED);
    const elsewhere: Behaviour = (_request, socket) => answer(socket, SUSPENDED, {}, missing);
    const site = await startTestSite({ behaviours: { '/': suspended, '/tours': suspended, '/*': elsewhere } });
    const engine = createEngine({
      ...{ concurrency: 4, per_host: 4, timeout_ms: 15_000, retries: 0 },
      ...{ allow_addresses: ['127.0.0.0/8'], user_agent: 'test' },
    });
    t.teardown(async () => {
      await engine.close();
      await site.close();
    });
    for (const path of ['/', '/tours']) {
      t.like(await engine.check(site.origin + path), {
        verdict,
        is_soft_404: verdict === 'soft_404',
        is_broken: false,
      });
    }
  });
}
