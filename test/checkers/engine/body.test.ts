// Bodies become text: every encoding, also truncated, too large or wrong.
import zlib from 'node:zlib';
import test from 'ava';
import { decodeBody, decodeText, looksLikeHtml, MAX_HTML_BYTES } from '../../../checkers/engine/body.ts';
import { leastCpuMs } from '../../support/cpu-time.ts';

const text = `<title>Page</title>${'words and more words '.repeat(100)}`;
const ENCODED: readonly [name: string, body: Buffer][] = [
  ['gzip', zlib.gzipSync(text)],
  ['X-GZIP', zlib.gzipSync(text)],
  ['br', zlib.brotliCompressSync(text)],
  ['deflate', zlib.deflateSync(text)],
  ['deflate', zlib.deflateRawSync(text)],
  ['zstd', zlib.zstdCompressSync(text)],
  ['identity', Buffer.from(text)],
  ['gzip, br', zlib.brotliCompressSync(zlib.gzipSync(text))],
];

for (const [name, body] of ENCODED) {
  test(`the reader decodes ${name} of ${body.length} bytes`, (t) => t.is(decodeBody(body, name)?.toString(), text));
}

test('a body without an encoding is read unchanged, up to the bound', (t) => {
  t.is(decodeBody(Buffer.alloc(300_000), undefined)?.length, MAX_HTML_BYTES);
});

test('a truncated body is decoded as far as it goes', (t) => {
  const noise = Array.from({ length: 50_000 }, (_, i) => (((i * 7919) % 104_729) * 31).toString(36)).join(' ');
  for (const [name, body] of [
    ['gzip', zlib.gzipSync(noise)],
    ['deflate', zlib.deflateSync(noise)],
    ['br', zlib.brotliCompressSync(noise, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } })],
  ] as const) {
    const decoded = decodeBody(body.subarray(0, body.length >> 1), name);
    t.true(decoded !== null && decoded.length > 10_000 && noise.startsWith(decoded.toString()), name);
  }
});

const zeros = Buffer.alloc(200_000_000);
const BOMBS: readonly [name: string, body: Buffer][] = [
  ['gzip', zlib.gzipSync(zeros)],
  ['br', zlib.brotliCompressSync(zeros, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } })],
  ['zstd', zlib.zstdCompressSync(zeros)],
];

for (const [name, bomb] of BOMBS) {
  test(`a ${name} bomb of 200 MB takes little memory and time`, (t) => {
    let decoded: Buffer | null = null;
    const took_ms = leastCpuMs(() => {
      decoded = decodeBody(bomb.subarray(0, MAX_HTML_BYTES), name);
    });
    t.true(decoded === null || (decoded as Buffer).length <= MAX_HTML_BYTES);
    t.true(took_ms < 500, `${took_ms} ms`);
  });
}

test('a body with a wrong, unknown or too deep encoding has no text', (t) => {
  t.is(decodeBody(Buffer.from(text), 'gzip'), null);
  t.is(decodeBody(Buffer.from(text), 'br'), null);
  t.is(decodeBody(Buffer.from(text), 'compress'), null);
  t.is(decodeBody(Buffer.from(text), 'gzip, gzip, gzip'), null);
});

test('a byte order mark outranks every charset', (t) => {
  const utf16 = Buffer.from('\ufeffgrößer', 'utf16le');
  t.is(decodeText(utf16, 'text/html; charset=iso-8859-1'), 'größer');
  t.is(decodeText(Buffer.from(utf16).swap16(), 'text/html'), 'größer');
  t.is(decodeText(Buffer.from('\ufeffgrößer'), 'text/html; charset=koi8-r').replace('\ufeff', ''), 'größer');
});

test('the first bytes of a body tell whether it is HTML', (t) => {
  for (const html of ['<!DOCTYPE html>', '\ufeff \n<html lang=en>', '<!-- a -->', '<title>A</title>', '<p>A'])
    t.true(looksLikeHtml(html));
  for (const other of ['', 'A page', '{"a":"<html>"}', '<?xml version="1.0"?>', '<pre>', '%PDF-1.7'])
    t.false(looksLikeHtml(other));
});

test('a meta element that could be read does not mean UTF-16, and a header does', (t) => {
  for (const label of ['utf-16', 'UTF-16BE', 'unicode'])
    t.is(decodeText(Buffer.from(`<meta charset=${label}>größer`), 'text/html'), `<meta charset=${label}>größer`);
  t.is(decodeText(Buffer.from('größer', 'utf16le'), 'text/html; charset=utf-16'), 'größer');
});

test('the header decides the charset, else a meta element does, else it is UTF-8', (t) => {
  const koi8 = Buffer.from([0xd0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4]);
  t.is(decodeText(koi8, 'text/html; charset="KOI8-R"'), 'привет');
  t.is(
    decodeText(Buffer.concat([Buffer.from('<meta charset=koi8-r>'), koi8]), 'text/html'),
    '<meta charset=koi8-r>привет',
  );
  t.is(decodeText(Buffer.from('größer'), 'text/html'), 'größer');
  t.is(decodeText(Buffer.from('größer'), 'text/html; charset=no-such-thing'), 'größer');
});
