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
  // Walls at statuses of their own
  [
    'a 404 with a challenge’s header',
    404,
    { 'cf-mitigated': 'challenge' },
    '<title>Just a moment...</title>',
    'cloudflare',
  ],
  ['F5’s refusal', 500, {}, 'The requested URL was rejected. Please consult with your administrator', 'f5'],
  ['AWS WAF’s captcha', 405, { 'x-amzn-waf-action': 'captcha' }, '', 'aws_waf'],
  ['AWS WAF’s challenge', 202, { 'x-amzn-waf-action': 'challenge' }, '', 'aws_waf'],
  [
    'AWS WAF’s challenge by its page',
    202,
    {},
    `<!DOCTYPE html><html><head><title></title><script>window.awsWafCookieDomainList = [];window.gokuProps = {"key":"AQ"};</script><script src="https://a.token.awswaf.com/a/challenge.js"></script></head><body><div id="challenge-container"></div><script>AwsWafIntegration.checkForceRefresh()</script><noscript><h1>JavaScript is disabled</h1></noscript>${' '.repeat(400)}</body></html>`,
    'aws_waf',
  ],
  [
    'Alibaba’s refusal',
    405,
    {},
    '<!doctypehtml><html lang="zh-cn"><title>405</title><img src="//errors.aliyun.com/images/x.png">',
    'aliyun_waf',
  ],
  [
    'Alibaba’s challenge by script',
    200,
    {},
    `<html><script>var arg1='${'A'.repeat(500)}';function setCookie(name,value){document.cookie=name+"="+value}setCookie("acw_sc__v2",arg2);</script></html>`,
    'aliyun_waf',
  ],
  ['Tencent EdgeOne', 567, {}, '', 'tencent_waf'],
  [
    'Jiasule’s challenge',
    521,
    { 'set-cookie': ['__jsluid_s=0a1b; max-age=31536000'] },
    '<script>document.cookie=</script>',
    'jiasule',
  ],
  ['360', 493, {}, '<a href="http://wangzhan.360.cn">wzws-waf-cgi/</a>', 'wzws'],
  ['Huawei', 418, { server: 'HuaweiCloudWAF' }, '', 'huawei_waf'],
  ['SafeLine', 468, {}, '', 'safeline'],
  ['Reblaze', 247, {}, '', 'reblaze'],
  ['Distil', 416, {}, '<form id="distilCaptchaForm" method="POST"></form>', 'distil'],
  [
    'Distil at its usual status',
    405,
    {},
    '<title>Pardon Our Interruption</title><p>As you were browsing something about your browser made us think you were a bot.</p>',
    'imperva',
  ],
  ['BitNinja', 403, {}, '<title>Security check by BitNinja.IO</title>', 'bitninja'],
  [
    'Imunify360',
    415,
    {},
    '{"message":"Access denied by Imunify360 bot-protection. IPs used for automation should be whitelisted"}',
    'imunify360',
  ],
  ['CrowdSec', 403, {}, '<title>CrowdSec Access Forbidden</title>', 'crowdsec'],
  [
    'ModSecurity',
    406,
    {},
    '<head><title>Not Acceptable!</title></head><body><h1>Not Acceptable!</h1><p>An appropriate representation of the requested resource could not be found on this server. This error was generated by Mod_Security.</p></body>',
    'modsecurity',
  ],
  [
    'SiteGround’s captcha',
    202,
    { 'sg-captcha': 'challenge' },
    '<meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F">',
    'siteground',
  ],
  [
    'Anubis',
    200,
    {},
    `<!doctype html><html><head><title>Making sure you&#39;re not a bot!</title><script id="anubis_version" type="application/json">"v1.25.0"</script><script id="anubis_challenge" type="application/json">{}</script></head><body><h1>Making sure you&#39;re not a bot!</h1><p>${'You are seeing this because the administrator of this website has set up Anubis. '.repeat(12)}</p><a href="https://github.com/TecharoHQ/anubis">Anubis</a></body></html>`,
    'anubis',
  ],
  [
    'Akamai’s behavioural challenge',
    200,
    {},
    `<!DOCTYPE html><html><head><script src="/x/y?v=1"></script>${'<style></style>'.repeat(30)}</head><body><div id="sec-if-cpt-container" style="display:none"><p>Powered and protected by</p></div></body></html>`,
    'akamai',
  ],
  [
    'Imperva’s challenge',
    200,
    {},
    `<html><head><META NAME="robots" CONTENT="noindex,nofollow"><script src="/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d891814e9a2dace20bd4"></script></head><body><iframe src="/_Incapsula_Resource?CWUDNSAI=23&xinfo=1"></iframe>${' '.repeat(400)}</body></html>`,
    'imperva',
  ],
  [
    'Reddit’s verification',
    200,
    {},
    `<title>Reddit - Please wait for verification</title><script>${'x'.repeat(500)}</script><form></form>`,
    'reddit',
  ],
  ['Sucuri’s challenge', 307, {}, `<script>sucuri_cloudproxy_js='';S='${'x'.repeat(500)}';eval(r)</script>`, 'sucuri'],
  ['549 with a captcha', 549, {}, '<p>Please complete the captcha</p><div class="g-recaptcha"></div>', 'challenge'],
  // Sites that refuse programs by name
  [
    'Reddit’s block page',
    403,
    {},
    '<title>Blocked</title><h1>whoa there, pardner!</h1><p>Your request has been blocked due to a network policy.</p>',
    'bot_policy',
  ],
  ['Reddit’s newer block page', 403, {}, "<p>You've been blocked by network security.</p>", 'bot_policy'],
  [
    'Wikimedia',
    403,
    {},
    'Please set a user-agent and respect our robot policy https://w.wiki/4wJS. See also T400119.',
    'bot_policy',
  ],
  [
    'Wikimedia, by address',
    429,
    {},
    'Scripted requests from your IP have been blocked, please see our Robot Policy',
    'bot_policy',
  ],
  [
    'the SEC',
    403,
    { server: 'AkamaiGHost' },
    '<title>SEC.gov | Your Request Originates from an Undeclared Automated Tool</title><h1>Your Request Originates from an Undeclared Automated Tool</h1>',
    'bot_policy',
  ],
  [
    'GitHub’s API',
    403,
    {},
    'Request forbidden by administrative rules. Please make sure your request has a User-Agent header',
    'bot_policy',
  ],
  [
    'crates.io',
    403,
    {},
    '{"errors":[{"detail":"We require that all requests include a `User-Agent` header. See our data access policy."}]}',
    'bot_policy',
  ],
  ['a tile server', 403, {}, 'Access blocked. See our tile usage policy: bots are not allowed.', 'bot_policy'],
  ['a firewall without a name', 406, {}, 'Your request was blocked by the web application firewall.', 'challenge'],
  // Honest answers that resemble them
  [
    'a 404 with a captcha on its form',
    404,
    {},
    '<h1>Page not found</h1><form><div class="g-recaptcha"></div></form><script src="https://www.google.com/recaptcha/api.js"></script>',
    null,
  ],
  ['a 405 of an API', 405, { allow: 'POST' }, '{"detail":"Method Not Allowed"}', null],
  ['a 500 that speaks of bots', 500, {}, '<h1>Our bot protection is broken</h1>', null],
  [
    'Cloudflare’s page for a server that is down',
    521,
    { ...CLOUDFLARE },
    `<title>shop.example | 521: Web server is down</title><script></script><div id="cf-error-details"><h1>Web server is down</h1></div>${' '.repeat(400)}`,
    null,
  ],
  [
    'an application’s shell behind AWS WAF',
    200,
    {},
    `<title>Shop</title><script src="https://a.token.awswaf.com/a/challenge.js" defer></script><div id="root"></div>${' '.repeat(400)}`,
    null,
  ],
  [
    'an application’s shell behind F5',
    200,
    {},
    `<title>Shop</title><script src="/TSPD/?type=20"></script><script>window.bobcmn="1"</script><div id="root"></div>${' '.repeat(400)}`,
    null,
  ],
  [
    'a login with a captcha',
    200,
    {},
    `<title>Sign in</title><script src="https://hcaptcha.com/1/api.js"></script><div class="h-captcha"></div><p>Please verify you are a human</p>${' '.repeat(400)}`,
    null,
  ],
  [
    'an article that quotes a challenge',
    200,
    {},
    `<title>How to pass</title><script></script><p>${'Words about walls and their window.gokuProps and errors.edgesuite.net. '.repeat(40)}</p>`,
    null,
  ],
  ['a plain 202', 202, {}, '<p>Accepted</p>', null],
  ['a 418', 418, { server: 'nginx' }, '<h1>I am a teapot</h1>', null],
  ['a 404 of a host that DataDome protects', 404, { 'x-datadome': 'protected' }, '<h1>Not found</h1>', null],
];

test('the table has enough samples, of counterexamples too', (t) => {
  t.true(SAMPLES.length >= 40);
  t.true(SAMPLES.filter(([, , , , expected]) => expected === null).length >= 15);
});

for (const [what, status, headers, body, expected] of SAMPLES) {
  test(`a ${status} with ${what} shows ${expected ?? 'no protection'}`, (t) =>
    t.is(protectionOf(status, headers, body), expected));
}

/** Only its length tells it from a challenge. */
const QUOTES = new Set(['an article that quotes a challenge']);

test('a challenge counts with any status, and a page that a product only watches does not', (t) => {
  for (const [what, , , body, expected] of SAMPLES) {
    if (expected === null && !QUOTES.has(what)) t.false(isChallengePage(body), what);
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
