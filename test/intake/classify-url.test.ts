import test from 'ava';
import fc from 'fast-check';
import { createAddressGuard } from '../../checkers/engine/addresses.ts';
import { blockedDomains } from '../../intake/blocked-domains.ts';
import { type CheckableUrl, type ClassifiedUrl, classifyUrl } from '../../intake/classify-url.ts';

const classify = (text: string): ClassifiedUrl => classifyUrl(text, { max_url_chars: 2048 });
const keyOf = (text: string): string => (classify(text) as CheckableUrl).key;

for (const text of [
  'https://example.com',
  'HTTP://EXAMPLE.COM/Path?q=1#part',
  'http://localhost:8080/x',
  'http://127.0.0.1/',
  'https://[2001:db8::1]:8443/',
  'https://user@example.com/x',
  'https://münchen.example/straße',
  'https://例え.jp/',
  'https://example.com./',
  'https://a_b.example.com/',
  'https://example.com/a,b;c|d',
  'https://example.com/My File.pdf',
]) {
  test(`${text} is valid and kept as submitted`, (t) => {
    const found = classify(text);
    t.like(found, { category: 'valid', url: text, prefix_added: false });
  });
}

test('a password of a URL is left out, of its key too', (t) => {
  for (const [text, url] of [
    ['https://user:secret@example.com/x#y', 'https://user@example.com/x#y'],
    ['http://:secret@example.com/', 'http://example.com/'],
    ['HTTP:\\\\user:se@cret@EXAMPLE.com', 'http://user@example.com/'],
  ] as const) {
    const found = classify(text);
    t.like(found, { category: 'valid', url });
    t.is((found as CheckableUrl).key, url.replace('#y', ''));
  }
});

for (const [text, url] of [
  ['example.com/path', 'https://example.com/path'],
  ['www.x.de', 'https://www.x.de'],
  ['//host.org/x', 'https://host.org/x'],
  ['example.com:8080/x', 'https://example.com:8080/x'],
  ['Example.COM?q=a@b.c', 'https://Example.COM?q=a@b.c'],
  ['192.168.0.1:80/x', 'https://192.168.0.1:80/x'],
  ['bücher.example', 'https://bücher.example'],
  ['例え。jp', 'https://例え。jp'],
] as const) {
  test(`${text} lacks its prefix and becomes ${url}`, (t) => {
    t.like(classify(text), { category: 'missing_prefix', url, prefix_added: true });
  });
}

for (const [text, reason] of [
  ['', 'empty'],
  [' \t ', 'empty'],
  ['ftp://example.com/file', 'unsupported_scheme'],
  ['mailto:a@example.com', 'unsupported_scheme'],
  ['javascript:alert(1)', 'unsupported_scheme'],
  ['data:text/html,x', 'unsupported_scheme'],
  ['tel:5551234', 'unsupported_scheme'],
  ['htp://example.com', 'unsupported_scheme'],
  ['Status: open', 'several_words'],
  ['a@example.com', 'email_address'],
  ['localhost', 'no_domain'],
  ['foo', 'no_domain'],
  ['//localhost/x', 'no_domain'],
  ['/path/file.html', 'no_domain'],
  ['report.', 'no_domain'],
  ['12.50', 'no_domain'],
  ['v1.2.3', 'malformed'],
  ['1.2.3.4.5', 'malformed'],
  ['300.1.1.1', 'malformed'],
  ['see example.com', 'several_words'],
  ['https://a.com is good', 'several_words'],
  ['https://a.com/x https://b.com/y', 'several_words'],
  ['https://', 'malformed'],
  ['https://exa mple.com/', 'several_words'],
  ['https://example.com:99999/', 'malformed'],
  ['https://a.com,b.com', 'malformed'],
  ['https://a..com/', 'malformed'],
  ['https://.com/', 'malformed'],
  ['https://"example.com"/', 'malformed'],
  ['"https://example.com/', 'malformed'],
  ['https://example.com/a\tb', 'control_character'],
  ['https://example.com/\u0000', 'control_character'],
  ['https://example.com/caf\ufffd', 'undecodable'],
  [`https://example.com/${'a'.repeat(2048)}`, 'too_long'],
] as const) {
  test(`${JSON.stringify(text.slice(0, 40))} is invalid: ${reason}`, (t) => {
    t.deepEqual(classify(text), { category: 'invalid', reason });
  });
}

test('white space around a URL is not part of it', (t) => {
  t.like(classify(' \u00a0https://example.com/\r\n'), { category: 'valid', url: 'https://example.com/' });
});

test('two URLs are equal when the parser makes them equal, whatever their fragments', (t) => {
  t.is(keyOf('HTTPS://Example.com:443/a/../b#one'), keyOf('https://example.com/b#two'));
  t.is(keyOf('https://example.com'), keyOf('https://example.com/#'));
  t.is(keyOf('example.com'), keyOf('https://example.com/'));
  t.not(keyOf('https://example.com/a'), keyOf('https://example.com/a/'));
  t.not(keyOf('https://example.com/A'), keyOf('https://example.com/a'));
  t.not(keyOf('http://example.com/'), keyOf('https://example.com/'));
  t.not(keyOf('https://example.com/?a=1&b=2'), keyOf('https://example.com/?b=2&a=1'));
});

test('a blocklisted domain covers itself and its subdomains, with or without a prefix', (t) => {
  const blocked_domain_of = blockedDomains(new Set(['example.com', 'evil.org', 'xn--mnchen-3ya.example', '10.0.0.1']));
  const blockedBy = (text: string) => {
    const found = classifyUrl(text, { max_url_chars: 2048, blocked_domain_of });
    return found.category === 'blocked' ? found.blocked_domain : found.category;
  };
  t.is(blockedBy('https://example.com/'), 'example.com');
  t.is(blockedBy('https://a.b.EXAMPLE.com./'), 'example.com');
  t.is(blockedBy('www.evil.org'), 'evil.org');
  t.is(blockedBy('https://MÜNCHEN.example/'), 'xn--mnchen-3ya.example');
  t.is(blockedBy('http://10.0.0.1/'), '10.0.0.1');
  t.is(blockedBy('https://notexample.com/'), 'valid');
  t.is(blockedBy('https://example.com.org/'), 'valid');
  t.is(blockedBy('ftp://example.com/'), 'invalid');
});

test('an address that the checker refuses is invalid, however it is written, and a name is not', (t) => {
  const { allows: allows_address } = createAddressGuard(['10.1.0.0/16']);
  const classified = (text: string) => {
    const found = classifyUrl(text, { max_url_chars: 2048, allows_address });
    return found.category === 'invalid' ? found.reason : found.category;
  };
  for (const text of [
    'http://127.0.0.1/',
    'http://127.1:8099/x',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://127.0.0.1./',
    'http://user@192.168.0.1/',
    'http://[::1]/',
    'http://[::ffff:10.2.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'http://１２７.0.0.1/',
    '//172.16.0.1/',
    '10.2.0.1',
  ]) {
    t.is(classified(text), 'private_address', text);
  }
  for (const text of ['http://8.8.8.8/', 'http://10.1.0.1/', 'http://[2606:4700::1111]/', 'http://localhost/']) {
    t.is(classified(text), 'valid', text);
  }
  t.is(classified('10.1.2.3:8080/x'), 'missing_prefix');
});

test('no text makes classifyUrl throw, and the parser and the checker take every URL that it accepts', (t) => {
  const pieces = fc.constantFrom(
    'http',
    's',
    ':',
    '//',
    '/',
    '.',
    'com',
    'a',
    '@',
    '1',
    ' ',
    '#',
    '?',
    '%',
    '[',
    ']',
    'ü',
  );
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.array(pieces, { maxLength: 12 }).map((some) => some.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const found = classify(text);
      if (found.category === 'invalid') return;
      const { protocol, href, hash } = new URL(found.url);
      t.true(protocol === 'http:' || protocol === 'https:');
      t.true(found.url.endsWith(text.trim().replace(/^\/\//, '')));
      // Parsing a parsed URL changes nothing, and only the fragment is dropped.
      t.is(keyOf(found.key), found.key);
      t.is(href.replace(/#.*$/, ''), found.key);
      t.false(found.key.includes('#'), hash);
    }),
    { numRuns: 2_000 },
  );
});
