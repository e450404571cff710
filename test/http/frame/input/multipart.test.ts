// Forms as they come over the network: in any pieces, from any client, and from enemies.
import test from 'ava';
import fc from 'fast-check';
import {
  boundaryOf,
  MAX_HEAD_BYTES,
  MultipartError,
  type PartHead,
  readParts,
} from '../../../../http/frame/input/multipart.ts';

type Part = PartHead & { content: string };

async function* inPieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes.length === 0 ? bytes.length : sizes[n % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function partsOf(form: string | Buffer, boundary: string, sizes: readonly number[] = []): Promise<Part[]> {
  const parts: (PartHead & { content: Buffer[] })[] = [];
  for await (const event of readParts(inPieces(Buffer.from(form), sizes), boundary)) {
    if ('part' in event) parts.push({ ...event.part, content: [] });
    else parts.at(-1)!.content.push(event.content);
  }
  return parts.map((part) => ({ ...part, content: Buffer.concat(part.content).toString('latin1') }));
}

const head = (rest: string) => `--b\r\nContent-Disposition: form-data; ${rest}\r\n\r\n`;

test('the parser reads the forms of browsers, whatever pieces their bytes come in', async (t) => {
  const piece_sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  const contents = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\r\n--', '\r\n', '--', '-')));
  const filenames = fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => !/[\\/\p{Cc}\p{Cs}]/u.test(name));
  await fc.assert(
    fc.asyncProperty(contents, filenames, piece_sizes, async (texts, filename, sizes) => {
      const content = texts.join('');
      const form = new FormData();
      form.set('note', 'a "note"');
      form.set('file', new Blob([content], { type: 'text/csv' }), filename);
      const request = new Response(form);
      const boundary = boundaryOf(request.headers.get('content-type')!)!;
      const parts = await partsOf(Buffer.from(await request.arrayBuffer()), boundary, sizes);
      t.deepEqual(parts, [
        { name: 'note', filename: null, content: 'a "note"' },
        { name: 'file', filename, content: Buffer.from(content).toString('latin1') },
      ]);
    }),
    { numRuns: 300 },
  );
});

test('lines that only begin like a boundary do not cut the content into small pieces', async (t) => {
  const lines = '\r\n--bx'.repeat(10_000);
  const form = Buffer.from(`${head('name="file"; filename="a"')}${lines}\r\n--b--\r\n`);
  const pieces: Buffer[] = [];
  const sizes = [16 * 1024];
  for await (const event of readParts(inPieces(form, sizes), 'b')) if ('content' in event) pieces.push(event.content);
  t.is(Buffer.concat(pieces).toString(), lines);
  t.true(pieces.length <= 3 * Math.ceil(form.length / sizes[0]!), `${pieces.length} pieces`);
});

test('the parser reads any bytes as parts or as a broken form, and the same in any pieces', async (t) => {
  const bits = fc.constantFrom(
    '--b',
    '--b--',
    '\r\n',
    '\r',
    '\n',
    '-',
    ':',
    '"',
    ';',
    'x',
    'İ',
    '\ud800',
    '\0',
    head('name="a"'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(bits, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), async (some, size) => {
      const form = some.join('');
      const whole = await partsOf(form, 'b').catch((error) => error);
      const pieces = await partsOf(form, 'b', [size]).catch((error) => error);
      t.true(Array.isArray(whole) || whole instanceof MultipartError, whole?.stack);
      t.deepEqual(String(pieces), String(whole));
      if (Array.isArray(whole)) t.deepEqual(pieces, whole);
    }),
    { numRuns: 1000 },
  );
});

test('the parser takes the last word of a path as the file name, however the client quotes it', async (t) => {
  const named = async (written: string) =>
    (await partsOf(`${head(`name="f"; ${written}`)}\r\n--b--`, 'b'))[0]!.filename;
  t.is(await named('filename="../../etc/passwd"'), 'passwd');
  t.is(await named('filename="C:\\dir\\urls.csv"'), 'urls.csv');
  t.is(await named('filename="a\\"b.csv"'), 'a"b.csv');
  t.is(await named('filename="a%22b.csv"'), 'a"b.csv');
  t.is(await named('filename=bare.csv'), 'bare.csv');
  t.is(await named('filename="fallback.csv"; filename*=UTF-8\'\'%C3%BCrls.csv'), 'ürls.csv');
  t.is(await named('filename="kept.csv"; filename*=UTF-8\'\'%ff'), 'kept.csv');
  t.is(await named('filename="a\0\tb.csv"'), 'ab.csv');
  t.is(await named('filename=""'), '');
});

test('the parser refuses a name or a file name that is not UTF-8, and says of which field', async (t) => {
  for (const [written, field] of [
    ['name="caf\xe9"', 'caf\ufffd'],
    ['name="list"; filename="\xfcrls.csv"', 'list'],
    ['name="list"; filename="cut \xc3"', 'list'],
  ]) {
    const form = Buffer.from(`${head(written!)}abc\r\n--b--`, 'latin1');
    const error = await t.throwsAsync(partsOf(form, 'b'), { instanceOf: MultipartError });
    t.deepEqual([error.code, error.field], ['encoding', field]);
  }
  const [part] = await partsOf(`${head('name="list"; filename="a \ufffd.csv"')}abc\r\n--b--`, 'b');
  t.is(part?.filename, 'a \ufffd.csv');
});

test('the parser refuses a head over 16 KiB before its end comes', async (t) => {
  let given = 0;
  async function* endless(): AsyncGenerator<Buffer> {
    yield Buffer.from('--b\r\nX: ');
    for (; given < 100; given++) yield Buffer.alloc(1024, 'x');
  }
  const error = await t.throwsAsync(Array.fromAsync(readParts(endless(), 'b')), { instanceOf: MultipartError });
  t.is(error.code, 'head_too_large');
  t.true(given * 1024 <= MAX_HEAD_BYTES + 2048);
});

test('boundaryOf finds the boundary in a content type, quoted or not', (t) => {
  t.is(boundaryOf('multipart/form-data; boundary=abc'), 'abc');
  t.is(boundaryOf('multipart/form-data; charset=utf-8; Boundary="a b:c"'), 'a b:c');
  t.is(boundaryOf('multipart/form-data'), null);
  t.is(boundaryOf('multipart/form-data; boundary='), null);
});
