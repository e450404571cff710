// The cookies of one check, and which hop gets which.
import test from 'ava';
import { CookieJar } from '../../../checkers/engine/cookies.ts';

const NOW = Date.UTC(2026, 0, 1);

function sent(from: string, set_cookie: string | string[], to: string): string | null {
  const jar = new CookieJar();
  jar.store(new URL(from), set_cookie, NOW);
  return jar.header(new URL(to), NOW);
}

const ROWS: readonly [what: string, from: string, set_cookie: string | string[], to: string, header: string | null][] =
  [
    ['to the same URL', 'http://a.example/x', 'k=v', 'http://a.example/x', 'k=v'],
    ['several at once', 'http://a.example/', ['a=1', 'b=2; HttpOnly'], 'http://a.example/', 'a=1; b=2'],
    ['a later value replaces', 'http://a.example/', ['a=1', 'a=2'], 'http://a.example/', 'a=2'],
    ['an empty value', 'http://a.example/', 'a=', 'http://a.example/', 'a='],
    [
      'a letter whose last byte is a space',
      'http://a.example/',
      'a=citt\xc3\xa0',
      'http://a.example/',
      'a=citt\xc3\xa0',
    ],
    ['without a name', 'http://a.example/', '=v', 'http://a.example/', 'v'],
    ['without an equals sign', 'http://a.example/', 'seen; Path=/', 'http://a.example/', 'seen'],
    ['of nothing', 'http://a.example/', '=', 'http://a.example/', null],
    ['not to another host', 'http://a.example/', 'k=v', 'http://b.example/', null],
    ['not to a subdomain', 'http://a.example/', 'k=v', 'http://www.a.example/', null],
    ['to subdomains of its Domain', 'http://www.a.example/', 'k=v; Domain=.a.example', 'http://b.a.example/', 'k=v'],
    ['not for a foreign Domain', 'http://a.example/', 'k=v; Domain=b.example', 'http://b.example/', null],
    [
      'not for a Domain that only ends alike',
      'http://evila.example/',
      'k=v; Domain=a.example',
      'http://a.example/',
      null,
    ],
    ['not for a top-level domain', 'http://a.example/', 'k=v; Domain=example', 'http://b.example/', null],
    ['an address is no domain', 'http://1.2.3.4/', 'k=v; Domain=3.4', 'http://9.9.3.4/', null],
    ['secure over https', 'https://a.example/', 'k=v; Secure', 'https://a.example/', 'k=v'],
    ['secure not over http', 'https://a.example/', 'k=v; Secure', 'http://a.example/', null],
    ['below its Path', 'http://a.example/', 'k=v; Path=/shop', 'http://a.example/shop/1', 'k=v'],
    ['not beside its Path', 'http://a.example/', 'k=v; Path=/shop', 'http://a.example/shopping', null],
    ['in its own folder by default', 'http://a.example/shop/a', 'k=v', 'http://a.example/shop/b', 'k=v'],
    ['not outside its folder by default', 'http://a.example/shop/a', 'k=v', 'http://a.example/', null],
    ['expired by Max-Age', 'http://a.example/', 'k=v; Max-Age=0', 'http://a.example/', null],
    ['expired by date', 'http://a.example/', 'k=v; Expires=Wed, 01 Jan 2020 00:00:00 GMT', 'http://a.example/', null],
    [
      'Max-Age over a date',
      'http://a.example/',
      'k=v; Max-Age=9; Expires=Wed, 01 Jan 2020 00:00:00 GMT',
      'http://a.example/',
      'k=v',
    ],
    ['with a line break', 'http://a.example/', 'k=v\r\nEvil: yes', 'http://a.example/', null],
    ['too long', 'http://a.example/', `k=${'v'.repeat(5000)}`, 'http://a.example/', null],
    // Hosts that cannot have subdomains of the same site, and name themselves.
    ['for an IPv4 address', 'http://1.2.3.4/', 'k=v; Domain=1.2.3.4', 'http://1.2.3.4/', 'k=v'],
    ['for an IPv6 address', 'http://[2001:db8::1]/', 'k=v; Domain=[2001:db8::1]', 'http://[2001:db8::1]/', 'k=v'],
    ['for a name without a dot', 'http://intranet/', 'k=v; Domain=intranet', 'http://intranet/', 'k=v'],
    ['for a public suffix', 'http://github.io/', 'k=v; Domain=.github.io', 'http://github.io/', 'k=v'],
    ['not below a public suffix', 'http://github.io/', 'k=v; Domain=github.io', 'http://a.github.io/', null],
    ['not for a public suffix above', 'http://a.co.uk/', 'k=v; Domain=co.uk', 'http://a.co.uk/', null],
    ['for a path in percent signs', 'http://a.example/%7Ea/x', 'k=v; Path=/%7Ea', 'http://a.example/%7Ea/y', 'k=v'],
    ['for a path that cannot be decoded', 'http://a.example/%zz/x', 'k=v; Path=/%zz', 'http://a.example/%zz/y', 'k=v'],
    ['of a full name', 'http://a.example.:81/x', 'k=v', 'http://a.example.:81/', 'k=v'],
    [
      'with long attributes',
      'http://a.example/',
      `k=${'v'.repeat(4090)}; Domain=a.example; Path=/; SameSite=Lax`,
      'http://a.example/',
      `k=${'v'.repeat(4090)}`,
    ],
  ];

for (const [what, from, set_cookie, to, header] of ROWS) {
  test(`the jar treats ${what}: ${header ?? 'not sent'}`, (t) => {
    t.is(sent(from, set_cookie, to), header);
  });
}

test('a cookie lives as long as its server means by its own clock', (t) => {
  const url = new URL('http://a.example/');
  const set = 'k=v; Expires=Wed, 01 Jan 2020 00:10:00 GMT';
  const jar = new CookieJar();
  jar.store(url, set, NOW, 'Wed, 01 Jan 2020 00:00:00 GMT');
  t.is(jar.header(url, NOW + 9 * 60_000), 'k=v');
  t.is(jar.header(url, NOW + 11 * 60_000), null);
  jar.store(url, set, NOW, 'Wed, 01 Jan 2020 00:11:00 GMT');
  t.is(jar.header(url, NOW), null);
  jar.store(url, 'k=v; Expires=Fri, 02 Jan 2026 00:00:00 GMT', NOW, 'no date');
  t.is(jar.header(url, NOW), 'k=v');
});

test('a jar holds a limited number of cookies', (t) => {
  const cookies = Array.from({ length: 500 }, (_, i) => `c${i}=${'v'.repeat(100)}`);
  const header = sent('http://a.example/', cookies, 'http://a.example/') ?? '';
  t.is(header.split(';').length, 180);
  const large = Array.from({ length: 100 }, (_, i) => `c${i}=${'v'.repeat(4000)}`);
  t.is(sent('http://a.example/', large, 'http://a.example/')?.split(';').length, 8);
});

test('a jar sends as many cookies as browsers do', (t) => {
  const consent = Array.from({ length: 4 }, (_, i) => `consent${i}=${'v'.repeat(3900)}`);
  const header = sent(
    'http://a.example/',
    [...Array.from({ length: 100 }, (_, i) => `c${i}=1`), ...consent],
    'http://a.example/',
  );
  t.regex(header ?? '', /c99=1.*consent3=/);
});
