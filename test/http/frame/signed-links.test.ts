import test from 'ava';
import { openSignedLinks } from '../../../http/frame/signed-links.ts';

const BASE = 'https://check.example/app';

function linksAt(clock: { now: number }, key = 'a key of tests') {
  return openSignedLinks({ secret: Buffer.from(key), base_url: () => BASE, now: () => clock.now });
}

/** As a server behind the base sees it. */
function asked(url: string): [path: string, search: string] {
  const { pathname, search } = new URL(url);
  return [pathname.slice('/app'.length), search];
}

test('a link is valid for an hour, to the second', (t) => {
  const clock = { now: Date.parse('2026-01-31T09:00:00.700Z') };
  const links = linksAt(clock);
  const { url, expires_at } = links.sign('/downloads/1', { format: 'csv', non_2xx: true, url_contains: undefined });
  t.is(expires_at, '2026-01-31T10:00:00.000Z');
  t.regex(url, /^https:\/\/check\.example\/app\/downloads\/1\?format=csv&non_2xx=true&expires=1769853600&signature=/);
  t.is(links.verify(...asked(url)), 'valid');
  clock.now = Date.parse(expires_at) - 1;
  t.is(links.verify(...asked(url)), 'valid');
  clock.now += 1;
  t.is(links.verify(...asked(url)), 'expired');
});

test('any change makes a link forged, expired or not', (t) => {
  const clock = { now: 1_000_000_000_000 };
  const links = linksAt(clock);
  const { url } = links.sign('/downloads/1', { format: 'csv', url_contains: 'a b&c=d' });
  const [path, search] = asked(url);
  const changed: [string, string][] = [
    ['/downloads/2', search],
    [path, search.replace('format=csv', 'format=xlsx')],
    [path, search.replace(/expires=\d+/, 'expires=9999999999')],
    [path, search.replace(/expires=\d+&/, '')],
    [path, search.replace(/&signature=.*/, '')],
    [path, search.replace('signature=', 'signature=A')],
    [path, `${search}&signature=x`],
    [path, `${search}&non_2xx=false`],
    [path, `${search}&format=csv`],
    [path, ''],
  ];
  for (const [other_path, other] of changed) t.is(links.verify(other_path, other), 'forged', other);
  t.is(linksAt(clock, 'another key').verify(path, search), 'forged');
  clock.now += 7_200_000;
  t.is(links.verify(path, search.replace('format=csv', 'format=xlsx')), 'forged');
});

test('a link stays valid in another encoding', (t) => {
  const links = linksAt({ now: 0 });
  const [path, search] = asked(links.sign('/downloads/1', { status_codes: '404,410', url_contains: 'ä b' }).url);
  t.true(search.includes('404%2C410'));
  t.is(links.verify(path, search.replace('%2C', ',').replace('+', '%20')), 'valid');
  t.is(links.verify(path, search.slice(1).split('&').reverse().join('&')), 'valid');
});
