// Walls of products and sites that few lists know, walls in other languages than English, and refusals that only sound like them.
import type { IncomingHttpHeaders } from 'node:http';
import test from 'ava';
import { protectionOf } from '../../../checkers/engine/protection.ts';

const page = (title: string, text = title) =>
  `<!doctype html><html><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${text}</h1></body></html>`;

type Row = [what: string, status: number, body: string, expected: string | null, headers?: IncomingHttpHeaders];
const TESTCOOKIE =
  '<html><body><script src="/aes.js"></script><script>function toNumbers(d){}var a=toNumbers("f6"),b=toNumbers("98"),c=toNumbers("6b");' +
  'document.cookie="__test="+toHex(slowAES.decrypt(c,2,a,b))+"; path=/";location.href="http://a.example/?i=1";</script>' +
  '<noscript>This site requires Javascript to work</noscript></body></html>';

const PRODUCTS: readonly Row[] = [
  ['Cloudflare in one line', 403, 'error code: 1020', 'cloudflare'],
  ['Cloudflare’s rate limit in one line', 429, 'error code: 1015\n', 'cloudflare'],
  ['Cloudflare’s word for a site without an address', 530, 'error code: 1016', null],
  ['a free host’s cookie test', 200, TESTCOOKIE, 'testcookie'],
  [
    'Amazon’s captcha',
    200,
    '<html><script></script><h4>Click the button below to continue shopping</h4><form action="/errors/validateCaptcha"></form>',
    'amazon',
  ],
  ['Amazon’s 503', 503, '<!-- To discuss automated access to Amazon data please contact us -->', 'amazon'],
  [
    'Taobao’s punishment',
    200,
    '<script>location.replace("https://a.example//_____tmd_____/punish?x5secdata=1")</script>',
    'aliyun_waf',
  ],
  ['Alibaba’s header', 200, '', 'aliyun_waf', { bxpunish: '1' }],
  ['TikTok’s wait', 200, '<script>window._wafchallengeid="1"</script>Please wait...', 'bytedance'],
  ['Zhihu’s script', 403, '<meta id="zh-zse-ck" content="004">', 'zhihu'],
  [
    'DuckDuckGo',
    202,
    '<script></script><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>',
    'duckduckgo',
  ],
  ['FortiWeb', 403, `${page('Web Page Blocked!')}Attack ID: 20000051`, 'fortiweb'],
  ['NetScaler', 403, page('Application Firewall Block Page'), 'netscaler'],
  ['MalCare', 403, page('Blocked because of Malicious Activities'), 'malcare'],
  ['Wallarm', 403, page('403 Forbidden'), 'wallarm', { server: 'nginx-wallarm' }],
  ['Bunny Shield', 403, '<script src="/.bunny-shield/assets/challenge.js"></script>', 'bunny_shield'],
  ['basedflare', 403, '<script src="/.basedflare/js/challenge.js"></script>', 'basedflare'],
  ['NAXSI at 406', 406, page('Blocked By NAXSI'), 'naxsi'],
  ['Arkose’s captcha', 403, '<script src="https://client-api.arkoselabs.com/v2/x/api.js"></script>', 'challenge'],
  ['Yandex’s captcha', 403, '<script src="https://smartcaptcha.yandexcloud.net/captcha.js"></script>', 'challenge'],
  ['ALTCHA', 403, '<altcha-widget></altcha-widget>', 'challenge'],
  ['a country’s wall', 403, page('Sorry', 'This content is not available in your country.'), 'geo_block'],
  ['a country’s wall at 451', 451, page('Sorry', 'Access from your region is restricted'), 'geo_block'],
];

const LANGUAGES: readonly [language: string, status: number, text: string][] = [
  ['Chinese', 403, '请完成安全验证'],
  ['Chinese, too many', 403, '访问过于频繁，请稍后再试'],
  ['Chinese, blocked', 405, '由于您访问的URL有可能对网站造成安全威胁，您的访问被阻断。'],
  ['Chinese, JSON', 403, '您当前请求存在异常，暂时限制本次访问'],
  ['Taiwanese', 403, '人機驗證'],
  ['Russian', 403, 'Подтвердите, что вы не робот'],
  ['Russian, browser', 503, 'Проверяем ваш браузер перед входом на сайт'],
  ['Russian, suspicion', 403, 'Зафиксирована подозрительная активность'],
  ['Ukrainian', 403, 'Підтвердіть, що ви не робот'],
  ['German', 403, 'Bitte bestätigen Sie, dass Sie kein Roboter sind'],
  ['German, address', 403, 'Ihre IP-Adresse wurde gesperrt'],
  ['French', 403, 'Vérifiez que vous êtes humain'],
  ['French, address', 403, 'Votre adresse IP a été bloquée'],
  ['Spanish', 403, 'Verifica que eres humano'],
  ['Portuguese', 403, 'Confirme que você é humano'],
  ['Italian', 403, 'Verifica di non essere un robot'],
  ['Dutch', 403, 'Bevestig dat u geen robot bent'],
  ['Polish', 403, 'Potwierdź, że nie jesteś robotem'],
  ['Czech', 403, 'Potvrďte, že nejste robot'],
  ['Swedish', 403, 'Bekräfta att du inte är en robot'],
  ['Turkish', 403, 'Robot olmadığınızı doğrulayın'],
  ['Indonesian', 403, 'Buktikan bahwa Anda bukan robot'],
  ['Vietnamese', 403, 'Xác minh bạn không phải là robot'],
  ['Japanese', 403, 'ロボットではないことを確認してください'],
  ['Korean', 403, '자동화된 요청이 감지되었습니다'],
  ['Persian', 403, 'در حال انتقال به سایت مورد نظر هستید'],
];

const HONEST: readonly Row[] = [
  ['a German 403', 403, page('Zugriff verweigert', 'Sie haben keine Berechtigung, diese Seite zu sehen'), null],
  ['a Spanish 403', 403, page('Prohibido', 'No tiene permiso para acceder a este recurso'), null],
  ['a Russian 403', 403, page('Доступ запрещён', 'У вас нет прав для просмотра этой страницы'), null],
  ['a Chinese 403', 403, page('禁止访问', '您没有权限访问此页面'), null],
  ['a Japanese 403', 403, page('アクセスできません', 'このページを表示する権限がありません'), null],
  ['a Chinese 404 with a captcha’s words', 404, page('页面不存在', '安全验证'), null],
  ['an article about captchas', 200, page('Bestätigen Sie, dass Sie kein Roboter sind: was es bedeutet'), null],
  ['a page for one country', 200, page('Not available in your country?'), null],
];

/** The bytes of a text, as they are read for marks. */
const read = (text: string) => Buffer.from(text).toString('latin1');
for (const [what, status, body, expected, headers = {}] of [...PRODUCTS, ...HONEST]) {
  test(`a ${status} of ${what} shows ${expected ?? 'no protection'}`, (t) =>
    t.is(protectionOf(status, headers, read(body)), expected));
}
for (const [language, status, text] of LANGUAGES) {
  test(`a ${status} that is a wall in ${language} shows challenge`, (t) =>
    t.is(protectionOf(status, {}, read(page('403', text))), 'challenge'));
}

test('a wall in another charset is read by it', (t) => {
  const gbk = Buffer.from([0xc8, 0xcb, 0xbb, 0xfa, 0xd1, 0xe9, 0xd6, 0xa4]).toString('latin1');
  t.is(protectionOf(403, { 'content-type': 'text/html; charset=GBK' }, page('403', gbk)), 'challenge');
});
