// Redirects: targets as servers write them, and cookies on the way.
import { bytes, type LabCase, last, PAGE, page, site, to } from '../case.ts';

const redirect = (name: string, location: string, more: Partial<LabCase> = {}): LabCase => {
  return { name: `redirect-${name}`, answer: site(to(location)), expected: '200 redirected', ...more };
};
/** A redirect whose target names the case's own host. */
const absolute = (name: string, target: (host: string) => string): LabCase => {
  return redirect(name, '', { answer: site((asked, socket) => to(target(asked.host))(asked, socket)) });
};
/** Sets a cookie, and shows the page to whoever sends what `sent` matches. Others are redirected to the same address again. */
const cookie = (name: string, set: string, sent: RegExp, more: Partial<LabCase> = {}): LabCase => ({
  name: `cookie-${name}`,
  answer: (asked, socket) => (sent.test(asked.cookie) ? page() : to(asked.path, '302 Found', set))(asked, socket),
  expected: '200 redirected',
  ...more,
});
const EXPIRED = 'Thu, 01 Jan 1970 00:00:00 GMT';
const missing = { expected: '404 broken' };
const invalid = { expected: '302 unreachable invalid_redirect' };
const NOT_SHOWN = 'an answer, though Chromium shows no page';
const many = (count: number, length: number) =>
  Array.from({ length: count }, (_, i) => `Set-Cookie: n${i}=${'x'.repeat(length)}\r\n`).join('');

export const REDIRECTS: readonly LabCase[] = [
  redirect('relative', 'there'),
  redirect('dots', '../../a/./../there'),
  redirect('spaces-around', ' \t /there \t '),
  redirect('tab-inside', '/th\tere'),
  absolute('two-slashes', (host) => `//${host}/there`),
  absolute('three-slashes', (host) => `http:///${host}/there`),
  redirect('one-slash', 'http:/there'),
  redirect('no-slash', 'http:there'),
  absolute('backslashes', (host) => `http:\\\\${host}\\there`),
  absolute('upper-case', (host) => `HTTP://${host.toUpperCase()}/there`),
  absolute('dot-after-host', (host) => `http://${host.replace(/(?=:|$)/, '.')}/there`),
  absolute('userinfo', (host) => `http://user:p%40ss@${host}/there`),
  absolute('fragments', (host) => `http://${host}/there#a#b`),
  absolute('percent-in-host', (host) => `http://${host.replace('lab', 'l%61b')}/there`),
  absolute('wide-host', (host) => `http://${host.replace('lab', '\xef\xbd\x8cab')}/there`),
  redirect('quotes', '"/there"', missing),
  redirect('no-break-space', '/there\xc2\xa0', missing),
  redirect('bom', '\xef\xbb\xbf/there', missing),
  redirect('control', '/the\x01re', missing),
  redirect('percent-alone', '/there?100%'),
  redirect('bad-percent', '/there?%zz'),
  redirect('pipe-and-brackets', '/there?a|b[c]{d}'),
  redirect('entity', '/there?a=1&amp;b=2'),
  redirect('comma', '/there, /elsewhere', missing),
  redirect('with-name', 'Location: /there', invalid),
  redirect('letters-as-port', 'http://redirect-letters-as-port.lab.test:http/there', invalid),
  redirect('space-in-host', 'http://redirect space.lab.test/there', invalid),
  redirect('no-host', 'http://', invalid),
  redirect('web-socket', 'ws://127.0.0.1/', invalid),
  redirect('chrome', 'chrome://settings/', invalid),
  redirect('twice-equal', '/there\r\nLocation: /there'),
  redirect('twice-different', '/there\r\nLocation: /nowhere', {
    choice: 'Chromium takes two targets for an attack; the first of them is a page',
  }),
  redirect('content-location', '\r\nContent-Location: /there', {
    expected: '302 unreachable invalid_redirect',
    choice: 'Chromium shows an empty page, which nobody means',
  }),
  redirect('307-after-cookie', '/page', {
    answer: (asked, socket) =>
      (asked.cookie === 'a=1' ? page() : to('/page', '307 Temporary', 'Set-Cookie: a=1\r\n'))(asked, socket),
  }),
  redirect('endless-body', '/there', {
    answer: site((_asked, socket) => void socket.write('HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\nmore')),
  }),
  redirect('twelve-to-itself', '/page', {
    from: 'request/request#3188',
    answer: (asked, socket) => (asked.visit < 12 ? to('/page') : page())(asked, socket),
  }),
  redirect('nineteen', '', {
    answer: (asked, socket) => {
      const count = Number(asked.path.split('?')[1] ?? 0);
      (count < 19 ? to(`/page?${count + 1}`) : page())(asked, socket);
    },
  }),
  redirect('closed-port', 'http://redirect-closed-port.lab.test:2/', {
    expected: '302 unreachable connection_refused',
  }),

  ...(
    ['300 Multiple', '304 Not Modified', '305 Use Proxy', '306 Unused', '399 Odd', '201 Created', '200 OK'] as const
  ).map(
    (status): LabCase => ({
      name: `location-with-${status.slice(0, 3)}`,
      answer: page('Location: /there\r\n', status.startsWith('304') ? '' : PAGE, status),
      expected: `${status.slice(0, 3)} ok`,
      ...(status.startsWith('304') ? { choice: NOT_SHOWN } : {}),
    }),
  ),
  { name: 'status-304', answer: bytes('HTTP/1.1 304 Not Modified\r\n\r\n'), expected: '304 ok', choice: NOT_SHOWN },
  { name: 'status-300', answer: page('', PAGE, '300 Multiple Choices'), expected: '300 ok' },
  { name: 'no-bytes-after-head', answer: last('HTTP/1.1 200 OK\r\n\r\n'), expected: '200 ok' },

  cookie('changed', 'Set-Cookie: a=0\r\nSet-Cookie: a=1\r\n', /^a=1$/, { from: 'scrapy/scrapy#5021' }),
  cookie('of-parent', 'Set-Cookie: a=1; Domain=lab.test\r\n', /a=1/),
  cookie('domain-with-dot', 'Set-Cookie: a=1; Domain=.cookie-domain-with-dot.lab.test\r\n', /a=1/),
  cookie('domain-upper', 'Set-Cookie: a=1; DOMAIN=COOKIE-DOMAIN-UPPER.LAB.TEST\r\n', /a=1/),
  cookie('domain-empty', 'Set-Cookie: a=1; Domain=\r\n', /a=1/),
  cookie('domain-twice', 'Set-Cookie: a=1; Domain=x.test; Domain=cookie-domain-twice.lab.test\r\n', /a=1/),
  cookie('domain-foreign', 'Set-Cookie: a=1; Domain=x.test\r\nSet-Cookie: b=1\r\n', /^b=1$/),
  cookie('path-default', 'Set-Cookie: a=1\r\n', /a=1/, { path: '/deep/er/page' }),
  cookie('path-relative', 'Set-Cookie: a=1; Path=deep\r\n', /a=1/),
  cookie('path-twice', 'Set-Cookie: a=1; Path=/no; Path=/\r\n', /a=1/),
  cookie('path-of-page', 'Set-Cookie: a=1; Path=/page\r\n', /a=1/),
  cookie('expires-dashes', 'Set-Cookie: a=1; Expires=Fri, 31-Dec-2083 23:59:59 GMT\r\n', /a=1/),
  cookie('expires-two-digits', 'Set-Cookie: a=1; Expires=Fri, 31-Dec-60 23:59:59 GMT\r\n', /a=1/),
  cookie('expires-nonsense', 'Set-Cookie: a=1; Expires=tomorrow\r\n', /a=1/),
  cookie('expires-quoted', 'Set-Cookie: a=1; Expires="Fri, 31 Dec 2083 23:59:59 GMT"\r\n', /a=1/),
  cookie('max-age-wins', `Set-Cookie: a=1; Expires=${EXPIRED}; Max-Age=60\r\n`, /a=1/),
  cookie('max-age-nonsense', 'Set-Cookie: a=1; Max-Age=soon\r\n', /a=1/),
  cookie('quoted', 'Set-Cookie: a="1, 2"\r\n', /a="1, 2"/),
  cookie('no-name', 'Set-Cookie: =1\r\n', /^1$/),
  cookie('no-equals', 'Set-Cookie: seen\r\n', /^seen$/),
  cookie('utf8', 'Set-Cookie: a=gr\xc3\xbc\xc3\x9fe\r\n', /a=gr\xc3\xbc/),
  cookie('json', 'Set-Cookie: a={"b":[1,2]}\r\n', /a=\{"b":\[1,2\]\}/),
  cookie('same-site-none', 'Set-Cookie: a=1; SameSite=None\r\nSet-Cookie: b=1\r\n', /b=1/),
  cookie('same-site-strict', 'Set-Cookie: a=1; SameSite=Strict\r\n', /a=1/),
  cookie('host-prefix', 'Set-Cookie: __Host-a=1; Path=/\r\nSet-Cookie: b=1\r\n', /^b=1$/),
  cookie('tab-inside', 'Set-Cookie: a=1\t2\r\nSet-Cookie: b=1\r\n', /b=1/),
  cookie('spaces-around', 'Set-Cookie:   a  =  1  ;Path=/\r\n', /a=1/),
  cookie('sixty', many(60, 20), /n59=/),
  cookie('large', many(1, 4000), /n0=/),
  cookie('three-large', many(3, 3900), /n2=/),
  cookie('too-large', 'Set-Cookie: b=1\r\n'.concat(many(1, 5000)), /^b=1$/),
  {
    name: 'cookie-deleted',
    answer: (asked, socket) => {
      if (asked.path === '/page') to('/two', '302 Found', 'Set-Cookie: a=1; Path=/\r\n')(asked, socket);
      else if (asked.path === '/two')
        to('/three', '302 Found', `Set-Cookie: a=; Expires=${EXPIRED}\r\n`)(asked, socket);
      else page('', PAGE, asked.cookie === '' ? '200 OK' : '400 Bad Request')(asked, socket);
    },
    expected: '200 redirected',
  },
];
