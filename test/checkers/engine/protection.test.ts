// The marks of bot protection: refusals as the products send them, and answers that only look like them.
import type { IncomingHttpHeaders } from 'node:http';
import test from 'ava';
import { isChallengePage, protectionOf } from '../../../checkers/engine/protection.ts';
import { leastCpuMs } from '../../support/cpu-time.ts';

/** The description, status, headers and body of an answer, and the name of its protection or null. */
type Sample = [what: string, status: number, headers: IncomingHttpHeaders, body: string, expected: string | null];

const CLOUDFLARE = { server: 'cloudflare', 'cf-ray': '8f1a2b3c4d5e-FRA', 'content-type': 'text/html; charset=UTF-8' };
/** The script that Cloudflare adds to pages that it lets through. */
const JSD = `<script>(function(){function c(){var b=a.contentDocument||a.contentWindow.document;if(b){var d=b.createElement('script');d.innerHTML="window.__CF$cv$params={r:'8f1a2b',t:'MTczMjE='};var a=document.createElement('script');a.nonce='';a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js';document.getElementsByTagName('head')[0].appendChild(a);";}}})();</script>`;
const NGINX_403 =
  '<html>\r\n<head><title>403 Forbidden</title></head>\r\n<body>\r\n<center><h1>403 Forbidden</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n';

const SAMPLES: readonly Sample[] = [
  // Cloudflare
  ['a managed challenge, told by its header', 403, { ...CLOUDFLARE, 'cf-mitigated': 'challenge' }, '', 'cloudflare'],
  [
    'a managed challenge, told by its page',
    403,
    CLOUDFLARE,
    '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body><script>(function(){window._cf_chl_opt = {cvId: "3",cType: "managed"};a.src = "/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1?ray=8f1a";}());</script></body></html>',
    'cloudflare',
  ],
  [
    'the old "I am under attack" page',
    503,
    { server: 'cloudflare' },
    '<title>Just a moment...</title><form class="challenge-form" id="challenge-form" action="/?__cf_chl_jschl_tk__=1"><div class="cf-chl-widget"></div>',
    'cloudflare',
  ],
  [
    'a firewall rule',
    403,
    CLOUDFLARE,
    '<title>Attention Required! | Cloudflare</title><div id="cf-error-details"><h1 data-translate="block_headline">Sorry, you have been blocked</h1></div>',
    'cloudflare',
  ],
  [
    'error 1020',
    403,
    CLOUDFLARE,
    '<title>Access denied | shop.example used Cloudflare to restrict access</title><div id="cf-error-details"><span>Error</span> <span>1020</span></div>',
    'cloudflare',
  ],
  [
    'error 1015, too many requests',
    429,
    { ...CLOUDFLARE, 'retry-after': '30' },
    '<title>Access denied | shop.example used Cloudflare to restrict access</title><div id="cf-wrapper"><h1>Error 1015</h1><h2>You are being rate limited</h2></div>',
    'cloudflare',
  ],
  ['a refusal of the origin behind Cloudflare', 403, CLOUDFLARE, NGINX_403, null],
  [
    'a refusal of the origin with Cloudflare’s script in it',
    403,
    CLOUDFLARE,
    NGINX_403.replace('</body>', `${JSD}</body>`),
    null,
  ],
  [
    'maintenance of the origin behind Cloudflare',
    503,
    CLOUDFLARE,
    '<h1>Down for maintenance</h1><p>Back at noon.</p>',
    null,
  ],
  [
    'a cookie of Cloudflare alone',
    403,
    { ...CLOUDFLARE, 'set-cookie': ['__cf_bm=abc; path=/'] },
    '<h1>Forbidden</h1>',
    null,
  ],
  // Akamai
  [
    'Akamai’s Access Denied',
    403,
    { server: 'AkamaiGHost', 'mime-version': '1.0' },
    '<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n<H1>Access Denied</H1>\n \nYou don\'t have permission to access "http&#58;&#47;&#47;shop&#46;example&#47;" on this server.<P>\nReference&#32;&#35;18&#46;2d351ab8&#46;1557333295&#46;a4e16ab\n</BODY>\n</HTML>',
    'akamai',
  ],
  [
    'Akamai’s Access Denied with its link',
    403,
    {},
    '<TITLE>Access Denied</TITLE><H1>Access Denied</H1>Reference #18.9e2 <P>https://errors.edgesuite.net/18.9e2</P>',
    'akamai',
  ],
  [
    'Akamai’s challenge',
    429,
    { server: 'AkamaiGHost' },
    '<html><head><script src="/_sec/cp_challenge/crypto-3-4.htm"></script></head><body><div id="sec-if-cpt-container"></div></body></html>',
    'akamai',
  ],
  ['a plain 403 of Akamai’s server', 403, { server: 'AkamaiGHost' }, '<h1>Forbidden</h1>', null],
  // DataDome
  [
    'DataDome’s page',
    403,
    { 'x-datadome': 'protected', 'x-dd-b': '2' },
    '<html><head><title>shop.example</title></head><body><p id="cmsg">Please enable JS and disable any ad blocker</p></body></html>',
    'datadome',
  ],
  [
    'DataDome’s page, told by its script',
    403,
    {},
    `<script>var dd={'rt':'c','cid':'AHr','host':'geo.captcha-delivery.com'}</script><script src="https://ct.captcha-delivery.com/c.js"></script>`,
    'datadome',
  ],
  [
    'DataDome’s JSON',
    403,
    { 'content-type': 'application/json' },
    '{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=AHr"}',
    'datadome',
  ],
  [
    'a refusal of the site that DataDome let through',
    403,
    { 'x-datadome': 'protected', 'set-cookie': ['datadome=abc; Max-Age=31536000'] },
    '<h1>Members only</h1><script src="https://js.datadome.co/tags.js"></script>',
    null,
  ],
  // PerimeterX, now HUMAN
  [
    'the press-and-hold page',
    403,
    {},
    '<title>Access to this page has been denied.</title><script>window._pxAppId = "PXabc"; window._pxUuid = "1-2";</script><div id="px-captcha"></div>',
    'perimeterx',
  ],
  [
    'its JSON',
    403,
    { 'content-type': 'application/json' },
    '{"appId":"PXabc","jsClientSrc":"/abc/init.js","blockScript":"/abc/captcha/captcha.js"}',
    'perimeterx',
  ],
  [
    'a refusal of the site that it let through',
    403,
    { 'set-cookie': ['_pxhd=abc; path=/'] },
    '<script>window._pxAppId = "PXabc";</script><h1>This document is for subscribers</h1>',
    null,
  ],
  // Imperva
  [
    'Imperva’s refusal',
    403,
    { 'x-iinfo': '9-1-0', 'x-cdn': 'Imperva' },
    '<html><body><iframe src="/_Incapsula_Resource?SWUDNSAI=31&incident_id=1-2">Request unsuccessful. Incapsula incident ID: 1-2</iframe></body></html>',
    'imperva',
  ],
  [
    'Imperva’s "Pardon our interruption"',
    403,
    {},
    '<title>Pardon Our Interruption</title><p>As you were browsing something about your browser made us think you were a bot.</p>',
    'imperva',
  ],
  [
    'a refusal of the site with Imperva’s script',
    403,
    { 'x-cdn': 'Imperva', 'set-cookie': ['visid_incap_1=abc', 'incap_ses_2=def'] },
    '<h1>Forbidden</h1><script src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3"></script>',
    null,
  ],
  // Others
  ['LinkedIn', 999, {}, '', 'linkedin'],
  [
    'LinkedIn’s script',
    999,
    {},
    '<script>window.onload=function(){location.href="https://www.linkedin.com/authwall"}</script>',
    'linkedin',
  ],
  ['AWS WAF’s captcha', 403, { 'x-amzn-waf-action': 'captcha' }, '', 'aws_waf'],
  [
    'AWS WAF’s challenge',
    403,
    {},
    '<script>window.gokuProps = {"key":"AQ"};</script><script src="https://a1.token.awswaf.com/a1/challenge.js"></script>',
    'aws_waf',
  ],
  [
    'CloudFront with a WAF',
    403,
    { server: 'CloudFront', 'x-cache': 'Error from cloudfront' },
    '<TITLE>ERROR: The request could not be satisfied</TITLE><H1>403 ERROR</H1><H2>The request could not be satisfied.</H2><HR noshade size="1px">Request blocked.\nWe can\'t connect to the server for this app or website at this time.',
    'cloudfront',
  ],
  [
    'CloudFront by country',
    403,
    {},
    '<H2>The request could not be satisfied.</H2>The Amazon CloudFront distribution is configured to block access from your country.',
    'cloudfront',
  ],
  [
    'CloudFront whose origin refuses plain http',
    403,
    { server: 'CloudFront' },
    "<H2>The request could not be satisfied.</H2>Bad request. We can't connect to the server for this app or website at this time.",
    null,
  ],
  [
    'an object of S3 that is private or gone',
    403,
    { server: 'AmazonS3' },
    '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>',
    null,
  ],
  ['Kasada', 429, { 'x-kpsdk-ct': '02abc' }, '', 'kasada'],
  [
    'Vercel',
    429,
    { server: 'Vercel', 'x-vercel-mitigated': 'challenge' },
    '<title>Vercel Security Checkpoint</title>',
    'vercel',
  ],
  [
    'Vercel, a deployment with a password',
    401,
    { server: 'Vercel' },
    '<title>Authentication Required</title><input type="password">',
    null,
  ],
  ['Sucuri', 403, { 'x-sucuri-block': 'GEO02' }, '<title>Sucuri WebSite Firewall - Access Denied</title>', 'sucuri'],
  [
    'DDoS-Guard',
    403,
    { server: 'ddos-guard' },
    '<title>DDoS-Guard</title><script src="/.well-known/ddos-guard/js-challenge/index.js"></script>',
    'ddos_guard',
  ],
  [
    'F5',
    403,
    {},
    '<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.<br><br>Your support ID is: 42</body></html>',
    'f5',
  ],
  ['Radware', 403, {}, '<title>Radware Captcha Page</title>', 'radware'],
  [
    'Wordfence',
    503,
    {},
    '<h1>Your access to this site has been limited by the site owner</h1><p>Generated by Wordfence at Mon, 3 Nov 2025</p>',
    'wordfence',
  ],
  [
    'Azure',
    403,
    {},
    '<html><head><title>Service unavailable</title></head><body><h2>The request is blocked.</h2>',
    'azure_waf',
  ],
  [
    'Anubis',
    403,
    {},
    '<title>Oh noes!</title><script type="module" src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script>',
    'anubis',
  ],
  [
    'SiteGround',
    403,
    {},
    '<meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F&y=ipc:1.2.3.4">',
    'siteground',
  ],
  [
    'Google',
    429,
    {},
    '<html><head><title>https://www.google.com/search?q=a</title></head><body>Our systems have detected unusual traffic from your computer network.</body>',
    'google',
  ],
  // Unnamed protections
  ['a page that wants a human', 403, {}, '<h1>Please verify you are a human</h1>', 'challenge'],
  ['a page that has seen a robot', 503, {}, 'To discuss automated access to our data please write to us.', 'challenge'],
  [
    'a page with a captcha',
    403,
    {},
    '<form method="post"><div class="h-captcha" data-sitekey="1"></div><script src="https://hcaptcha.com/1/api.js"></script></form>',
    'challenge',
  ],
  [
    'a page that checks the browser',
    503,
    {},
    '<h1>Checking your browser before accessing shop.example</h1>',
    'challenge',
  ],
  // Refusals without protection
  ['nginx', 403, { server: 'nginx' }, NGINX_403, null],
  [
    'Apache',
    403,
    { server: 'Apache' },
    "<title>403 Forbidden</title><h1>Forbidden</h1><p>You don't have permission to access this resource.</p>",
    null,
  ],
  ['a password by dialogue', 401, { 'www-authenticate': 'Basic realm="x"' }, '<h1>401 Unauthorized</h1>', null],
  [
    'a login form with a captcha',
    401,
    {},
    '<form><input name="p" type="password"><div class="g-recaptcha" data-sitekey="1"></div></form><script src="https://www.google.com/recaptcha/api.js"></script>',
    null,
  ],
  ['a plain 429', 429, { 'retry-after': '60' }, '<h1>Too Many Requests</h1>', null],
  ['a plain 503', 503, { server: 'nginx' }, '<h1>503 Service Temporarily Unavailable</h1>', null],
  ['an API without a key', 403, { 'content-type': 'application/json' }, '{"message":"Forbidden"}', null],
  ['an empty 403', 403, {}, '', null],
  ['a robot of another kind', 403, {}, '<h1>The robot museum is closed</h1><p>Our robots rest on Mondays.</p>', null],
  // Statuses whose body is not searched
  ['a 404 with a challenge’s words', 404, { 'cf-mitigated': 'challenge' }, '<title>Just a moment...</title>', null],
  ['a 500', 500, {}, 'The requested URL was rejected. Please consult with your administrator', null],
];

const OF_ANOTHER_STATUS = new Set(['a 404 with a challenge’s words', 'a 500']);

test('the table has enough samples, of counterexamples too', (t) => {
  t.true(SAMPLES.length >= 40);
  t.true(SAMPLES.filter(([, , , , expected]) => expected === null).length >= 15);
});

for (const [what, status, headers, body, expected] of SAMPLES) {
  test(`a ${status} with ${what} shows ${expected ?? 'no protection'}`, (t) =>
    t.is(protectionOf(status, headers, body), expected));
}

test('a challenge counts with any status, and a page that a product only watches does not', (t) => {
  for (const [what, , , body, expected] of SAMPLES) {
    if (expected === null && !OF_ANOTHER_STATUS.has(what)) t.false(isChallengePage(body), what);
  }
  t.true(isChallengePage('<title>Just a moment...</title>'));
  t.true(isChallengePage('<iframe src="/_Incapsula_Resource?SWUDNSAI=31&incident_id=1-2"></iframe>'));
  t.false(isChallengePage(`<h1>Page not found</h1>${JSD}`));
  t.false(isChallengePage('<h1>Lost?</h1><script src="/_Incapsula_Resource?SWJIYLWA=719d"></script>'));
  t.false(isChallengePage('<p>To prove that you are not a robot, complete the captcha: a tutorial</p>'));
});

const HOSTILE = [
  '<title>',
  '<TITLE>Access Denied</TITLE>',
  'Access denied | ',
  '"blockScript" ',
  'The request could not be satisfied ',
];
for (const piece of HOSTILE) {
  test(`the search takes no time over a body of ${piece.trim()}…`, (t) => {
    const body = piece.repeat(16_384 / piece.length);
    const took_ms = leastCpuMs(() => protectionOf(403, {}, body));
    t.true(took_ms < 300, `${took_ms} ms`);
  });
}
