// Heads and bodies as servers send them.
import zlib from 'node:zlib';
import { type Answer, bytes, HEAD, type LabCase, last, PAGE, page } from '../case.ts';

const LENGTH = `Content-Length: ${PAGE.length}\r\n`;
const WHOLE = `${HEAD}${LENGTH}\r\n${PAGE}`;
const SIZE = PAGE.length.toString(16);
const CHUNKS = `${SIZE}\r\n${PAGE}\r\n0\r\n\r\n`;
const NO_STATUS = 'no class of statuses, so no verdict; Chromium shows the page';
const HTTP_0_9 = 'no head: what is not HTTP is no page, though Chromium shows its text';
const NOT_SHOWN = 'an answer, though Chromium shows no page';
const HEAD_DECIDES = 'the head decides: decision 117';
const malformed = { expected: '- unreachable malformed_response' };

const answer = (name: string, how: Answer, more: Partial<LabCase> = {}): LabCase => {
  return { name, answer: how, expected: '200 ok', ...more };
};
const head = (name: string, lines: string, more: Partial<LabCase> = {}) =>
  answer(`head-${name}`, bytes(`${HEAD}${lines}${LENGTH}\r\n${PAGE}`), more);
const line = (name: string, text: string, more: Partial<LabCase> = {}) =>
  answer(`line-${name}`, last(`${text}\r\nContent-Type: text/html\r\n${LENGTH}\r\n${PAGE}`), more);
const body = (name: string, lines: string, content = PAGE, more: Partial<LabCase> = {}) =>
  answer(`body-${name}`, last(`${HEAD}${lines}\r\n${content}`), more);
const chunks = (name: string, content: string, more: Partial<LabCase> = {}) =>
  body(`chunks-${name}`, 'Transfer-Encoding: chunked\r\n', content, more);
const encoded = (name: string, encoding: string, content: string | Buffer, more: Partial<LabCase> = {}) =>
  answer(`encoding-${name}`, page(`Content-Encoding: ${encoding}\r\n`, content), more);

const broken_crc = zlib.gzipSync(PAGE);
broken_crc.writeUInt8(broken_crc.at(-8)! ^ 255, broken_crc.length - 8);

export const ANSWERS: readonly LabCase[] = [
  head('folded', 'X-Odd: one\r\n\ttwo\r\n   three\r\n'),
  head('fold-first', ' folded: from nothing\r\n'),
  head('space-before-colon', 'X-Odd : one\r\n'),
  head('only-colon', ' : \r\n', { from: 'nodejs/node#4480' }),
  head('no-value', 'X-Odd:\r\nX-Even\r\n'),
  head('utf8-name', 'X-Gr\xc3\xb6\xc3\x9fe: 1\r\n'),
  head('y-with-dots', 'xx: \xff\r\n', { from: 'nodejs/node#27711' }),
  head('brackets-in-name', 'X-[Odd]: 1\r\n'),
  head('escape-in-value', 'X-Odd: a\x1b[31mb\r\n', { from: 'nodejs/http-parser#523' }),
  head('html-inside', '<!-- a warning of the program -->\r\n', { from: 'GoogleChromeLabs/gulliver#296' }),
  head('status-again', 'HTTP/1.1 200 OK\r\n'),
  head('long-line', `X-Long: ${'x'.repeat(60_000)}\r\n`),
  head('five-hundred', Array.from({ length: 500 }, (_, i) => `X-${i}: 1\r\n`).join('')),
  head('two-types', 'Content-Type: text/plain\r\n'),
  head('transfer-identity', 'Transfer-Encoding: identity\r\n', { from: 'curl/curl#16956' }),
  head('connection-nonsense', 'Connection: fish, Keep-Alive, close, upgrade\r\n'),
  head('keep-alive-nonsense', 'Connection: keep-alive\r\nKeep-Alive: timeout=-1, max=x\r\n'),
  head('upgrade', 'Upgrade: TLS/1.0, HTTP/2.0\r\n'),
  head('download', 'Content-Disposition: attachment; filename="a.html"\r\n', { choice: 'a download is an answer' }),
  answer('head-lf', last(WHOLE.replaceAll('\r\n', '\n'))),
  answer('head-mixed', last(`HTTP/1.1 200 OK\nContent-Type: text/html\r\n${LENGTH}\n${PAGE}`)),
  answer('head-cr', last('HTTP/1.1 200 OK\rContent-Type: text/html\r\r')),
  answer('head-pieces', (_asked, socket) => {
    const next = (at: number): void => {
      if (at < 60) socket.write(WHOLE[at]!, () => setImmediate(next, at + 1));
      else socket.end(WHOLE.slice(60));
    };
    next(0);
  }),

  line('099', 'HTTP/1.1 099 Odd', { ...malformed, choice: NO_STATUS }),
  line('000', 'HTTP/1.1 000 Odd', { ...malformed, choice: NO_STATUS }),
  line('600', 'HTTP/1.1 600 Odd', { expected: '600 broken', from: 'httpwg/http-core#717' }),
  line('999', 'HTTP/1.1 999 Odd', { expected: '999 blocked' }),
  line('44', 'HTTP/1.1 44 Odd', { ...malformed, choice: NO_STATUS }),
  line('past-32-bits', 'HTTP/1.1 4294967496 OK', { ...malformed, choice: NO_STATUS }),
  line('seven-digits', 'HTTP/1.1 6004963 Odd', { ...malformed, choice: NO_STATUS }),
  line('tabs', 'HTTP/1.1\t200\tOK'),
  line('no-space', 'HTTP/1.1 200OK'),
  line('two-spaces', 'HTTP/1.1  200  OK'),
  line('comma', 'HTTP/1.1 200, OK'),
  line('reason-utf8', 'HTTP/1.1 200 \xd0\x9e\xd0\xba'),
  line('reason-latin1', 'HTTP/1.1 404 Nicht gef\xfcnden', { expected: '404 broken' }),
  line('reason-long', `HTTP/1.1 200 ${'x'.repeat(5000)}`),
  line('reason-control', 'HTTP/1.1 200 a\x01b'),
  line('version-12', 'HTTP/1.2 200 OK'),
  line('version-3', 'HTTP/3 200 OK'),
  line('version-09', 'HTTP/0.9 200 OK'),
  line('version-101', 'HTTP/10.1 200 OK'),
  line('icy', 'ICY 200 OK'),
  line('lower-case', 'http/1.1 200 ok'),
  line('space-first', ' HTTP/1.1 200 OK'),
  line('no-head', '<html><body>only a page</body></html>', { ...malformed, choice: HTTP_0_9 }),
  line('https', 'HTTPS/1.1 200 OK'),
  ...['100 Continue', '102 Processing', '103 Early Hints', '199 Odd'].map((text) =>
    answer(`interim-${text.slice(0, 3)}`, bytes(`HTTP/1.1 ${text}\r\nX-A: 1\r\n\r\n${WHOLE}`)),
  ),
  answer('interim-with-length', bytes(`HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n${WHOLE}`)),
  answer('interim-fifty', bytes(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50)}${WHOLE}`)),
  answer('interim-101', last(`HTTP/1.1 101 Switching Protocols\r\n\r\n${WHOLE}`), {
    ...malformed,
    choice: 'a switch to no protocol',
  }),
  line('204-with-body', 'HTTP/1.1 204 No Content', { expected: '204 ok', choice: NOT_SHOWN }),
  line('205-with-body', 'HTTP/1.1 205 Reset Content', { expected: '205 ok', choice: NOT_SHOWN }),
  line('206-unasked', 'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/2', { expected: '206 ok' }),

  body('length-too-long', `Content-Length: ${PAGE.length + 500}\r\n`),
  body('length-too-short', `Content-Length: ${PAGE.length - 500}\r\n`),
  body('length-empty', 'Content-Length:\r\n'),
  body('length-plus', `Content-Length: +${PAGE.length}\r\n`),
  body('length-letters', 'Content-Length: many\r\n'),
  body('length-unit', `Content-Length: ${PAGE.length} bytes\r\n`),
  body('length-decimal', `Content-Length: ${PAGE.length}.0\r\n`),
  body('length-negative', 'Content-Length: -1\r\n'),
  body('length-past-64-bits', 'Content-Length: 18446744073709551616\r\n'),
  body('length-list', `Content-Length: ${PAGE.length}, ${PAGE.length}\r\n`),
  body('length-twice', `${LENGTH}${LENGTH}`),
  body('lengths-differ', `${LENGTH}Content-Length: 7\r\n`, PAGE, malformed),
  body('length-and-chunks', `${LENGTH}Transfer-Encoding: chunked\r\n`, CHUNKS),
  body('lengths-differ-and-chunks', `${LENGTH}Content-Length: 7\r\nTransfer-Encoding: chunked\r\n`, CHUNKS),
  body('chunked-twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', CHUNKS),
  body('identity-chunked', 'Transfer-Encoding: identity, chunked\r\n', CHUNKS, { from: 'curl/curl#16956' }),
  body('chunked-identity', 'Transfer-Encoding: chunked, identity\r\n', CHUNKS, { from: 'curl/curl#16956' }),
  body('gzip-chunked', 'Transfer-Encoding: gzip, chunked\r\n', CHUNKS, { from: 'curl/curl#16956' }),
  body('chunked-upper-case', 'Transfer-Encoding: CHUNKED\r\n', CHUNKS),
  body('no-chunks', 'Transfer-Encoding: chunked\r\n', PAGE, { from: 'curl/curl#6760' }),
  chunks('extension', `${SIZE};a=b;c="d;e"\r\n${PAGE}\r\n0;end\r\n\r\n`, { from: 'moonbitlang/async#618' }),
  chunks('trailers', `${SIZE}\r\n${PAGE}\r\n0\r\nX-Foo: bar\r\n\r\n`, { from: 'xroche/httrack#855' }),
  chunks('odd-trailer', `${SIZE}\r\n${PAGE}\r\n0\r\nno colon\r\n\r\n`),
  chunks('spaces', `${SIZE}  \r\n${PAGE}\r\n0\r\n\r\n`, { from: 'nodejs/llhttp#17' }),
  chunks('zeros-first', `0000000000${SIZE}\r\n${PAGE}\r\n000\r\n\r\n`),
  chunks('lf', `${SIZE}\n${PAGE}\n0\n\n`),
  chunks('no-end', `${SIZE}\r\n${PAGE}\r\n`),
  chunks('garbage-after', `${CHUNKS}and more`),
  chunks('size-0x', `0x${SIZE}\r\n${PAGE}\r\n0\r\n\r\n`),
  chunks('empty', ''),

  encoded('gzip-of-plain', 'gzip', PAGE, { from: 'xroche/httrack#515' }),
  encoded('br-of-plain', 'br', PAGE, { choice: HEAD_DECIDES }),
  encoded('zstd-of-plain', 'zstd', PAGE, { choice: HEAD_DECIDES }),
  encoded('deflate-of-plain', 'deflate', PAGE),
  encoded('deflate-raw', 'deflate', zlib.deflateRawSync(PAGE)),
  encoded('deflate-of-gzip', 'deflate', zlib.gzipSync(PAGE)),
  encoded('gzip-of-deflate', 'gzip', zlib.deflateSync(PAGE)),
  encoded('gzip-cut', 'gzip', zlib.gzipSync(PAGE).subarray(0, 60)),
  encoded('gzip-garbage-after', 'gzip', Buffer.concat([zlib.gzipSync(PAGE), Buffer.from('garbage')])),
  encoded('gzip-members', 'gzip', Buffer.concat([zlib.gzipSync(PAGE), zlib.gzipSync(PAGE)])),
  encoded('gzip-wrong-sum', 'gzip', broken_crc),
  encoded('none', 'none', PAGE),
  encoded('charset', 'UTF-8', PAGE),
  encoded('upper-case', 'GZIP', zlib.gzipSync(PAGE)),
  encoded('x-gzip', 'x-gzip', zlib.gzipSync(PAGE)),
  encoded('x-deflate', 'x-deflate', zlib.deflateSync(PAGE)),
  encoded('gzip-twice-said-once', 'gzip', zlib.gzipSync(zlib.gzipSync(PAGE))),
  encoded('gzip-once-said-twice', 'gzip, gzip', zlib.gzipSync(PAGE)),
];
