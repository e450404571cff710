// Passwords of URLs, in texts that are URLs and in texts that only hold some.
import test from 'ava';
import { URLS_EVENTS } from '../../events/job.ts';
import { withoutPassword } from '../../events/without-password.ts';

for (const [text, shown] of [
  ['https://ada:secret@example.com/a?b=c:d@e', 'https://ada@example.com/a?b=c:d@e'],
  ['https://ada:se%40cr@et@example.com', 'https://ada@example.com/'],
  ['https:ada:secret@example.com', 'https://ada@example.com/'],
  ['ftp://ada:secret@example.com/f', 'ftp://ada@example.com/f'],
  ['ssh://ada:secret@example.com/f', 'ssh://ada@example.com/f'],
  ['ada:secret@example.com/f', 'ada@example.com/f'],
  ['https://ada:secret@exa mple/', 'https://ada:secret@exa mple/'.replace(':secret', '')],
  ['see https://a:b@c.example and https://d:e@f.example', 'see https://a@c.example and https://d@f.example/'],
  ['<https://a:b@c.example>', '<https://a@c.example>'],
  ['https://x.example/ https://a:b@c.example/', 'https://x.example/ https://a@c.example/'],
  ['https://x.example/;https://a:b@c.example/', 'https://x.example/;https://a@c.example/'],
  ['https://x.example/,//a:b@c.example/', 'https://x.example/,//a@c.example/'],
  ['https://a:b@c.example/\nhttps://d:e@f.example/', 'https://a@c.example/\nhttps://d@f.example/'],
  ['https://a:b/c@d.example/', 'https://a@d.example/'],
  ['https://a:b?c@d.example/', 'https://a@d.example/'],
  ['https://a:b#@d.example/', 'https://a@d.example/'],
  ['https://a:b/c@d.example/, https://e:f/g@h.example/', 'https://a@d.example/, https://e@h.example/'],
  ['https://a:b＠c.example/', 'https://a＠c.example/'],
  ['https：//a：b@c.example/', 'https：//a@c.example/'],
] as const) {
  test(`${text} is shown as ${shown}`, (t) => t.is(withoutPassword(text), shown));
}

for (const text of [
  'https://example.com/',
  'https://ada@example.com',
  'https://example.com/@handle:1',
  'https://example.com/?mail=a:b@c',
  'mailto:ada@example.com',
  'ada@example.com',
  'at 10:30 with @ada',
  'https://example.com/?to=https://a:b@c.example/',
  'https://example.com:8080/a, see @ada',
  'http://localhost:port/',
]) {
  test(`${text} has no password`, (t) => t.is(withoutPassword(text), text));
}

test('a listing from before has its passwords left out when it is read', (t) => {
  const [upcast] = URLS_EVENTS.UrlsListed.upcasters;
  const v1 = { job_id: 'j', from_index: 0, urls: ['https://a.example/', 'https://a:b@c.example/'] };
  t.deepEqual(upcast!(v1), { ...v1, urls: ['https://a.example/', 'https://a@c.example/'] });
});

test('a long text takes no longer than its length', (t) => {
  const text = `x ${'://a/:1'.repeat(200_000)}@`;
  t.is(withoutPassword(text).length, text.length - 2);
  t.is(withoutPassword(`x ${'://a:'.repeat(200_000)}@`), 'x ://a@');
  const urls = 'http://a:b '.repeat(100_000);
  t.is(withoutPassword(`${urls}@`), `${urls}@`);
});
