// Response heads that break the rules of HTTP, in any pieces.
import test from 'ava';
import { type Head, HeadReader } from '../../../checkers/engine/lenient-client.ts';

function read(text: string, piece_bytes = text.length): Head | null | 'more' {
  const reader = new HeadReader();
  const bytes = Buffer.from(text, 'latin1');
  let head: Head | null | 'more' = 'more';
  for (let at = 0; at < bytes.length && head === 'more'; at += piece_bytes) {
    head = reader.read(bytes.subarray(at, at + piece_bytes));
  }
  return head;
}

const ROWS: readonly [what: string, text: string, status: number | null | 'more', headers?: Record<string, unknown>][] =
  [
    ['a plain one', 'HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody', 200, { a: 'b' }],
    ['a letter whose last byte is a space', 'HTTP/1.1 302 X\r\nA: \t/\xc3\xa0 \r\n\r\n', 302, { a: '/\xc3\xa0' }],
    ['LF alone', 'HTTP/1.1 404 Not Found\nA: b\n\n', 404, { a: 'b' }],
    ['both mixed', 'HTTP/1.1 200\r\nA: b\n\r\n', 200, { a: 'b' }],
    ['no reason', 'HTTP/1.0 503\r\n\r\n', 503],
    ['lower case', 'http/1.1 200 ok\r\n\r\n', 200],
    ['odd headers', 'HTTP/1.1 200 OK\r\nno colon\r\n: no name\r\nX Y : z\r\n\r\n', 200, { 'x y': 'z' }],
    ['folded lines', 'HTTP/1.1 200 OK\r\nA: b\r\n  c\r\n\td\r\n\r\n', 200, { a: 'b c d' }],
    [
      'a header twice',
      'HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n c\r\n\r\n',
      302,
      { location: ['/a', '/b c'] },
    ],
    ['equal lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n', 200],
    [
      'interim answers first',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\nL: a\n\nHTTP/1.1 200 OK\r\nM: n\r\n\r\n',
      200,
      { m: 'n' },
    ],
    ['a name of every object', 'HTTP/1.1 200 OK\r\n__proto__: a\r\nconstructor: b\r\n\r\n', 200, { constructor: 'b' }],
    ['different lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n', null],
    [
      'different lengths of chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
      200,
    ],
    ['a stream of a radio', 'ICY 200 OK\r\nicy-name: Radio\r\n\r\n', 200, { 'icy-name': 'Radio' }],
    ['a radio that is not there', 'ICY 404 Resource Not Found\r\n\r\n', 404],
    ['a word that begins alike', 'ICYE 200 OK\r\n\r\n', null],
    ['equal lengths in one field', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n', 200],
    ['different lengths in one field', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\n', null],
    ['a NUL', 'HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n', null],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', null],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', null],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', null],
    ['a status that is none', 'HTTP/1.1 000 OK\r\n\r\n', null],
    ['no status line', '<html>\n\n', null],
    ['too long', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(44_000)}`, null],
    ['CR CR LF', 'HTTP/1.1 200 OK\r\r\nA: b\r\r\n\r\r\n', 200, { a: 'b' }],
    [
      'CR alone between headers',
      'HTTP/1.1 302 Found\r\nA: b\rLocation: /there\rC: d\r\n\r\n',
      302,
      { location: '/there' },
    ],
    ['zeros before the code', 'HTTP/1.1 0404 No\r\n\r\n', 404],
    ['zeros alone', 'HTTP/1.1 0000 No\r\n\r\n', null],
    ['no slash before the version', 'HTTP11 404 No\r\n\r\n', 404],
    ['half a version', 'HTTP/1. 404 No\r\n\r\n', 404],
    ['letters for a version', 'HTTP/x.y 404 No\r\n\r\n', 404],
    ['a byte order mark first', '\xef\xbb\xbfHTTP/1.1 200 OK\r\n\r\n', 200],
    ['blank lines first', '\r\n\n\r\nHTTP/1.1 404 No\r\n\r\n', 404],
    ['blank lines between interim and final', 'HTTP/1.1 100 C\r\n\r\n\r\nHTTP/1.1 204 No\r\n\r\n', 204],
    ['five bytes of junk first', '12345HTTP/1.1 200 OK\r\n\r\n', null],
    ['no code', 'HTTP/1.1 OK\r\nA: b\r\n\r\n', 200, { a: 'b' }],
    ['a version alone', 'HTTP/1.1\r\nA: b\r\n\r\n', 200],
    ['200 KB', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(34_000)}\r\n`, 200],
    ['no end', 'HTTP/1.1 200 OK\r\nA: b\r\n', 'more'],
    ['nothing', '', 'more'],
  ];

for (const [what, text, status, headers] of ROWS) {
  test(`the client reads ${what}: ${status ?? 'refused'}`, (t) => {
    for (const piece_bytes of text.length > 10_000 ? [text.length, 1000] : [text.length || 1, 7, 1]) {
      const head = read(text, piece_bytes);
      t.is(head === null || head === 'more' ? head : head.status, status);
      if (headers !== undefined) t.like((head as Head).headers, headers);
    }
  });
}

test('what follows the head in its last piece is the beginning of the body', (t) => {
  const bytes = Buffer.from('HTTP/1.1 200 OK\r\nA: b\r\n\r\nthe body');
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new HeadReader();
    let body = '';
    for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
      if (body !== '') body += piece;
      else if (reader.read(piece) !== 'more') body = `+${reader.rest}`;
    }
    t.is(body, '+the body');
  }
});

test('the end of the connection ends a head', (t) => {
  const reader = new HeadReader();
  t.is(reader.read(Buffer.from('HTTP/1.1 302 Found\r\nLocation: /a')), 'more');
  t.like(reader.end(), { status: 302, headers: { location: '/a' } });
  t.is(new HeadReader().end(), null);
});
