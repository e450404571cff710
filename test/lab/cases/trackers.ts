// More of what people have met, from the trackers of browsers, crawlers and clients in other languages.
import { bytes, HEAD, type LabCase, last, PAGE, page, site, to } from '../case.ts';

const LENGTH = `Content-Length: ${PAGE.length}\r\n`;
const tracked = (name: string, text: string, more: Partial<LabCase> = {}): LabCase => {
  return { name: `tracked-${name}`, answer: last(text), expected: '200 ok', ...more };
};
const moved = (name: string, lines: string, more: Partial<LabCase> = {}): LabCase =>
  tracked(`to-${name}`, '', {
    answer: site(bytes(`HTTP/1.1 302 Found\r\n${lines}\r\nContent-Length: 0\r\n\r\n`)),
    expected: '200 redirected',
    ...more,
  });
const line = (name: string, text: string, more: Partial<LabCase> = {}) =>
  tracked(`line-${name}`, `${text}\r\nContent-Type: text/html\r\n${LENGTH}\r\n${PAGE}`, more);
const head = (name: string, lines: string, more: Partial<LabCase> = {}) =>
  tracked(`head-${name}`, `${HEAD}${lines}${LENGTH}\r\n${PAGE}`, more);
const secure = (name: string, tls: NonNullable<LabCase['tls']>): LabCase => {
  return { name: `tracked-tls-${name}`, is_secure: true, tls, answer: page(), expected: '200 ok' };
};

export const TRACKED: readonly LabCase[] = [
  moved('after-cr', 'X-Odd: a\rLocation: /there', { from: 'whatwg/fetch#1156' }),
  moved('before-cr', 'Location: /there\rX-Odd: a', { from: 'whatwg/fetch#1156' }),
  moved('tab-before-colon', 'Location\t: /there'),
  moved('form-feed', 'Location: /there\x0c'),
  moved('refresh-alone', 'Refresh: 0;url=/there', { expected: '302 ok' }),
  moved('bytes-after-body', 'Location: /there', {
    answer: site(bytes('HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\nxxxx')),
    from: 'whatwg/fetch#1156',
  }),
  moved('other-fragment', '', {
    path: '/page#a',
    answer: (asked, socket) => (asked.visit === 1 ? to('/page#b') : page())(asked, socket),
  }),
  line('zeros-first', 'HTTP/1.1 0200 OK'),
  line('no-slash', 'HTTP11 200 OK'),
  line('half-version', 'HTTP/1. 200 OK'),
  line('letters-as-version', 'HTTP/x.y 200 OK'),
  head('delete-in-cookie', 'Set-Cookie: a=b; domain=\x7fwwom\x7f.com\r\n', { from: 'seanmonstar/reqwest#1189' }),
  head('php-warning', 'PHP Warning: PHP Startup: Unable to load /x - /x: cannot open\r\n', {
    from: 'sbstp/attohttpc#96',
  }),
  head('doctype', '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0">\r\n', { from: 'seanmonstar/httparse#61' }),
  secure('post-quantum-alone', (certificates) => ({
    ...certificates.of('DNS:*.lab.test'),
    ecdhCurve: 'X25519MLKEM768',
  })),
];
